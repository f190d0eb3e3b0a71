"""What deploy/README.md tells a platform engineer: what it shows is valid, and what it names is there."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from sidemirror_server.cli import main
from tests.deploy.test_kubernetes import DEPLOY, VERSIONS, kustomized, sidecar_of, templated, the
from tests.deploy.tools import ran, tool

PAGE = (DEPLOY / "README.md").read_text()
KINDS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_prometheus_finds_the_sidecars_of_pods_and_of_nodes() -> None:
    """In whatever namespace. Seen to fail with the first monitor alone: a node's sidecar was in no alert."""
    monitors = [one for block in blocks("yaml") for one in yaml.safe_load_all(block) if one.get("kind") == "PodMonitor"]
    node = the(kustomized(DEPLOY / "kubernetes" / "node"), "DaemonSet")["spec"]["template"]
    agent = the(kustomized(DEPLOY / "kubernetes" / "example"), "Deployment")["spec"]["template"]
    for pod in (node, agent):
        labels = pod["metadata"]["labels"].items()
        (spec,) = [one["spec"] for one in monitors if one["spec"]["selector"]["matchLabels"].items() <= labels]
        assert spec["namespaceSelector"] == {"any": True}
        containers = (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ()))
        ports = {port["name"]: port["containerPort"] for one in containers for port in one.get("ports", ())}
        assert ports[spec["podMetricsEndpoints"][0]["port"]] == 9464


def secrets_in(made: list[Any]) -> set[tuple[str, str]]:
    """Each Secret that is mounted or read, with the key that is looked for in it."""
    found: set[tuple[str, str]] = set()

    def look(place: Any) -> None:
        if isinstance(place, dict):
            if reference := place.get("secretKeyRef"):
                found.add((reference["name"], reference["key"]))
            if secret := place.get("secret"):
                found.add(
                    (secret["secretName"], {"sidemirror-access": "access.json"}.get(secret["secretName"], "token"))
                )
            place = list(place.values())
        if isinstance(place, list):
            for one in place:
                look(one)

    look(made)
    return found


@pytest.mark.parametrize("way", ["kustomize", "helm"])
def test_every_secret_that_is_needed_is_on_the_page(way: str, tmp_path: Path) -> None:
    """With its key and a command that makes it. Seen to fail with a Secret more in the example."""
    made = kustomized(DEPLOY / "kubernetes" / "example") if way == "kustomize" else templated(tmp_path)
    listed = set(re.findall(r"^\| `(sidemirror-\w[\w-]*)` \| `([\w.]+)` \|", PAGE, re.MULTILINE))
    needed = secrets_in(made)
    assert len(needed) == 5
    assert needed <= listed
    made_by = set(re.findall(r"kubectl create secret generic (\S+)", PAGE))
    assert {name for name, _ in needed} <= made_by


def test_an_agent_of_ones_own(tmp_path: Path) -> None:
    """The page's kustomization beside a clone, with a plain Deployment."""
    (overlay,) = (block for block in blocks("yaml") if "kind: Kustomization" in block)
    shutil.copytree(DEPLOY, tmp_path / "sidemirror" / "deploy")
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(overlay)
    (folder / "agent.yaml").write_text(workload("Deployment"))
    made = kustomized(folder)
    for one in made:
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
    values = "".join(block for block in blocks("yaml") if block.startswith("sidemirror:"))
    (tmp_path / "values.yaml").write_text(values)
    by_helm = templated(tmp_path, "--values", str(tmp_path / "values.yaml"))
    for sidecar in (sidecar_of(made), sidecar_of(by_helm)):
        named = {one["name"]: one for one in sidecar["env"]}
        assert named["SIDEMIRROR_TENANT_ID"]["value"] == "acme"
        assert named["SIDEMIRROR_SERVES"]["value"] == "acme/*", "no other tenant's"
        assert named["ANTHROPIC_API_KEY"]["valueFrom"]["secretKeyRef"] == {"name": "sidemirror-model", "key": "key"}
        assert sidecar["image"] == "registry.example.com/sidemirror:0.1.0"


def test_a_chart_of_ones_own(tmp_path: Path) -> None:
    """The page's dependency, template and values beside a clone."""
    shutil.copytree(DEPLOY, tmp_path / "sidemirror" / "deploy")
    chart = tmp_path / "agent"
    (chart / "templates").mkdir(parents=True)
    (dependencies,) = (block for block in blocks("yaml") if block.startswith("dependencies:"))
    (template,) = blocks("gotmpl")
    (values,) = (block for block in blocks("yaml") if block.startswith("sidemirror:"))
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: agent\nversion: 0.1.0\n{dependencies}")
    (chart / "templates" / "agent.yaml").write_text(template)
    (chart / "values.yaml").write_text(values)
    ran(tool("helm"), "dependency", "build", str(chart))
    (made,) = yaml.safe_load_all(ran(tool("helm"), "template", "agent", str(chart), "--kube-version", "1.31"))
    kubernetes_validate.validate(made, VERSIONS[-1], strict=True)
    (agent,) = made["spec"]["template"]["spec"]["containers"]
    assert agent["env"] == [{"name": "SIDEMIRROR_ADDRESS", "value": "unix:/run/sidemirror/sidemirror.sock"}]
    environment = {one["name"]: one.get("value") for one in sidecar_of([made])["env"]}
    assert environment["SIDEMIRROR_TENANT_ID"] == "acme"
    assert "ANTHROPIC_API_KEY" in environment


def workload(kind: str) -> str:
    pod = {"containers": [{"name": "agent", "image": "agent:1"}]}
    labels = {"app": "own"}
    spec: dict[str, Any] = {"template": {"metadata": {"labels": labels}, "spec": pod}}
    if kind != "Job":
        spec["selector"] = {"matchLabels": labels}
    metadata = {"name": "own", "labels": {"sidemirror.dev/sidecar": "true"}}
    return yaml.safe_dump({"apiVersion": KINDS[kind], "kind": kind, "metadata": metadata, "spec": spec})


@pytest.mark.parametrize("kind", KINDS)
def test_every_component_is_for_every_kind(kind: str, tmp_path: Path) -> None:
    """Seen to fail when tokens, Postgres and Redis were for Deployments alone: others got a sidecar without them, which
    whoever is in the pod may call."""
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own.yaml").write_text(workload(kind))
    components = [f"../deploy/kubernetes/{name}" for name in ("sidecar", "postgres", "redis", "tokens")]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["own.yaml"], "components": components}))
    made = next(one for one in kustomized(folder) if one["metadata"]["name"] == "own")
    (sidecar,) = made["spec"]["template"]["spec"]["initContainers"]
    environment = {one["name"] for one in sidecar["env"]}
    assert environment >= {"SIDEMIRROR_DATABASE_URL", "SIDEMIRROR_REDIS_URL", "SIDEMIRROR_ACCESS_FILE"}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "own", "sidemirror.dev/sidecar": "true"}


@pytest.mark.parametrize("way", ["kustomize", "helm"])
def test_the_migration_says_no_password_where_others_see_it(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The URL is environment, which the command takes. Seen to fail with it among the arguments."""
    made = kustomized(DEPLOY / "kubernetes" / "example") if way == "kustomize" else templated(tmp_path)
    (migrate,) = the(made, "Job")["spec"]["template"]["spec"]["containers"]
    assert migrate["args"] == ["migrate", "--grant-to", "sidecar"]
    assert [one["name"] for one in migrate["env"]] == ["SIDEMIRROR_DATABASE_URL"]
    monkeypatch.delenv("SIDEMIRROR_DATABASE_URL", raising=False)
    assert main(migrate["args"]) == 78
    assert "the owner's URL is expected" in capsys.readouterr().err
    monkeypatch.setenv("SIDEMIRROR_DATABASE_URL", "postgresql://owner:hunter2@127.0.0.1:1/sidemirror")
    assert main(migrate["args"]) == 69
    told = capsys.readouterr().err
    assert "nobody listens there" in told
    assert "hunter2" not in told


def test_the_rules_for_the_operator(tmp_path: Path) -> None:
    """The page's command makes a PrometheusRule of the file; `kubectl` is what reads it."""
    (command,) = (block for block in blocks("sh") if "PrometheusRule" in block)
    (tmp_path / "kubectl").write_text("#!/bin/sh\ncat\n")
    (tmp_path / "kubectl").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["sh", "-ec", command], cwd=DEPLOY.parent, env=environment, capture_output=True, text=True, check=True
    )
    made = yaml.safe_load(ran.stdout)
    assert made["kind"] == "PrometheusRule"
    assert made["spec"] == yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text())


def test_files_that_it_names() -> None:
    for path in re.findall(r"`(deploy/[\w/.-]+)`", PAGE):
        assert (DEPLOY.parent / path).exists(), path


def test_the_library_is_well_written(tmp_path: Path) -> None:
    templated(tmp_path)
    chart = tmp_path / "helm" / "example"
    done = subprocess.run([tool("helm"), "lint", "--strict", str(chart)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_fetches_what_a_chart_depends_on() -> None:
    installed = {*re.findall(r"helm (?:install|upgrade --install) \S+ deploy/helm/(\S+)", PAGE)}
    depends = {name for name in installed if "dependencies" in (DEPLOY / "helm" / name / "Chart.yaml").read_text()}
    assert depends == {"example", "node"}
    assert depends <= {*re.findall(r"helm dependency build deploy/helm/(\S+)", PAGE)}
