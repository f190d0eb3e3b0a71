"""One sidecar for all agents of a node: what deploy/ makes of it, by Kustomize and by Helm."""

import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from bench.node import LIMITS
from sidemirror_server.settings import load, unknown_names, without_effect
from tests.deploy.test_kubernetes import DEPLOY, VERSIONS, kustomized, the
from tests.deploy.tools import ran, tool


def templated(folder: Path, *arguments: str) -> list[Any]:
    shutil.copytree(DEPLOY / "helm", folder / "helm", dirs_exist_ok=True)
    chart = folder / "helm" / "node"
    ran(tool("helm"), "dependency", "build", str(chart))
    release = ("sidemirror", str(chart), "--namespace", "sidemirror", "--kube-version", "1.31")
    return [made for made in yaml.safe_load_all(ran(tool("helm"), "template", *release, *arguments)) if made]


@pytest.mark.parametrize("given", ["agents=1", "agent.call=1", "agent.calls=many", "sidemirror.databaseSecrets=x"])
def test_helm_refuses_what_it_does_not_know(given: str, tmp_path: Path) -> None:
    """Seen to fail without a schema: a misspelt value did nothing."""
    with pytest.raises(AssertionError, match=given.partition("=")[0].rpartition(".")[2]):
        templated(tmp_path, "--set", given)


@pytest.fixture(params=["kustomize", "helm"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> list[Any]:
    return kustomized(DEPLOY / "kubernetes" / "node") if request.param == "kustomize" else templated(tmp_path)


def container_of(made: list[Any]) -> Any:
    (found,) = the(made, "DaemonSet")["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_it(made: list[Any], version: str) -> None:
    assert {one["kind"] for one in made} >= {"DaemonSet", "NetworkPolicy"}
    for one in made:
        kubernetes_validate.validate(one, version, strict=True)


def test_both_ways_make_the_same(tmp_path: Path) -> None:
    """Seen to fail with another limit in one of them."""
    by_kustomize = the(kustomized(DEPLOY / "kubernetes" / "node"), "DaemonSet")["spec"]
    by_helm = the(templated(tmp_path), "DaemonSet")["spec"]
    pod = by_helm["template"]["spec"]
    for container in (*pod["initContainers"], *pod["containers"]):
        del container["imagePullPolicy"]  # Kubernetes' own default
    assert by_helm == by_kustomize


def test_both_ways_make_the_same_network_policy(tmp_path: Path) -> None:
    by_kustomize = the(kustomized(DEPLOY / "kubernetes" / "node"), "NetworkPolicy")
    assert the(templated(tmp_path), "NetworkPolicy") == by_kustomize


def test_a_model_in_the_cluster_is_let_out(tmp_path: Path) -> None:
    """With another namespace for metrics. Seen to fail when the chart ignores these values."""
    values = """
sidemirror:
  networkPolicy:
    metricsNamespace: observability
    egress:
      - to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: models}}}]
        ports: [{port: 8000}]
"""
    (tmp_path / "values.yaml").write_text(values)
    policy = the(templated(tmp_path, "--values", str(tmp_path / "values.yaml")), "NetworkPolicy")
    kubernetes_validate.validate(policy, VERSIONS[-1], strict=True)
    assert policy["spec"]["egress"][-1]["ports"] == [{"port": 8000}]
    (metrics,) = policy["spec"]["ingress"]
    assert metrics["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "observability"}


def test_it_needs_no_network_policy(tmp_path: Path) -> None:
    made = templated(tmp_path, "--set", "sidemirror.networkPolicy.enabled=false")
    assert "NetworkPolicy" not in {one["kind"] for one in made}


def test_its_settings_are_those_that_the_benchmark_measures(made: list[Any]) -> None:
    environment = {one["name"]: one["value"] for one in container_of(made)["env"]}
    assert unknown_names(environment) == ()
    assert without_effect(load({}, environment), {}, environment) == ()
    limits = load({}, environment).limits
    told = {name: str(getattr(limits, name.removeprefix("limits__"))) for name in LIMITS}
    assert told == LIMITS


def test_only_the_folders_are_given_by_root(made: list[Any]) -> None:
    """And one process holds a store at a time."""
    spec = the(made, "DaemonSet")["spec"]
    (folders,) = spec["template"]["spec"]["initContainers"]
    assert folders["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN", "FOWNER"]}
    assert "restartPolicy" not in folders
    assert container_of(made)["securityContext"]["runAsUser"] == 65532
    assert spec["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1}


def test_an_agent_finds_it_as_it_finds_a_sidecar(tmp_path: Path) -> None:
    """The example's agent with the node's socket in place of the sidecar: the same address, mount and token."""
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
    example = tmp_path / "kubernetes" / "example"
    agent = example / "agent.yaml"
    agent.write_text(agent.read_text().replace("sidemirror.dev/sidecar", "sidemirror.dev/node"))
    (example / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        "resources: [agent.yaml]\ncomponents: [../node-agents]\n"
    )
    made = kustomized(example)
    kubernetes_validate.validate(the(made, "Deployment"), VERSIONS[-1], strict=True)
    pod = the(made, "Deployment")["spec"]["template"]["spec"]
    assert "initContainers" not in pod
    assert pod["securityContext"] == {"supplementalGroups": [65532]}
    sockets = [volume for volume in pod["volumes"] if volume["name"] == "sidemirror-socket"]
    node = the(kustomized(DEPLOY / "kubernetes" / "node"), "DaemonSet")["spec"]["template"]["spec"]
    path = next(one["hostPath"]["path"] for one in node["volumes"] if one["name"] == "sidemirror-socket")
    assert sockets == [{"name": "sidemirror-socket", "hostPath": {"path": path, "type": "Directory"}}]
    assert {"name": "sidemirror-socket", "mountPath": "/run/sidemirror"} in pod["containers"][0]["volumeMounts"]
