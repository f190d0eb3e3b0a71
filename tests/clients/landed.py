"""Sidecars and clients of commits that have landed: as wheels, and as sources."""

import functools
import os
import subprocess
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT, Version

# Before the clients' common behaviour (clients/BEHAVIOUR.md).
BEFORE = "58da28682215acf2bd1ff51d000e8cd44b3c65f6"
# Where what has landed is, as a clone knows it.
_UPSTREAM = "refs/remotes/origin/main"
_MIGRATIONS = "server/sidemirror_server/storage/sqlite/migrations"
# Python before 3.11.4 has no filter. What git packed needs none.
_FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
_SERVE = "from sidemirror_server.command import main; main()"


def git(*arguments: str) -> str:
    """What git says, without the line's end; nothing where it fails."""
    ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def not_held(what: str) -> NoReturn:
    """Skips: the checkout has no such history. In CI that fails."""
    why = f"this checkout does not hold {what}: it is shallow, or no clone"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def before_the_contract() -> str:
    """The commit before the newest one that changed protos/; empty without that history."""
    # What came by a merge counts as one change, as in tools/check-compatible.
    changed = git("log", "-1", "--first-parent", "-m", "--format=%H", "--", "protos")
    return changed and git("rev-parse", "--quiet", "--verify", f"{changed}^")


def newest() -> str:
    """The newest commit that has landed and is not this one: where the checkout has left the upstream branch. On that
    branch itself, the commit before the contract's last change, from which this one differs in more than a step. Skips
    as `source` does."""
    left = git("merge-base", "HEAD", _UPSTREAM)
    here = git("rev-parse", "HEAD")
    return (left if left != here else "") or before_the_contract() or not_held("any commit that has landed")


def of_the_same_store() -> str:
    """The oldest commit whose store is that of this checkout: it can take over the file. Skips as `source` does."""
    return git("log", "-1", "--format=%H", "--", _MIGRATIONS) or not_held("the history of the store")


def source(commit: str, folder: Path, *paths: str) -> Path:
    """These paths of the commit, below the folder. Skips where the checkout does not hold it; in CI that fails."""
    archive = subprocess.run(["git", "archive", commit, "--", *paths], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode != 0:
        not_held(f"commit {commit}")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, **_FILTER)
    return folder


@functools.cache
def server(commit: str, folder: Path) -> Version:
    """The server of a commit, from wheels that are built of it and unpacked. Skips as `source` does.

    Seen to fail when the wheels are not unpacked."""
    checkout, built = source(commit, folder / "checkout"), folder / "wheels"
    for package in ("sidemirror-api", "sidemirror-server"):
        command = ("uv", "build", "--quiet", "--wheel", "--package", package, "--out-dir", str(built))
        ran = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr[-4000:]
    modules = folder / "modules"
    for wheel in built.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(modules)
    where = (sys.executable, "-c", "import sidemirror_server as it; print(it.__file__)")
    found = subprocess.check_output(where, env=environment(PYTHONPATH=str(modules)), text=True)
    assert Path(found).is_relative_to(modules), f"not the older server: {found}"
    return Version((sys.executable, "-c", _SERVE), str(modules))
