"""The packages the product was asked to be built with, and a lock file that works on any machine."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.architecture.repository import ROOT

ADAPTERS = ROOT / "clients/adapters"
OWNERS_PACKAGES = {
    "anthropic",
    "asyncpg",
    "grpcio",
    "grpcio-health-checking",
    "grpcio-tools",
    "opentelemetry-instrumentation-grpc",
    "protobuf",
    "pytest",
    "pytest-grpc",
    "redis",
}


def toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0] for requirement in requirements}


def test_the_owners_packages_are_declared() -> None:
    server, client = toml(ROOT / "pyproject.toml"), toml(ROOT / "clients/python/pyproject.toml")
    declared = (
        names(server["project"]["dependencies"])
        | names(server["dependency-groups"]["dev"])
        | names(client["project"]["dependencies"])
        | names(client["project"]["optional-dependencies"]["tracing"])
    )

    assert declared >= OWNERS_PACKAGES
    assert "pytest-grpc-aio" not in declared, "it cannot be installed beside pytest-grpc"


def published(name: str) -> list[Path]:
    """The manifests of packages that a registry shows."""
    return [ROOT / folder / name for folder in ("generated", "clients")]


def test_each_package_in_a_registry_says_where_it_comes_from() -> None:
    home = "https://github.com/sidemirror/sidemirror"
    pages = {
        "Homepage": home,
        "Documentation": f"{home}/tree/main/docs",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
    for path in (ROOT / "pyproject.toml", *published("python/pyproject.toml"), *ADAPTERS.glob("*/pyproject.toml")):
        assert toml(path)["project"]["urls"] == pages, path
    for path in (*published("typescript/package.json"), ADAPTERS / "ai-sdk/package.json"):
        said = json.loads(path.read_text(encoding="utf-8"))
        folder = str(path.parent.relative_to(ROOT))
        assert said["repository"] == {"type": "git", "url": f"git+{home}.git", "directory": folder}, path
        assert (said["homepage"], said["bugs"]) == (home, f"{home}/issues"), path
    for path in published("rust/Cargo.toml"):
        crate = toml(path)["package"]
        assert (crate["repository"], crate["homepage"]) == (home, home), path
        assert crate["documentation"] == f"https://docs.rs/{crate['name']}", path
    for path in published("java/pom.xml"):
        project = re.sub(r"\s+", "", path.read_text(encoding="utf-8"))
        for said in (f"<url>{home}</url><licenses>", f"<scm><url>{home}</url>", f"<url>{home}/issues</url>"):
            assert said in project, path


def test_the_lock_names_public_places_only() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    hosts = {urlsplit(url).hostname for url in re.findall(r'"(\w+://[^"]+)"', text)}
    local = {
        source["editable"] for package in tomllib.loads(text)["package"] if "editable" in (source := package["source"])
    }

    assert hosts == {"pypi.org", "files.pythonhosted.org"}
    assert local == {".", "clients/python", "generated/python"}


def test_the_generator_sets_the_floor_of_what_it_generates_for() -> None:
    """Generated code refuses a grpcio older than its generator, so the floor must not be lower."""
    dev = toml(ROOT / "pyproject.toml")["dependency-groups"]["dev"]
    (generator,) = (entry.removeprefix("grpcio-tools==") for entry in dev if entry.startswith("grpcio-tools=="))

    assert f"grpcio>={generator},<2" in toml(ROOT / "generated/python/pyproject.toml")["project"]["dependencies"]
