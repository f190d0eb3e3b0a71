"""The store copied while it is written, and a copy that takes its place."""

import asyncio
import contextlib
import fcntl
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.storage.sqlite import backup as backups
from sidemirror_server.storage.sqlite import restore as restores
from sidemirror_server.storage.sqlite.backup import back_up
from sidemirror_server.storage.sqlite.checksum import CHECKSUM_BYTES
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.examine import examine
from sidemirror_server.storage.sqlite.folder import BackupMark
from sidemirror_server.storage.sqlite.migrate import read_migrations
from sidemirror_server.storage.sqlite.restore import restore
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.errors import StoreFull, StoreRefused
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import NewJob
from tests.storage.small_store import insert, small_store

SCOPE = Scope("acme", "shop")
# 2026-11-22T12:00:00Z
NOW_US = 1_795_348_800_000_000
KNOWN = len(read_migrations())


@contextlib.asynccontextmanager
async def store(folder: Path, jobs: range = range(0)) -> AsyncIterator[SqliteWork]:
    """A sidecar's store that has these jobs."""
    database = await SqliteDatabase.open(folder, now_us=NOW_US)
    try:
        work = SqliteWork(database)
        for number in jobs:
            await put(work, number)
        yield work
    finally:
        await database.close()


async def put(work: SqliteWork, number: int) -> None:
    await work.put(SCOPE, NewJob(JobId(f"job {number}"), "goal", b"x" * 500), NOW_US + number)


def jobs_in(file: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True)) as connection:
        return {job_id for (job_id,) in connection.execute("SELECT job_id FROM jobs")}


def now() -> int:
    return NOW_US


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def reason(error: StoreRefused | StoreFull) -> str:
    return str(error.facts["reason"])


async def test_a_copy_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was acknowledged before is in it, and what came meanwhile is in it without a hole. Seen to fail without the
    transaction around the steps: SQLite begins again after every write, and the copy was not done in a minute."""
    monkeypatch.setattr(backups, "_PAGES", 1)
    monkeypatch.setattr(backups, "_syncing", lambda _: lambda *_: time.sleep(0.005))
    async with store(tmp_path / "data", range(50)) as work:
        copying = asyncio.create_task(asyncio.to_thread(back_up, tmp_path / "data", tmp_path / "copy", now))
        written = 50
        async with asyncio.timeout(60):
            while not copying.done():
                await put(work, written)
                written += 1
        made = await copying
    assert written > 60, "nothing was written meanwhile"
    found = jobs_in(made.file)
    assert 50 <= len(found) < written
    assert found == {f"job {number}" for number in range(len(found))}
    assert (made.until_us, made.holds.rows, made.holds.schema) == (NOW_US, len(found), (KNOWN, KNOWN))
    assert made.holds.size_bytes == made.file.stat().st_size - CHECKSUM_BYTES
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    assert names(tmp_path) == {"data", "copy"}


async def test_what_a_killed_server_left_in_the_wal_is_in_it(tmp_path: Path) -> None:
    """Seen to fail with a copy of the file alone."""
    async with store(tmp_path / "data", range(3)):
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    assert jobs_in(tmp_path / "killed" / FILE_NAME) == set()
    assert jobs_in(back_up(tmp_path / "killed", tmp_path / "copy", now).file) == {"job 0", "job 1", "job 2"}


async def test_writers_do_not_wait_for_a_backup(tmp_path: Path) -> None:
    """A WAL over its bound is not waited for while a backup reads. Seen to fail when the writer does not look at the
    mark: it waits for 5 s each time."""
    async with small_store(tmp_path, wal_limit_bytes=64 * 1024) as database:
        await database.write(insert(1))
        with (
            contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as reader,
            BackupMark(tmp_path).held(),
        ):
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM notes").fetchone() == (1,)
            began_s = time.monotonic()
            for number in range(2, 22):
                await database.write(insert(number, b"x" * 16_000))
            assert time.monotonic() - began_s < 4.0
            assert (tmp_path / f"{FILE_NAME}-wal").stat().st_size > 128 * 1024
        for number in range(22, 32):
            await database.write(insert(number, b"x" * 16_000))
        assert (tmp_path / f"{FILE_NAME}-wal").stat().st_size < 128 * 1024


async def test_nothing_is_overwritten(tmp_path: Path) -> None:
    async with store(tmp_path / "data"):
        for there in ("file", "link"):
            if there == "file":
                (tmp_path / there).write_text("mine")
            else:
                (tmp_path / there).symlink_to(tmp_path / "nowhere")
            with pytest.raises(StoreRefused) as refused:
                back_up(tmp_path / "data", tmp_path / there, now)
            assert reason(refused.value) == "it is there already, and a backup overwrites nothing"
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path) == {"data", "file", "link"}


async def test_where_no_backup_can_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="there is no store"):
        back_up(tmp_path / "data", tmp_path / "copy", now)
    async with store(tmp_path / "data"):
        with pytest.raises(StoreRefused, match="No such file or directory"):
            back_up(tmp_path / "data", tmp_path / "missing" / "copy", now)
    assert names(tmp_path) == {"data"}


async def test_no_room_for_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with store(tmp_path / "data"):
        usage = shutil.disk_usage(tmp_path)._replace(free=1000)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(StoreFull, match=r"a copy needs [\d,]+ bytes, and 1,000 are free"):
            back_up(tmp_path / "data", tmp_path / "copy", now)
    assert names(tmp_path) == {"data"}


async def test_what_a_killed_backup_left_is_written_over(tmp_path: Path) -> None:
    async with store(tmp_path / "data", range(2)):
        (tmp_path / "copy.part").write_bytes(b"half" * 1_000_000)
        (tmp_path / "copy.part").chmod(0o644)
        made = back_up(tmp_path / "data", tmp_path / "copy", now)
        assert jobs_in(made.file) == {"job 0", "job 1"}
        assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
        other = os.open(tmp_path / "next.part", os.O_CREAT | os.O_RDWR)
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StoreRefused, match="another backup writes it"):
            back_up(tmp_path / "data", tmp_path / "next", now)
        os.close(other)
        (tmp_path / "link.part").symlink_to(tmp_path / "copy")
        with pytest.raises(StoreRefused, match="Too many levels of symbolic links"):
            back_up(tmp_path / "data", tmp_path / "link", now)
    assert jobs_in(made.file) == {"job 0", "job 1"}


def damage(file: Path) -> None:
    """Overwrites pages in the middle."""
    with file.open("r+b") as opened:
        opened.seek(file.stat().st_size // 2)
        opened.write(b"\xff" * 20_000)


async def test_a_damaged_store_gives_no_backup(tmp_path: Path) -> None:
    """Seen to fail when the copy is not examined."""
    async with store(tmp_path / "data", range(200)):
        pass
    damage(tmp_path / "data" / FILE_NAME)
    with pytest.raises(StoreRefused, match=r"damaged|no whole store"):
        back_up(tmp_path / "data", tmp_path / "copy", now)
    assert names(tmp_path) == {"data"}


@pytest.fixture
async def backup(tmp_path: Path) -> Path:
    """A backup with two jobs."""
    async with store(tmp_path / "first", range(2)):
        made = back_up(tmp_path / "first", tmp_path / "backup", now)
    shutil.rmtree(tmp_path / "first")
    return made.file


async def test_restored_into_an_empty_place(backup: Path, tmp_path: Path) -> None:
    made = restore(tmp_path / "a" / "data", backup, NOW_US, replace=False)
    assert (made.replaced, made.holds.rows, made.holds.schema) == (None, 2, (KNOWN, KNOWN))
    assert stat.S_IMODE((tmp_path / "a" / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((made.folder / FILE_NAME).stat().st_mode) == 0o600
    assert names(made.folder) == {"lock", FILE_NAME}
    async with store(made.folder) as work:
        assert sum((await work.count(SCOPE, "goal")).values()) == 2
        await put(work, 3)
    assert jobs_in(backup) == {"job 0", "job 1"}


async def test_a_store_is_replaced_when_that_is_said(backup: Path, tmp_path: Path) -> None:
    """The one from before is whole, with what a killed server left in its WAL. Seen to fail when the file alone is
    kept."""
    async with store(tmp_path / "data", range(10, 13)):
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    folder = tmp_path / "killed"
    with pytest.raises(StoreRefused, match="there is a store already"):
        restore(folder, backup, NOW_US, replace=False)
    made = restore(folder, backup, NOW_US, replace=True)
    assert made.replaced == folder / f"{FILE_NAME}-replaced-20261122T120000Z"
    assert jobs_in(made.replaced) == {"job 10", "job 11", "job 12"}
    assert examine(folder).size_bytes == made.holds.size_bytes, "the one from before is no part of the store"
    async with store(folder) as work:
        await put(work, 2)
    assert jobs_in(folder / FILE_NAME) == {"job 0", "job 1", "job 2"}


async def test_a_damaged_store_is_kept_as_it_is(backup: Path, tmp_path: Path) -> None:
    """And nothing of its WAL gets into the restored one. Seen to fail when the WAL stays where it was."""
    async with store(tmp_path / "data", range(10, 13)):
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    folder = tmp_path / "killed"
    (folder / FILE_NAME).write_bytes(b"garbage")
    wal = (folder / f"{FILE_NAME}-wal").read_bytes()
    made = restore(folder, backup, NOW_US, replace=True)
    assert made.replaced is not None
    assert made.replaced.read_bytes() == b"garbage"
    assert made.replaced.with_name(f"{made.replaced.name}-wal").read_bytes() == wal
    async with store(folder):
        pass
    assert jobs_in(folder / FILE_NAME) == {"job 0", "job 1"}


async def test_not_while_somebody_uses_the_folder(backup: Path, tmp_path: Path) -> None:
    """Seen to fail when the restore does not lock the folder, and when it does not look for a backup."""
    folder = tmp_path / "data"
    async with store(folder, range(10, 12)):
        with pytest.raises(StoreRefused, match=f"in use by process {os.getpid()}"):
            restore(folder, backup, NOW_US, replace=True)
    with BackupMark(folder).held(), pytest.raises(StoreRefused, match="a backup reads it"):
        restore(folder, backup, NOW_US, replace=True)
    assert jobs_in(folder / FILE_NAME) == {"job 10", "job 11"}


def spoil(how: str, backup: Path) -> None:
    if how.endswith("without a checksum"):
        os.truncate(backup, backup.stat().st_size - CHECKSUM_BYTES)
    if how.startswith("damaged"):
        damage(backup)
    elif how.startswith("cut short"):
        os.truncate(backup, backup.stat().st_size // 2)
    elif how == "no store":
        backup.write_bytes(b"x" * 10_240)
    elif how == "another program's":
        backup.unlink()
        with contextlib.closing(sqlite3.connect(backup)) as connection:
            connection.execute("CREATE TABLE turns (updated_us)")
        backup.chmod(0o600)
    elif how == "newer":
        with contextlib.closing(sqlite3.connect(backup)) as connection, connection:
            connection.execute("INSERT INTO schema_migrations VALUES (999999999999, 'later', '', 0)")
    elif how == "others may write it":
        backup.chmod(0o620)
    elif how == "a WAL beside it":
        backup.with_name(f"{backup.name}-wal").write_bytes(b"x")
    else:
        backup.unlink()
        backup.mkdir()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("damaged", "its bytes and its checksum differ"),
        ("cut short", "its bytes and its checksum differ"),
        ("damaged, without a checksum", "it is damaged|it is no whole store"),
        ("cut short, without a checksum", "it is damaged|it is no whole store"),
        ("no store", "it is no whole store of a sidecar: file is not a database"),
        ("another program's", "it is no whole store of a sidecar: no such table: schema_migrations"),
        ("newer", f"backup.*migration 999999999999_later is newer than this server, which knows {KNOWN}"),
        ("others may write it", "others may write it \\(mode 0620\\)"),
        ("a WAL beside it", "backup-wal beside it has a part of it"),
        ("a folder", "it is no file"),
    ],
)
async def test_what_is_not_restored(how: str, told: str, backup: Path, tmp_path: Path) -> None:
    """And the store that is there stays as it was. Each seen to fail without its check."""
    async with store(tmp_path / "data", range(10, 12)):
        pass
    before = (tmp_path / "data" / FILE_NAME).read_bytes()
    spoil(how, backup)
    with pytest.raises(StoreRefused, match=told):
        restore(tmp_path / "data", backup, NOW_US, replace=True)
    assert (tmp_path / "data" / FILE_NAME).read_bytes() == before
    assert names(tmp_path / "data") == {"lock", FILE_NAME}


async def test_the_store_itself_is_no_backup(tmp_path: Path) -> None:
    async with store(tmp_path / "data"):
        pass
    with pytest.raises(StoreRefused, match="it is the store itself"):
        restore(tmp_path / "data", tmp_path / "data" / FILE_NAME, NOW_US, replace=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_what_root_makes_is_the_folders_owners(backup: Path, tmp_path: Path) -> None:
    """Seen to fail when it is not given away: the sidecar could not open its folder. Another user's file is refused."""
    folder, user = tmp_path / "data", 12345
    folder.mkdir(mode=0o700)
    os.chown(folder, user, user)
    os.chown(backup, user + 1, user)
    with pytest.raises(StoreRefused, match=f"it is user {user + 1}'s"):
        restore(folder, backup, NOW_US, replace=False)
    os.chown(backup, user, user)
    restore(folder, backup, NOW_US, replace=False)
    back_up(folder, tmp_path / "again", now)
    owners = {path.name: path.stat().st_uid for path in folder.iterdir()}
    assert owners == dict.fromkeys(("lock", "backup.lock", FILE_NAME), user)


async def test_an_older_schema_is_migrated_when_it_is_served(tmp_path: Path) -> None:
    known = read_migrations()
    older = await SqliteDatabase.open(tmp_path / "older", now_us=0, migrations=known[:-1])
    await older.close()
    made = back_up(tmp_path / "older", tmp_path / "backup", now)
    assert made.holds.schema == (KNOWN - 1, KNOWN)
    assert restore(tmp_path / "data", made.file, NOW_US, replace=False).holds.schema == (KNOWN - 1, KNOWN)
    async with store(tmp_path / "data", range(1)):
        pass


async def test_a_restore_that_was_broken_off_has_changed_nothing(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one begins anew. Seen to fail when what it left is not removed."""

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    async with store(tmp_path / "data", range(10, 12)):
        pass
    with monkeypatch.context() as patch:
        patch.setattr(restores, "_keep_beside", killed)
        patch.setattr(shutil, "rmtree", lambda _: None)  # as after kill -9
        with pytest.raises(KeyboardInterrupt):
            restore(tmp_path / "data", backup, NOW_US, replace=True)
    assert names(tmp_path / "data") == {"lock", FILE_NAME, "restoring"}
    assert jobs_in(tmp_path / "data" / FILE_NAME) == {"job 10", "job 11"}
    async with store(tmp_path / "data"):
        pass
    restore(tmp_path / "data", backup, NOW_US, replace=True)
    assert jobs_in(tmp_path / "data" / FILE_NAME) == {"job 0", "job 1"}
    assert "restoring" not in names(tmp_path / "data")
