"""The adapters of agent frameworks, each with the newest and the oldest version of its framework that it promises.

Each has an environment of its own, which uv makes from the lock file in its folder, or npm for the AI SDK; nothing of
it is in ours. Its tests run there, beside a sidecar of this checkout.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT, Sidecar, sidecar
from tests.clients.languages import LANGUAGES, ready

pytestmark = [pytest.mark.slow("frameworks are installed, and their agents run"), pytest.mark.timeout(900)]
ADAPTERS = ROOT / "clients/adapters"
AI_SDK = ADAPTERS / "ai-sdk"
PYTHON = sorted(path.parent.name for path in ADAPTERS.glob("*/uv.lock"))
# One stands for all in a run without `-m long`: a framework takes up to a minute.
FIRST = "pydantic-ai"
EACH = [pytest.param(name, marks=[] if name == FIRST else pytest.mark.long) for name in PYTHON]


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    with sidecar(tmp_path_factory.mktemp("sidecar")) as running:
        yield running


def run(command: Sequence[str], cwd: Path, **settings: str) -> None:
    """It has to end well."""
    known = environment(**settings)
    known.pop("VIRTUAL_ENV", None)
    ran = subprocess.run(command, cwd=cwd, env=known, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, f"{' '.join(command)}\n{(ran.stdout + ran.stderr)[-12000:]}"


def installed(adapter: str, version: str) -> Path:
    """The Python of the environment with this version of the framework; made, or brought to what the lock says."""
    folder = ADAPTERS / adapter
    made = folder / ".venv" / version
    uv = shutil.which("uv")
    if uv is None:
        if os.environ.get("CI"):
            pytest.fail("uv is not installed")
        pytest.skip("uv is not installed: the adapters are not tested")
    groups = ("--no-default-groups", "--group", "tests", "--group", version)
    run(
        (uv, "sync", "--quiet", "--locked", "--python", sys.executable, *groups),
        folder,
        UV_PROJECT_ENVIRONMENT=str(made),
    )
    return made / "bin/python"


@pytest.mark.parametrize("version", ["newest", pytest.param("oldest", marks=pytest.mark.long)])
@pytest.mark.parametrize("adapter", EACH)
def test_with_the_framework(adapter: str, version: str, beside: Sidecar) -> None:
    python = installed(adapter, version)
    run((str(python), "-m", "pytest", "-q", "--tb=short"), ADAPTERS / adapter, SIDEMIRROR_ADDRESS=beside.address)


@pytest.mark.parametrize("adapter", EACH)
def test_the_adapter_is_typed(adapter: str) -> None:
    python = installed(adapter, "newest")
    run((str(python), "-m", "mypy"), ADAPTERS / adapter)


@pytest.fixture(scope="module")
def packages() -> Sequence[str]:
    """The packed adapter for the AI SDK, and what it needs of ours."""
    (typescript,) = [language for language in LANGUAGES if language.name == "typescript"]
    ready(typescript)
    run(("npm", "run", "--silent", "pack"), typescript.folder)
    shutil.rmtree(AI_SDK / "dist", ignore_errors=True)
    run(("npm", "run", "--silent", "pack"), AI_SDK)
    return [str(path) for folder in (typescript.folder, AI_SDK) for path in (folder / "dist").glob("*.tgz")]


@pytest.mark.long
@pytest.mark.parametrize("version", ["newest", "oldest"])
def test_with_the_ai_sdk(version: str, packages: Sequence[str], beside: Sidecar, tmp_path: Path) -> None:
    """In a project outside the repository, which has the packed adapter."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(AI_SDK / version / name, tmp_path)
    quiet = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
    run(("npm", "ci", *quiet), tmp_path)
    run(("npm", "install", *quiet, "--no-save", *packages), tmp_path)
    settings = {"SIDEMIRROR_ADDRESS": beside.address, "AI_SDK_PROJECT": str(tmp_path)}
    run((sys.executable, "-m", "pytest", "-q", "--tb=short"), AI_SDK, **settings)


def test_every_adapter_stands_in_the_list() -> None:
    page = (ADAPTERS / "README.md").read_text()
    adapters = sorted(path.parent.name for path in ADAPTERS.glob("*/README.md"))
    assert set(PYTHON) < set(adapters)
    assert [adapter for adapter in adapters if f"({adapter}/README.md)" not in page] == []
