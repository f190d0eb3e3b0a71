"""A backup whose bytes have changed is not restored, and a restore that is killed leaves one store or the other."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.backup import back_up
from sidemirror_server.storage.sqlite.checksum import CHECKSUM_BYTES
from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.restore import restore
from sidemirror_server.vocabulary.errors import StoreDamaged, StoreRefused
from tests.architecture.repository import ROOT
from tests.faults.process import path_of
from tests.storage.test_sqlite_backup import NOW_US, jobs_in, now, reason, store

CHANGES = 200
# Kills itself before the n-th step that changes a folder, for each n until all steps are done. Prints what is left.
KILLED = """
import json, os, shutil, signal, sys
from pathlib import Path
from sidemirror_server.storage.sqlite.restore import restore

STEPS = {"os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "sqlite3.connect"}
before, backup, folder = map(Path, sys.argv[1:4])
left = []

def kill_before(step):
    taken = 0
    def look(event, _):
        nonlocal taken
        if event in STEPS:
            taken += 1
            if taken == step:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(look)

while True:
    place = folder / str(len(left))
    shutil.copytree(before, place)
    child = os.fork()
    if not child:
        kill_before(len(left) + 1)
        restore(place, backup, 1, replace=True)
        os._exit(0)
    left.append(str(place))
    if os.waitpid(child, 0)[1] == 0:
        break
print(json.dumps(left))
"""


@pytest.fixture
async def backup(tmp_path: Path) -> Path:
    """A backup with 20 jobs."""
    async with store(tmp_path / "first", range(20)):
        made = back_up(tmp_path / "first", tmp_path / "backup", now)
    shutil.rmtree(tmp_path / "first")
    return made.file


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A data folder as a killed server leaves it: one job is in the WAL alone."""
    async with store(tmp_path / "serving", range(100, 101)):
        shutil.copytree(tmp_path / "serving", tmp_path / "data")
    shutil.rmtree(tmp_path / "serving")
    assert jobs_in(tmp_path / "data" / FILE_NAME) == set()
    return tmp_path / "data"


def test_no_changed_byte_is_restored(backup: Path, folder: Path) -> None:
    """Seen to fail without the checksum: three quarters of the changes were restored."""
    drawn, raw = random.Random(12), backup.read_bytes()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    places = [*drawn.sample(range(len(raw) - CHECKSUM_BYTES), CHANGES - 10)]
    places += drawn.sample(range(len(raw) - CHECKSUM_BYTES, len(raw)), 10)
    for at in places:
        with backup.open("r+b") as opened:
            opened.seek(at)
            opened.write(bytes([raw[at] ^ drawn.randrange(1, 256)]))
        with pytest.raises(StoreDamaged):
            restore(folder, backup, NOW_US, replace=True)
        backup.write_bytes(raw)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"} == {
        name: content for name, content in before.items() if name != "lock"
    }
    assert restore(folder, backup, NOW_US, replace=True).had_checksum


@pytest.mark.parametrize("left", [0.5, 0.999])
def test_a_part_of_a_backup_is_not_restored(left: float, backup: Path, tmp_path: Path) -> None:
    os.truncate(backup, int(backup.stat().st_size * left) | 1)
    with pytest.raises(StoreDamaged) as damaged:
        restore(tmp_path / "data", backup, NOW_US, replace=False)
    assert reason(damaged.value) == "it is not as it was made: its bytes and its checksum differ"


def test_a_backup_of_a_version_without_checksums(backup: Path, tmp_path: Path) -> None:
    os.truncate(backup, backup.stat().st_size - CHECKSUM_BYTES)
    made = restore(tmp_path / "data", backup, NOW_US, replace=False)
    assert not made.had_checksum
    assert jobs_in(tmp_path / "data" / FILE_NAME) == {f"job {number}" for number in range(20)}


def test_what_is_restored_is_the_store_alone(backup: Path, tmp_path: Path) -> None:
    """And other programs read the backup as what it is, a SQLite database."""
    made = restore(tmp_path / "data", backup, NOW_US, replace=False)
    restored = tmp_path / "data" / FILE_NAME
    assert restored.read_bytes() == backup.read_bytes()[:-CHECKSUM_BYTES]
    assert made.holds.size_bytes == restored.stat().st_size
    with contextlib.closing(sqlite3.connect(f"{backup.as_uri()}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_not_while_another_program_reads_the_store(backup: Path, folder: Path) -> None:
    """Its WAL could not be emptied, and would be missing if the restore were killed. Seen to fail when that is not
    looked at."""
    with contextlib.closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM jobs").fetchone()
        with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as writer, writer:
            writer.execute("UPDATE jobs SET kind = 'other'")
        with pytest.raises(StoreRefused, match="another program reads the store that is there"):
            restore(folder, backup, NOW_US, replace=True)


def test_a_killed_restore_leaves_the_old_store_or_the_new_one(backup: Path, folder: Path, tmp_path: Path) -> None:
    """Killed before each of its steps. Seen to fail when the old WAL is taken away before what it has is in the old
    store."""
    (tmp_path / "killed").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, folder, backup, tmp_path / "killed"],
        env={"PYTHONPATH": path_of(ROOT), "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    left = [Path(place) for place in json.loads(done.stdout)]
    came_to = []
    for place in left:
        with contextlib.closing(sqlite3.connect(place / FILE_NAME)) as connection:
            jobs = {job_id for (job_id,) in connection.execute("SELECT job_id FROM jobs")}
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert jobs in ({"job 100"}, {f"job {number}" for number in range(20)}), place
        came_to.append("old" if "job 100" in jobs else "new")
    assert len(left) > 10
    assert came_to == sorted(came_to, reverse=True), "from one step on it is the new one"
    assert {"old", "new"} == {*came_to}
    # What a killed one has left is in nobody's way.
    restore(left[5], backup, NOW_US, replace=True)
    assert jobs_in(left[5] / FILE_NAME) == {f"job {number}" for number in range(20)}
