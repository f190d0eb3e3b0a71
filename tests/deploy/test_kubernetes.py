"""What deploy/ makes for Kubernetes: valid by Kubernetes' own schemas, the same by Kustomize and by Helm, with settings
of this server."""

import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from sidemirror_server.settings import load, unknown_names
from tests.architecture.repository import ROOT
from tests.deploy.tools import ran, tool

DEPLOY = ROOT / "deploy"
# The first version with native sidecars by default, and the newest that is known.
VERSIONS = ("1.29", kubernetes_validate.latest_version())


def kustomized(folder: Path) -> list[Any]:
    return list(yaml.safe_load_all(ran(tool("kustomize"), "build", str(folder))))


def templated(folder: Path, *arguments: str) -> list[Any]:
    """What Helm makes of the example; `folder` gets a copy, because dependencies are put beside the chart."""
    shutil.copytree(DEPLOY / "helm", folder / "helm", dirs_exist_ok=True)
    chart = folder / "helm" / "example"
    ran(tool("helm"), "dependency", "build", str(chart))
    text = ran(tool("helm"), "template", "agent", str(chart), "--kube-version", "1.31", *arguments)
    return [made for made in yaml.safe_load_all(text) if made]


@pytest.mark.parametrize(
    "given",
    [
        "sidemirror.accesSecret=x",
        "sidemirror.image.repo=x",
        "sidemirror.networkPolicy.agentPort=1",
        "sidemirror.tenantId=",
        "accessSecret=x",
    ],
)
def test_helm_refuses_what_it_does_not_know(given: str, tmp_path: Path) -> None:
    """Seen to fail without a schema: with a misspelt access file whoever is in the pod may call."""
    with pytest.raises(AssertionError, match=given.partition("=")[0].rpartition(".")[2]):
        templated(tmp_path, "--set", given)


@pytest.fixture(params=["kustomize", "helm"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> list[Any]:
    """The example with everything."""
    return kustomized(DEPLOY / "kubernetes" / "example") if request.param == "kustomize" else templated(tmp_path)


def the(made: list[Any], kind: str) -> Any:
    (found,) = (one for one in made if one["kind"] == kind)
    return found


def sidecar_of(made: list[Any]) -> Any:
    (found,) = the(made, "Deployment")["spec"]["template"]["spec"]["initContainers"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_all_of_it(made: list[Any], version: str) -> None:
    """Strictly: a field that the schema does not know is refused. Seen to fail with `restartPolicyy`."""
    assert {one["kind"] for one in made} >= {"Deployment", "Job"}
    for one in made:
        kubernetes_validate.validate(one, version, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_seen() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [], "restart": "Always"},
    }
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, VERSIONS[-1], strict=True)


def test_it_is_a_native_sidecar_that_can_do_little(made: list[Any]) -> None:
    sidecar = sidecar_of(made)
    assert sidecar["restartPolicy"] == "Always"
    job = the(made, "Job")["spec"]["template"]["spec"]["containers"][0]
    for container in (sidecar, job):
        assert container["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container["resources"] == {"requests": {"cpu": "50m", "memory": "160Mi"}, "limits": {"memory": "384Mi"}}
    ports = {probe: sidecar[probe]["grpc"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert all(asked == {"port": 50052} for asked in ports.values())


def test_the_agent_and_the_sidecar_share_the_socket(made: list[Any]) -> None:
    pod = the(made, "Deployment")["spec"]["template"]["spec"]
    agent, sidecar = pod["containers"][0], sidecar_of(made)
    shared = {"name": "sidemirror-socket", "mountPath": "/run/sidemirror"}
    assert shared in agent["volumeMounts"]
    assert shared in sidecar["volumeMounts"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert volumes >= {mount["name"] for one in (agent, sidecar) for mount in one["volumeMounts"]}
    assert pod["securityContext"] == {"fsGroup": 65532}
    grace_s = next(float(one["value"]) for one in sidecar["env"] if one["name"] == "SIDEMIRROR_GRACE_S")
    assert pod["terminationGracePeriodSeconds"] >= grace_s + 5


def test_its_environment_is_settings_of_this_server(made: list[Any]) -> None:
    environment = {one["name"]: one.get("value", "secret://x") for one in sidecar_of(made)["env"]}
    assert unknown_names(environment) == ()
    settings = load({}, environment)
    assert (settings.health_address, settings.metrics_address) == ("0.0.0.0:50052", "0.0.0.0:9464")
    assert settings.socket == "/run/sidemirror/sidemirror.sock"
    assert settings.access_file == "/etc/sidemirror/access.json"
    assert settings.database_url.reveal() == settings.redis_url.reveal() == "secret://x"


def test_both_ways_make_the_same_sidecar(tmp_path: Path) -> None:
    by_kustomize = sidecar_of(kustomized(DEPLOY / "kubernetes" / "example"))
    by_helm = sidecar_of(templated(tmp_path))
    defaults = {"SIDEMIRROR_TENANT_ID", "SIDEMIRROR_PROJECT_ID"}
    by_helm["env"] = [one for one in by_helm["env"] if one["name"] not in defaults]
    del by_helm["imagePullPolicy"]  # Kubernetes' own default
    for one in (by_kustomize, by_helm):
        for field in ("env", "volumeMounts"):
            one[field].sort(key=lambda entry: entry["name"])
    assert by_helm == by_kustomize


def test_the_least_of_it_by_helm(tmp_path: Path) -> None:
    """Without Postgres, Redis and tokens."""
    empty = ("databaseSecret", "ownerSecret", "redisSecret", "accessSecret", "maxUnavailable")
    given = [f"sidemirror.{name}=" for name in empty] + ["sidemirror.networkPolicy.enabled=false"]
    made = templated(tmp_path, *(part for one in given for part in ("--set", one)))
    assert [one["kind"] for one in made] == ["Deployment"]
    for one in made:
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
    names = {one["name"] for one in sidecar_of(made)["env"]}
    assert not names & {"SIDEMIRROR_DATABASE_URL", "SIDEMIRROR_REDIS_URL", "SIDEMIRROR_ACCESS_FILE"}


def test_the_policy_lets_in_metrics_and_not_calls(made: list[Any]) -> None:
    policy = the(made, "NetworkPolicy")["spec"]
    assert policy["podSelector"]["matchLabels"] == the(made, "Deployment")["spec"]["selector"]["matchLabels"]
    ports = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert ports == {8080, 9464}
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {53, 5432, 6379, 443}


def test_a_drain_leaves_an_agent(made: list[Any]) -> None:
    budget = the(made, "PodDisruptionBudget")["spec"]
    assert budget["selector"] == the(made, "Deployment")["spec"]["selector"]
    assert budget["maxUnavailable"] == 1 < the(made, "Deployment")["spec"]["replicas"]


BOUND = [
    "migrate",
    "--grant-to",
    "acme_sidecar",
    "--tenant",
    "acme",
    "--grant-to",
    "globex_sidecar",
    "--tenant",
    "globex",
]


@pytest.mark.parametrize("way", ["kustomize", "helm"])
def test_the_platform_team_binds_every_teams_role_in_one_place(way: str, tmp_path: Path) -> None:
    if way == "kustomize":
        made = kustomized(DEPLOY / "kubernetes" / "platform")
        assert [one["kind"] for one in made] == ["Job"]
    else:
        roles = [("role", "acme_sidecar"), ("tenant", "acme"), ("role", "globex_sidecar"), ("tenant", "globex")]
        given = (f"sidemirror.databaseTenants[{n // 2}].{key}={value}" for n, (key, value) in enumerate(roles))
        made = templated(tmp_path, *(part for one in given for part in ("--set", one)))
    job = the(made, "Job")
    kubernetes_validate.validate(job, VERSIONS[-1], strict=True)
    (migrate,) = job["spec"]["template"]["spec"]["containers"]
    assert migrate["args"] == BOUND
    assert [one["valueFrom"]["secretKeyRef"]["name"] for one in migrate["env"]] == ["sidemirror-database-owner"]


@pytest.mark.parametrize("way", ["kustomize", "helm"])
def test_a_teams_namespace_has_no_owners_url(way: str, tmp_path: Path) -> None:
    """It has its role's URL, and no migration. Seen to fail with the component `postgres` in the place of its part."""
    if way == "kustomize":
        shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
        example = tmp_path / "kubernetes" / "example" / "kustomization.yaml"
        text = example.read_text()
        assert "../postgres" in text
        example.write_text(text.replace("../postgres", "../postgres/sidecars"))
        made = kustomized(example.parent)
    else:
        made = templated(tmp_path, "--set", "sidemirror.ownerSecret=")
    assert "Job" not in {one["kind"] for one in made}
    assert "sidemirror-database-owner" not in yaml.safe_dump_all(made)
    names = {one["name"] for one in sidecar_of(made)["env"]}
    assert "SIDEMIRROR_DATABASE_URL" in names
