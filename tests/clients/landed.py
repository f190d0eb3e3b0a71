"""Sidecars and clients of commits that have landed: as wheels, and as sources."""

import functools
import subprocess
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT, Version

# Before the clients' common behaviour (clients/BEHAVIOUR.md), and with it.
BEFORE, NEWEST = "58da28682215acf2bd1ff51d000e8cd44b3c65f6", "a12fca61"
_SERVE = "from sidemirror_server.command import main; main()"


def source(commit: str, folder: Path, *paths: str) -> Path:
    """These paths of the commit, below the folder. Skips where the checkout does not hold it."""
    archive = subprocess.run(["git", "archive", commit, "--", *paths], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode != 0:
        pytest.skip(f"this checkout does not hold commit {commit}: it is shallow, or no clone")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
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
