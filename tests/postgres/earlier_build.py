"""Earlier builds of this server, out of the repository's history."""

import io
import subprocess
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

from sidemirror_server.storage.postgres.migrate import MIGRATIONS
from tests.architecture.repository import ROOT

# The last commit whose stores know migrations up to 0005. Its `serve` does not start on Postgres, like that of every
# commit before 0006: it imports an adapter of critiques that came with 0006. So only its stores can be run.
STORES_OF_0005 = "43b787f"
# A commit whose server serves on Postgres, with migrations up to 0006.
SERVER_OF_0006 = "27f0e93"
# A commit whose server knows all numbered migrations and no bindings of roles.
SERVER_OF_0018 = "aef7d18"
# The last commit whose appends take turns, and whose watches rest on that.
SERVER_OF_TURNS = "a12fca61"


class Build(NamedTuple):
    """Its files, how many migrations of Postgres it knows, and its commit."""

    tree: Path
    migrations: int
    commit: str


def earlier_build(commit: str, folder: Path) -> Build:
    """The build of a commit, its files below `folder`. Skips, saying why, where the history is not there."""
    try:
        subprocess.run(["git", "rev-parse", "--git-dir"], cwd=ROOT, check=True, capture_output=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("no git, or no checkout: there is no history to take an earlier build from")
    archived = subprocess.run(["git", "archive", commit], cwd=ROOT, check=False, capture_output=True)
    if archived.returncode:
        pytest.skip(f"commit {commit} is not in this checkout's history (a shallow clone)")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
        files.extractall(folder, filter="data")
    known = list((folder / MIGRATIONS.relative_to(ROOT)).glob("*.sql"))
    return Build(folder, len(known), commit)
