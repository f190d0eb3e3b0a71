"""Pods as Kubernetes makes them of each kind of workload, their AdmissionReviews, and what policies make of these."""

import copy
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from tests.deploy.lacking import lacks
from tests.deploy.test_kubernetes import VERSIONS
from tests.deploy.tools import tool

ADMISSION = Path(__file__).parent / "admission"
# As in its go.mod.
KUBERNETES = "k8s.io/kubernetes@v1.37.0"
# Its command is built out of its own folder: its go.mod replaces a module, which a module that asks for it does not.
KYVERNO_COMMAND = "github.com/kyverno/kyverno@v1.19.1"
# Chosen here: on one core it takes ten minutes when nothing of it is in Go's cache, and half a minute later.
_BUILD_S = 900
# Who makes a pod of each kind of workload, and what that controller puts on it. A CronJob's are a Job's.
WORKLOADS: dict[str, dict[str, Any]] = {
    "": {},
    "ReplicaSet": {"group": "apps/v1", "labels": {"pod-template-hash": "6d4cf56db6"}},
    "StatefulSet": {"group": "apps/v1", "labels": {"statefulset.kubernetes.io/pod-name": "agent-0"}},
    "DaemonSet": {"group": "apps/v1", "labels": {"controller-revision-hash": "5b8c4d"}},
    "Job": {"group": "batch/v1", "labels": {"batch.kubernetes.io/job-name": "agent"}, "restartPolicy": "Never"},
    "ReplicationController": {"group": "v1", "labels": {}},
}
_ACCOUNT = "kube-api-access-x7k2p"


def pod(attach: str | None = None, owner: str = "", **spec: Any) -> dict[str, Any]:
    """A pod as it comes to the policies: with what the API server, its plugins and the controller have put there.
    `spec` goes before that."""
    made_by = WORKLOADS[owner]
    metadata: dict[str, Any] = {"generateName": "agent-", "namespace": "shop"}
    metadata["labels"] = {"app": "agent", **made_by.get("labels", {})}
    if attach is not None:
        metadata["annotations"] = {"sidemirror.dev/attach": attach}
    if owner:
        metadata["ownerReferences"] = [
            {
                "apiVersion": made_by["group"],
                "kind": owner,
                "name": "agent",
                "uid": "3f0c8c8e-3d1d-4b51-9d3f-0a1f6d1c2b3a",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    made: dict[str, Any] = {
        "containers": [container("agent")],
        "volumes": [{"name": _ACCOUNT, "projected": {"defaultMode": 420, "sources": [_OF_ACCOUNT]}}],
        "restartPolicy": made_by.get("restartPolicy", "Always"),
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**made, **spec}}


_OF_ACCOUNT = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}


def container(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/{name}:1.0.0",
        "resources": {"requests": {"cpu": "100m"}},
        "volumeMounts": [
            {"name": _ACCOUNT, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        **more,
    }


def review(made: dict[str, Any], *, operation: str = "CREATE", dry_run: bool = False) -> dict[str, Any]:
    group, _, version = made["apiVersion"].rpartition("/")
    resource = {"group": group, "version": version, "resource": made["kind"].lower() + "s"}
    kind = {"group": group, "version": version, "kind": made["kind"]}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind,
            "requestKind": kind,
            "resource": resource,
            "requestResource": resource,
            "namespace": "shop",
            "operation": operation,
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            "dryRun": dry_run,
            "object": made,
        },
    }


def built(folder: Path) -> list[str]:
    """The command of the evaluator: Kubernetes' own plugin for these policies, with the schemas of that version."""
    program = folder / "admission"
    done = _by_go("build", "-o", str(program), ".")
    if done.returncode:
        lacks(f"the evaluator cannot be built: {done.stderr[-300:]}")
    schemas = Path(module(KUBERNETES)) / "api" / "openapi-spec" / "v3"
    return [str(program), str(schemas)]


def kyverno(folder: Path) -> str:
    """Kyverno's own command, built with Go."""
    program, source = folder / "kyverno", module(KYVERNO_COMMAND)
    build = [tool("go"), "build", "-ldflags", "-s -w", "-o", str(program), "./cmd/cli/kubectl-kyverno"]
    try:
        done = subprocess.run(build, cwd=source, capture_output=True, text=True, check=False, timeout=_BUILD_S)
    except subprocess.TimeoutExpired:
        lacks(f"Kyverno's command cannot be built within {_BUILD_S} s")
    if done.returncode:
        lacks(f"Kyverno's command cannot be built: {done.stderr[-300:]}")
    return str(program)


def mutated(command: str, policies: list[Any], pods: list[Any], folder: Path) -> list[Any]:
    """Each pod, all with names of their own, as the policies leave it. The command makes an AdmissionReview of each,
    and prints a pod once for each policy that it looks at, always alike."""
    files = {"policies.yaml": policies, "pods.yaml": pods}
    for name, objects in files.items():
        (folder / name).write_text(yaml.safe_dump_all(objects))
    done = subprocess.run(
        [command, "apply", "policies.yaml", "--resource", "pods.yaml", "--output", "made.yaml"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = {one["metadata"]["name"]: one for one in pods}
    for one in yaml.safe_load_all((folder / "made.yaml").read_text()):
        if one:
            made[one["metadata"]["name"]] = one
    return [made[one["metadata"]["name"]] for one in pods]


def module(name: str) -> str:
    """Where the files of a Go module are."""
    done = _by_go("mod", "download", "-json", name)
    if done.returncode:
        lacks(f"{name} cannot be fetched: {done.stdout[-300:]}")
    return str(json.loads(done.stdout)["Dir"])


def _by_go(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([tool("go"), *arguments], cwd=ADMISSION, capture_output=True, text=True, check=False)


def told(evaluator: list[str], policies: list[Any], reviews: list[Any]) -> "subprocess.CompletedProcess[str]":
    """What the evaluator says of AdmissionReviews."""
    # Its client serves no lists by a watch.
    environment = {**os.environ, "KUBE_FEATURE_WatchListClient": "false"}
    given = json.dumps({"objects": policies, "reviews": reviews})
    return subprocess.run(
        evaluator, input=given, capture_output=True, text=True, check=False, timeout=120, env=environment
    )


def strict(policies: list[Any]) -> list[Any]:
    """A policy that fails counts as one that refuses, which the policies themselves do not."""
    made = copy.deepcopy(policies)
    for one in made:
        if "failurePolicy" in one["spec"]:
            one["spec"]["failurePolicy"] = "Fail"
    return made


def admitted(evaluator: list[str], policies: list[Any], *objects: dict[str, Any], **how: Any) -> Iterator[Any]:
    """Each object as it would be stored. Fails where one is refused, and where a policy fails."""
    done = told(evaluator, strict(policies), [review(one, **how) for one in objects])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(objects)
    for given, line in zip(objects, lines, strict=True):
        answer = json.loads(line)
        assert answer["allowed"], answer["message"]
        stored = {"apiVersion": given["apiVersion"], "kind": given["kind"], **answer["object"]}
        yield _without_empty(stored, given)


def _without_empty(value: Any, given: Any) -> Any:
    """Go writes some empty fields, which were not given."""
    if isinstance(value, dict):
        known = given if isinstance(given, dict) else {}
        kept = {key: _without_empty(one, known.get(key)) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, {}) or key == "emptyDir" or key in known}
    if isinstance(value, list):
        known_list = given if isinstance(given, list) else []
        # What is added comes last.
        return [_without_empty(one, known_list[n] if n < len(known_list) else None) for n, one in enumerate(value)]
    return value


def check_pod(made: dict[str, Any]) -> None:
    """That Kubernetes takes it: by its schemas, the oldest of which is for Kyverno, and by the rules for names that no
    schema has."""
    for version in VERSIONS:
        kubernetes_validate.validate(made, version, strict=True)
    spec = made["spec"]
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    _once(one["name"] for one in containers)
    _once(one["name"] for one in spec["volumes"])
    volumes = {one["name"] for one in spec["volumes"]}
    for one in containers:
        mounts = one.get("volumeMounts", [])
        _once(mount["mountPath"] for mount in mounts)
        assert {mount["name"] for mount in mounts} <= volumes


def _once(names: Iterator[str]) -> None:
    listed = list(names)
    assert len(set(listed)) == len(listed), listed
