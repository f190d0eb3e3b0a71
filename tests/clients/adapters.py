"""Where the adapters of agent frameworks run: each with the newest and the oldest version that it promises.

uv makes an environment from the lock file in the adapter's folder; for the AI SDK npm makes a project outside the
repository, which has the packed adapter. `bench/adapters.py` measures in these.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT

ADAPTERS = ROOT / "clients/adapters"
AI_SDK = ADAPTERS / "ai-sdk"
PYTHON = sorted(path.parent.name for path in ADAPTERS.glob("*/uv.lock"))
_TYPESCRIPT = ROOT / "clients/typescript"


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


def packed() -> Sequence[str]:
    """The packed adapter for the AI SDK, and what it needs of ours. The packages of our client are there by then."""
    run(("npm", "run", "--silent", "pack"), _TYPESCRIPT)
    shutil.rmtree(AI_SDK / "dist", ignore_errors=True)
    run(("npm", "run", "--silent", "pack"), AI_SDK)
    return [str(path) for folder in (_TYPESCRIPT, AI_SDK) for path in (folder / "dist").glob("*.tgz")]


def project(folder: Path, version: str, packages: Sequence[str]) -> None:
    """Makes the folder a project that has the packages, and this version of the AI SDK."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(AI_SDK / version / name, folder)
    quiet = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
    run(("npm", "ci", *quiet), folder)
    run(("npm", "install", *quiet, "--no-save", *packages), folder)
