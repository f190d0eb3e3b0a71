"""An annotation attaches a pod: AdmissionReviews against the policies of deploy/, by Kubernetes' own admission plugin
(`admission/`, built with Go), and the same policies by Helm and for Kyverno."""

import copy
import hashlib
import importlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from sidemirror_server.entrance import serves_of
from sidemirror_server.settings import load, unknown_names
from sidemirror_server.vocabulary.scope import serves_listed
from tests.architecture.repository import ROOT
from tests.deploy import attached
from tests.deploy.attached import (
    WORKLOADS,
    admitted,
    built,
    check_pod,
    container,
    kyverno,
    module,
    mutated,
    pod,
    review,
    strict,
    told,
)
from tests.deploy.test_kubernetes import DEPLOY, VERSIONS, kustomized, sidecar_of
from tests.deploy.tools import ran, tool

KYVERNO = "github.com/kyverno/api@v0.0.1-alpha.3.0.20260723090831-fb2785727f98"
SOCKET = "unix:/run/sidemirror/sidemirror.sock"

# It comes with kubernetes_validate, without types.
_validate: Any = importlib.import_module("jsonschema").validate
long = pytest.mark.long
# The first test waits for the build of Kubernetes' plugin: five minutes of CPU where Go's cache has nothing of it.
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return built(tmp_path_factory.mktemp("admission"))


@pytest.fixture
def kyverno_command() -> Iterator[str]:
    """In a folder that does not outlive the test: it is hundreds of MB."""
    with tempfile.TemporaryDirectory() as folder:
        yield kyverno(Path(folder))


@pytest.fixture(scope="module")
def policies() -> list[Any]:
    return kustomized(DEPLOY / "kubernetes" / "attach")


def templated(folder: Path, *arguments: str, image: str = "registry.example.com/sidemirror:0.1.0") -> list[Any]:
    chart = shutil.copytree(DEPLOY / "helm" / "attach", folder / "attach", dirs_exist_ok=True)
    given = (*(("--set", f"image={image}") if image else ()), *arguments)
    made = ran(tool("helm"), "template", "attach", str(chart), "--kube-version", "1.36", *given)
    return [one for one in yaml.safe_load_all(made) if one]


def environment_of(one: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in one.get("env", ())}


# --- the policies as files


def test_kubernetes_takes_the_policies(policies: list[Any]) -> None:
    """From 1.36 on. None of them may keep a pod from starting."""
    for one in policies:
        kubernetes_validate.validate(one, "1.36", strict=True)
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
        with pytest.raises(kubernetes_validate.SchemaNotFoundError):
            kubernetes_validate.validate(one, "1.35", strict=True)
    assert [one["spec"]["failurePolicy"] for one in policies if "mutations" in one["spec"]] == ["Ignore"] * 2


def test_a_sidecar_serves_its_namespace_alone(policies: list[Any]) -> None:
    """By its environment, which a Secret (`envFrom`) does not override. Seen to fail with the tenant of calls that name
    none alone: on one Postgres such a sidecar read and capped every other tenant."""
    (sidecar,) = (
        one["spec"] for one in policies if "mutations" in one["spec"] and "sidecar" in one["metadata"]["name"]
    )
    made = sidecar["mutations"][1]["jsonPatch"]["expression"]
    assert 'env{name: "SIDEMIRROR_TENANT_ID", value: request.namespace}' in made
    assert 'env{name: "SIDEMIRROR_SERVES", value: request.namespace + "/*"}' in made


def test_helm_makes_the_same(policies: list[Any], tmp_path: Path) -> None:
    """With one's own image. Seen to fail with a template that leaves the bindings out."""
    made = templated(tmp_path, image="registry.acme.example/sidemirror:9")
    text = yaml.safe_dump_all(made)
    assert text.count("registry.acme.example/sidemirror:9") == 1
    again = text.replace("registry.acme.example/sidemirror:9", "registry.example.com/sidemirror:0.1.0")
    assert by_place(list(yaml.safe_load_all(again))) == by_place(policies)


def by_place(made: list[Any]) -> dict[tuple[str, str], Any]:
    """By kind and name. Tools break the lines of an expression anew, which is nothing to it."""
    words = json.loads(re.sub(r"(?:\\n|\s)+", " ", json.dumps(made)).replace(': \\"', ':\\"').replace(', \\"', ',\\"'))
    return {(one["kind"], one["metadata"]["name"]): one for one in words}


def test_helm_makes_the_same_for_kyverno(tmp_path: Path) -> None:
    made = templated(tmp_path, "--set", "engine=kyverno")
    assert by_place(made) == by_place(kustomized(DEPLOY / "kubernetes" / "attach-kyverno"))


def test_helm_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    """Seen to fail without a schema: what is misspelt did nothing, and the example's image is nobody's."""
    with pytest.raises(AssertionError, match=r"image: where your image is"):
        templated(tmp_path, image="")
    with pytest.raises(AssertionError, match="namespaceSelectors"):
        templated(tmp_path, "--set", "namespaceSelectors.matchLabels.team=acme")
    with pytest.raises(AssertionError, match="engine"):
        templated(tmp_path, "--set", "engine=argo")


def test_helm_has_other_resources(tmp_path: Path) -> None:
    """Seen to fail with a number as it is: the policy fails then, and no pod is attached."""
    made = templated(tmp_path, "--set", "resources.requests.memory=96Mi", "--set", "resources.limits.cpu=1")
    (given,) = (
        one["spec"]["variables"] for one in made if "sidecar" in one["metadata"]["name"] and "mutations" in one["spec"]
    )
    found = {one["name"]: one["expression"] for one in given}
    assert json.loads(found["requests"]) == {"cpu": "50m", "memory": "96Mi"}
    assert json.loads(found["limits"]) == {"memory": "384Mi", "cpu": "1"}


@pytest.mark.parametrize("engine", ["kubernetes", "kyverno"])
def test_helm_attaches_in_chosen_namespaces(engine: str, tmp_path: Path) -> None:
    given = ("--set", f"engine={engine}", "--set", "namespaceSelector.matchLabels.team=acme")
    chosen = [one["spec"]["matchConstraints"] for one in templated(tmp_path, *given) if "mutations" in one["spec"]]
    assert [one["namespaceSelector"] for one in chosen] == [{"matchLabels": {"team": "acme"}}] * 2


@pytest.mark.parametrize("engine", ["kubernetes", "kyverno"])
def test_the_pages_own_image(engine: str, tmp_path: Path) -> None:
    """docs/attach.md puts an image into the policies. Seen to fail for Kyverno with the other kind."""
    (text,) = (
        block
        for block in re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/attach.md").read_text(), re.M | re.S)
        if "kind: Kustomization" in block
    )
    if engine == "kyverno":
        text = text.replace("kubernetes/attach]", "kubernetes/attach-kyverno]")
        text = text.replace("kind: MutatingAdmissionPolicy", "kind: MutatingPolicy")
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "sidemirror" / "deploy" / "kubernetes")
    (tmp_path / "attach").mkdir()
    (tmp_path / "attach" / "kustomization.yaml").write_text(text)
    made = kustomized(tmp_path / "attach")
    images = [one["spec"]["variables"][0]["expression"] for one in made if "sidecar" in one["metadata"]["name"]
              if "variables" in one["spec"]]  # fmt: skip
    assert images == ['"registry.acme.example/sidemirror:0.1.0"']


# What the tests below were run with last. Kyverno's own command has not been run with this one, only with the one
# before, 9bfdb27a29e1ea89; its policies have the same expressions (`test_kyverno_has_the_same_policies`).
EVALUATED = "9e9415ee56c56b61"


def evaluated(policies: list[Any]) -> str:
    """The digest of the policies, Kyverno's too, and of what evaluates them."""
    digest = hashlib.sha256()
    for rendered in (policies, kustomized(DEPLOY / "kubernetes" / "attach-kyverno")):
        digest.update(json.dumps(rendered, sort_keys=True).encode())
    for path in (Path(attached.__file__), *sorted(attached.ADMISSION.iterdir())):
        digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def test_the_policies_are_those_that_were_evaluated(policies: list[Any]) -> None:
    """The evaluators are compiled for minutes, so `.ci/run` leaves them out. After a change of the policies or of the
    evaluators run `uv run pytest -m "long or not long" tests/deploy/test_attach.py`, and put this digest here when it
    has passed. Seen to fail with another line in `admission/main.go`."""
    assert evaluated(policies) == EVALUATED


# --- what they make of AdmissionReviews


@long
@pytest.mark.parametrize("dry_run", [False, True])
def test_the_pods_of_every_kind_of_workload_get_a_sidecar(
    dry_run: bool, evaluator: list[str], policies: list[Any]
) -> None:
    """The one that Kustomize adds, with the namespace as its only tenant. Seen to fail with another port."""
    expected = copy.deepcopy(sidecar_of(kustomized(DEPLOY / "kubernetes" / "example")))
    secrets = {one["name"] for one in expected["env"] if "valueFrom" in one} | {"SIDEMIRROR_ACCESS_FILE"}
    expected["env"] = [one for one in expected["env"] if one["name"] not in secrets]
    expected["env"] += [
        {"name": "SIDEMIRROR_TENANT_ID", "value": "shop"},
        {"name": "SIDEMIRROR_SERVES", "value": "shop/*"},
    ]
    expected["envFrom"] = [{"secretRef": {"name": "sidemirror", "optional": True}}]
    expected["image"] = "registry.example.com/sidemirror:0.1.0"
    expected["ports"] = [{**port, "protocol": "TCP"} for port in expected["ports"]]
    expected["volumeMounts"] = [one for one in expected["volumeMounts"] if one["name"] != "sidemirror-access"]
    given = [pod("sidecar", owner) for owner in WORKLOADS]
    for was, made in zip(given, admitted(evaluator, policies, *given, dry_run=dry_run), strict=True):
        check_pod(made)
        (sidecar,) = made["spec"].pop("initContainers")
        assert by_name(sidecar) == by_name(expected)
        environment = environment_of(sidecar)
        assert unknown_names(environment) == ()
        settings = load({}, environment)
        assert (settings.tenant_id, serves_of(settings)) == ("shop", serves_listed("shop/*"))
        (agent,) = made["spec"]["containers"]
        assert agent.pop("env") == [{"name": "SIDEMIRROR_ADDRESS", "value": SOCKET}]
        assert agent["volumeMounts"].pop() == {"name": "sidemirror-socket", "mountPath": "/run/sidemirror"}
        assert made["spec"].pop("securityContext") == {"fsGroup": 65532}
        added = [made["spec"]["volumes"].pop() for _ in range(2)]
        assert {one["name"] for one in added} == {"sidemirror-socket", "sidemirror-data"}
        assert made["metadata"]["labels"].pop("sidemirror.dev/sidecar") == "true"
        del was["spec"]["securityContext"]
        assert made == was, "the rest is as it was"


def by_name(one: dict[str, Any]) -> dict[str, Any]:
    """With its lists in the order of names."""
    lists = ("env", "ports", "volumeMounts")
    return {
        key: sorted(value, key=lambda entry: entry["name"]) if key in lists else value for key, value in one.items()
    }


@long
def test_a_pod_keeps_what_is_its_own(evaluator: list[str], policies: list[Any]) -> None:
    """Other sidecars, names that are there twice, its groups, and an address that it was given."""
    mesh = container(
        "istio-proxy", restartPolicy="Always", env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    )
    own = pod(
        "sidecar",
        securityContext={"fsGroup": 2000, "runAsUser": 1000},
        initContainers=[container("fetch"), mesh],
        containers=[
            container("agent", env=[{"name": "SIDEMIRROR_ADDRESS", "value": "127.0.0.1:50051"}]),
            container("other", env=[{"name": "B", "value": "1"}, {"name": "B", "value": "2"}]),
        ],
    )
    (made,) = admitted(evaluator, policies, own)
    check_pod(made)
    assert made["spec"]["securityContext"] == {"fsGroup": 2000, "runAsUser": 1000}
    assert made["spec"]["initContainers"][:2] == own["spec"]["initContainers"]
    assert [one["name"] for one in made["spec"]["initContainers"]] == ["fetch", "istio-proxy", "sidemirror"]
    agent, other = made["spec"]["containers"]
    assert agent["env"] == own["spec"]["containers"][0]["env"]
    assert other["env"] == [*own["spec"]["containers"][1]["env"], {"name": "SIDEMIRROR_ADDRESS", "value": SOCKET}]


@long
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_pod_uses_its_nodes_sidecar(dry_run: bool, evaluator: list[str], policies: list[Any]) -> None:
    """It finds the socket where the DaemonSet puts it, and may use it. Seen to fail without the group."""
    (node,) = (one for one in kustomized(DEPLOY / "kubernetes" / "node") if one["kind"] == "DaemonSet")
    (folder,) = (one["hostPath"]["path"] for one in node["spec"]["template"]["spec"]["volumes"]
                 if one["name"] == "sidemirror-socket")  # fmt: skip
    given = [pod("node", owner) for owner in WORKLOADS]
    for was, made in zip(given, admitted(evaluator, policies, *given, dry_run=dry_run), strict=True):
        check_pod(made)
        assert made["spec"]["securityContext"] == {"supplementalGroups": [65532]}
        (agent,) = made["spec"]["containers"]
        assert environment_of(agent) == {
            "SIDEMIRROR_ADDRESS": SOCKET,
            "SIDEMIRROR_TOKEN_FILE": "/etc/sidemirror-token/token",
        }
        volumes = {one["name"]: one for one in made["spec"]["volumes"]}
        assert volumes["sidemirror-socket"]["hostPath"] == {"path": folder, "type": "DirectoryOrCreate"}
        # Whoever lacks the Secret starts without a token.
        assert volumes["sidemirror-token"]["secret"] == {
            "secretName": "sidemirror-token", "defaultMode": 0o444, "optional": True}  # fmt: skip
        assert "initContainers" not in made["spec"]
        assert made["metadata"] == was["metadata"]


@long
def test_a_nodes_pod_keeps_what_is_its_own(evaluator: list[str], policies: list[Any]) -> None:
    named = pod("node", securityContext={"supplementalGroups": [7], "fsGroup": 8})
    named["metadata"]["annotations"]["sidemirror.dev/token"] = "token-of-agent-7"
    already = pod("node", securityContext={"supplementalGroups": [65532]})
    bare = pod("node")
    del bare["spec"]["securityContext"]
    made, kept, without = admitted(evaluator, policies, named, already, bare)
    assert made["spec"]["securityContext"] == {"supplementalGroups": [7, 65532], "fsGroup": 8}
    assert made["spec"]["volumes"][-1]["secret"]["secretName"] == "token-of-agent-7"
    assert kept["spec"]["securityContext"] == without["spec"]["securityContext"] == {"supplementalGroups": [65532]}


@long
def test_other_pods_start_as_they_are_written(evaluator: list[str], policies: list[Any]) -> None:
    """Without the annotation, with one of another value, with a sidecar already, and where none can be."""
    has_one = container("sidemirror", restartPolicy="Always")
    mirror = pod("node")
    mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "1"
    mount = {"name": "own", "mountPath": "/run/sidemirror"}
    others = [
        *(pod(attach) for attach in (None, "", "no", "Sidecar")),
        *(pod(attach, initContainers=[has_one]) for attach in ("sidecar", "node")),
        *(pod(attach, containers=[container("agent"), has_one]) for attach in ("sidecar", "node")),
        *(
            pod(
                attach, containers=[container("agent", volumeMounts=[mount])], volumes=[{"name": "own", "emptyDir": {}}]
            )
            for attach in ("sidecar", "node")
        ),
        pod("node", volumes=[{"name": "sidemirror-socket", "emptyDir": {}}]),
        *(pod(attach, os={"name": "windows"}) for attach in ("sidecar", "node")),
        pod("sidecar", hostNetwork=True),
        mirror,
    ]
    assert list(admitted(evaluator, policies, *others)) == others


@long
def test_what_is_patched_is_patched_once(evaluator: list[str], policies: list[Any]) -> None:
    first = list(admitted(evaluator, policies, pod("sidecar"), pod("node")))
    assert list(admitted(evaluator, policies, *first)) == first


@long
def test_only_new_pods_are_patched(evaluator: list[str], policies: list[Any]) -> None:
    """Neither a change of one, nor the workload, whose template has the annotation."""
    changed = [pod("sidecar"), pod("node")]
    assert list(admitted(evaluator, policies, *changed, operation="UPDATE")) == changed
    template = {key: value for key, value in pod("sidecar").items() if key in ("metadata", "spec")}
    of = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    workloads: list[dict[str, Any]] = [
        {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "agent", "namespace": "shop"}, "spec": of}
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    ]
    meta = {"name": "agent", "namespace": "shop"}
    job = {"template": template}
    workloads += [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": job},
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta,
         "spec": {"schedule": "0 4 * * *", "jobTemplate": {"spec": job}}},
    ]  # fmt: skip
    for made in admitted(evaluator, policies, *workloads):
        spec = made["spec"]["jobTemplate"]["spec"] if made["kind"] == "CronJob" else made["spec"]
        assert spec["template"]["spec"] == template["spec"], made["kind"]


@long
def test_a_policy_that_fails_keeps_no_pod_from_starting(evaluator: list[str], policies: list[Any]) -> None:
    """As it is written. Seen to fail with `failurePolicy: Fail`."""
    broken = copy.deepcopy(policies)
    for one in broken:
        if one["metadata"]["name"] == "sidemirror-node" and "mutations" in one["spec"]:
            for mutation in one["spec"]["mutations"]:
                mutation.update(patchType="JSONPatch", jsonPatch={"expression": _ASKS_TOO_MUCH})
                mutation.pop("applyConfiguration", None)
    asked = pod("node")
    done = told(evaluator, broken, [review(asked)])
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["allowed"]
    assert [one["name"] for one in answer["object"]["spec"]["volumes"]] == ["kube-api-access-x7k2p"]


_ASKS_TOO_MUCH = '[JSONPatch{op: "remove", path: "/spec/none"}]'


@long
@pytest.mark.parametrize("attach", ["sidecar", "node"])
def test_only_pods_of_v1_are_patched(attach: str, evaluator: list[str], policies: list[Any]) -> None:
    """Neither another version of them, nor what another group calls a pod, nor a subresource of one: the rules of the
    policies say which. Seen to fail with `*` in the place of each of them."""
    first = review(pod(attach))
    others: list[dict[str, Any]] = [
        {"resource": {"group": "", "version": "v2", "resource": "pods"}},
        {"resource": {"group": "metrics.k8s.io", "version": "v1beta1", "resource": "pods"}},
        {"resource": {"group": "metrics.k8s.io", "version": "v1", "resource": "pods"}},
        {"resource": {"group": "", "version": "v1", "resource": "podtemplates"}},
        *({"subResource": name} for name in ("ephemeralcontainers", "status", "binding", "eviction", "resize")),
    ]
    asked = [first, *({**first, "request": {**first["request"], **other}} for other in others)]
    done = told(evaluator, strict(policies), asked)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["allowed"] for one in answers] == [True] * len(asked)
    address = [bool(one["object"]["spec"]["containers"][0].get("env")) for one in answers]
    assert address == [True] + [False] * len(others)


# --- Kyverno


def test_kyverno_has_the_same_policies(policies: list[Any]) -> None:
    ours = {one["metadata"]["name"]: one["spec"] for one in policies if one["kind"] == "MutatingAdmissionPolicy"}
    made = kustomized(DEPLOY / "kubernetes" / "attach-kyverno")
    for one in made:
        assert (one["apiVersion"], one["kind"]) == ("policies.kyverno.io/v1", "MutatingPolicy")
        assert one["spec"].pop("autogen") == {"podControllers": {"controllers": []}}
    assert {one["metadata"]["name"]: one["spec"] for one in made} == ours


@pytest.mark.slow("the schema comes as a Go module")
def test_kyverno_takes_them() -> None:
    """By the schema that it publishes. Seen to fail with a field of another name."""
    schema = _kyverno_schema()
    for one in kustomized(DEPLOY / "kubernetes" / "attach-kyverno"):
        _validate(one, schema)


@long
@pytest.mark.timeout(1200)
def test_kyverno_patches_the_same_pods(
    kyverno_command: str, evaluator: list[str], policies: list[Any], tmp_path: Path
) -> None:
    """By Kyverno's own command: the pods of every kind of workload, those that keep what is their own, and those that
    start as they are written. Seen to fail with another group in one of the two."""
    given = _every_pod()
    for number, one in enumerate(given):
        one["metadata"]["name"] = f"agent-{number}"
    theirs = mutated(kyverno_command, kustomized(DEPLOY / "kubernetes" / "attach-kyverno"), given, tmp_path)
    ours = list(admitted(evaluator, policies, *given))
    for was, one, other in zip(given, ours, theirs, strict=True):
        assert _by_names(other) == _by_names(one)
        if other != was:
            check_pod(other)
    assert sum(one != was for was, one in zip(given, ours, strict=True)) == 2 * len(WORKLOADS) + 6


def _every_pod() -> list[Any]:
    """Pods of all tests above: 2 for each kind of workload and 6 more are patched, the others are not."""
    has_one = container("sidemirror", restartPolicy="Always")
    two = [{"name": "B", "value": "1"}, {"name": "B", "value": "2"}]
    named = pod("node", securityContext={"supplementalGroups": [7], "fsGroup": 8})
    named["metadata"]["annotations"]["sidemirror.dev/token"] = "token-of-agent-7"
    bare = [pod("node"), pod("sidecar")]
    for one in bare:
        del one["spec"]["securityContext"]
    own = pod(
        "sidecar",
        securityContext={"fsGroup": 2000, "runAsUser": 1000},
        initContainers=[container("fetch"), container("istio-proxy", restartPolicy="Always", env=two)],
        containers=[
            container("agent", env=[{"name": "SIDEMIRROR_ADDRESS", "value": "127.0.0.1:50051"}]),
            container("other", env=two),
        ],
    )
    several = pod("node", containers=[container("agent"), container("other", env=two)])
    mirror = pod("node")
    mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "1"
    return [
        *(pod(attach, owner) for attach in ("sidecar", "node") for owner in WORKLOADS),
        *(own, named, *bare, several, pod("node", securityContext={"supplementalGroups": [65532]})),
        *(pod(attach) for attach in (None, "", "no", "Sidecar")),
        *(pod(attach, initContainers=[has_one]) for attach in ("sidecar", "node")),
        *(pod(attach, os={"name": "windows"}) for attach in ("sidecar", "node")),
        pod("node", volumes=[{"name": "sidemirror-socket", "emptyDir": {}}]),
        pod("sidecar", hostNetwork=True),
        mirror,
    ]


def _by_names(made: Any) -> Any:
    """With its lists of things that have names in the order of these: a server-side apply keeps no other order."""
    if isinstance(made, dict):
        return {key: _by_names(one) for key, one in made.items()}
    if isinstance(made, list):
        return sorted(map(_by_names, made), key=lambda one: json.dumps(one, sort_keys=True))
    return made


def _kyverno_schema() -> Any:
    """Of its MutatingPolicy, closed: unknown fields are refused, as by the API server's field validation."""
    file = Path(module(KYVERNO)) / "config" / "crds" / "policies.kyverno.io_mutatingpolicies.yaml"
    versions = yaml.safe_load(file.read_text())["spec"]["versions"]
    return _closed(next(one for one in versions if one["name"] == "v1")["schema"]["openAPIV3Schema"])


def _closed(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(one) for key, one in schema.items() if key not in ("properties", "format")}
    if "properties" in schema:
        closed["properties"] = {key: _closed(one) for key, one in schema["properties"].items()}
        if schema["properties"] and "metadata" not in schema["properties"]:
            closed.setdefault("additionalProperties", False)
    return closed
