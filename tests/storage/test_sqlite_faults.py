"""What becomes of acknowledged writes when the process is killed, the disk is full, or readers hold on to the WAL."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable
from tests.architecture.repository import ROOT, run_tool
from tests.storage.small_store import insert, numbers, small_store

MIB = 1024 * 1024


def python(*arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "server")])}
    return subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, cwd=ROOT)


async def test_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Seen to fail when callers are answered before their group's COMMIT, which takes 20 ms."""
    chance = random.Random(7)
    acknowledged: set[int] = set()
    for _ in range(6):
        first = max(acknowledged, default=0) + 1000
        process = python("-m", "tests.storage.small_store", str(tmp_path), str(first))
        assert process.stdout is not None
        for _ in range(chance.randrange(50, 1500)):
            acknowledged.add(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        acknowledged.update(int(line) for line in process.stdout.read().split(b"\n")[:-1] if line)
        process.stdout.close()
        process.wait()
        async with small_store(tmp_path) as database:
            assert acknowledged <= set(database.read(numbers))
            assert database.read(lambda c: c.execute("PRAGMA integrity_check").fetchone()) == ("ok",)
    assert len(acknowledged) > 300


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    if run_tool("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)).returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        yield folder
    finally:
        run_tool("umount", str(folder))


async def test_no_room_to_open(tiny_disk: Path) -> None:
    """Seen to fail when `store_failure` does not know SQLITE_IOERR_SHMSIZE: the start said "disk I/O error"."""
    (tiny_disk / "ballast").write_bytes(b"x" * (2 * MIB - 24 * 1024))
    with pytest.raises(StoreFull, match="no room"):
        async with small_store(tiny_disk / "store"):
            pass


async def test_full_disk(tiny_disk: Path) -> None:
    """A write that changes nothing succeeds on it, and is no sign of room. Seen to fail when `store_failure` does not
    know SQLITE_FULL, and when every write that succeeds ends the outage."""
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(b"x" * MIB)
    async with small_store(tiny_disk / "store", wal_limit_bytes=MIB // 4) as database:
        kept = 0
        try:
            while kept < 1000:
                kept = await database.write(insert(kept + 1, b"x" * 20_000))
        except StoreFull:
            pass
        assert 0 < kept < 100
        assert not database.answers()
        assert database.read(numbers) == list(range(1, kept + 1))
        group = await asyncio.gather(
            *[database.write(insert(1000 + n, b"x" * 20_000)) for n in range(8)], return_exceptions=True
        )
        assert [type(result) for result in group] == [StoreFull] * 8
        assert len({id(result) for result in group}) == 8
        assert await database.search(numbers) == list(range(1, kept + 1))
        await database.write(lambda _: None)
        assert not database.answers()
        ballast.unlink()
        assert await asyncio.gather(*[database.write(insert(2000 + n)) for n in range(8)]) == list(range(2000, 2008))
        assert database.answers()
    async with small_store(tiny_disk / "store") as database:
        assert database.read(numbers) == [*range(1, kept + 1), *range(2000, 2008)]


LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from sidemirror_server.vocabulary.errors import StoreUnavailable, StoreFull
from tests.storage.small_store import insert, numbers, small_store

async def main():
    async with small_store(Path(sys.argv[1])) as database:
        await database.write(insert(1))
        assert database.answers()
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        kept = 1
        try:
            while True:
                kept = await database.write(insert(kept + 1, b"x" * 20_000))
        except (StoreUnavailable, StoreFull) as error:
            print(type(error).__name__)
        assert not database.answers()
        assert database.read(numbers) == list(range(1, kept + 1)), "reads go on"
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert await database.write(insert(5000, b"x" * 500_000)) == 5000, "writes resume"
        assert database.answers()
        assert database.read(numbers) == [*range(1, kept + 1), 5000]
        print("resumed")

asyncio.run(main())
"""


def test_write_errors_of_the_disk(tmp_path: Path) -> None:
    """A file that may not grow: SQLite reports an I/O error. Seen to fail when a group that failed leaves no mark:
    the store still says that it answers."""
    process = python("-c", LIMITED, str(tmp_path))
    assert process.communicate()[0].decode().split() == ["StoreUnavailable", "resumed"]
    assert process.returncode == 0


async def test_the_wal_stays_bounded_under_a_burst_with_readers(tmp_path: Path) -> None:
    """Seen to fail when the WAL is never emptied between two groups: it grew to 34 MB of 2."""
    limit_bytes, wal, largest = 2 * MIB, tmp_path / "sidemirror.db-wal", 0
    done = asyncio.Event()
    async with small_store(tmp_path, limit_bytes) as database:

        def slow(connection: sqlite3.Connection) -> None:
            connection.execute("SELECT count(*) FROM notes").fetchone()
            time.sleep(0.03)

        async def search() -> None:
            while not done.is_set():
                await database.search(slow)

        searching = asyncio.create_task(search())
        for first in range(0, 3200, 32):
            await asyncio.gather(*[database.write(insert(first + n, b"x" * 10_000)) for n in range(32)])
            largest = max(largest, wal.stat().st_size)
        done.set()
        await searching
        assert 32 * 10_000 < largest < limit_bytes + 2 * 32 * 12_000
        assert len(database.read(numbers)) == 3200


async def test_a_stuck_reader_delays_and_does_not_stop_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when a WAL that could not be emptied once is not tried again."""
    monkeypatch.setattr("sidemirror_server.storage.sqlite.writer._PATIENCE_MS", 50)
    wal = tmp_path / "sidemirror.db-wal"
    async with small_store(tmp_path, MIB) as database:
        await database.write(insert(1))
        stuck = sqlite3.connect(tmp_path / "sidemirror.db", isolation_level=None)
        stuck.execute("BEGIN")
        stuck.execute("SELECT * FROM notes").fetchall()
        for n in range(2, 30):
            await database.write(insert(n, b"x" * 100_000))
        assert wal.stat().st_size > 2 * MIB
        stuck.close()
        for n in range(30, 40):
            await database.write(insert(n, b"x" * 100_000))
        assert wal.stat().st_size < 1.5 * MIB


async def test_commits_reach_the_database_file_soon(tmp_path: Path) -> None:
    """Seen to fail when `Checkpoints.committed` sets no timer."""
    file = tmp_path / "sidemirror.db"
    async with small_store(tmp_path) as database:
        await database.write(insert(1, b"x" * 200_000))
        before = file.stat().st_size
        async with asyncio.timeout(60):
            while file.stat().st_size < before + 190_000:  # noqa: ASYNC110 - the file tells nobody
                await asyncio.sleep(0.05)


def test_kinds_of_failure() -> None:
    """Seen to fail when `store_failure` does not know SQLITE_FULL."""
    from sidemirror_server.storage.sqlite.failures import store_failure

    def failed(code: int) -> sqlite3.OperationalError:
        error = sqlite3.OperationalError("as SQLite says")
        error.sqlite_errorcode = code
        return error

    assert type(store_failure(failed(sqlite3.SQLITE_FULL))) is StoreFull
    assert type(store_failure(failed(sqlite3.SQLITE_IOERR_FSYNC))) is StoreUnavailable
    assert type(store_failure(failed(sqlite3.SQLITE_CORRUPT_INDEX))) is StoreUnavailable
    assert store_failure(failed(sqlite3.SQLITE_ERROR)) is None
    assert store_failure(failed(sqlite3.SQLITE_CONSTRAINT_UNIQUE)) is None
    assert store_failure(ValueError()) is None
