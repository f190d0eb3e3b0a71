"""Copies the store into one file while a sidecar serves and writes. For `sidemirror backup`, in a process of its own.

The copy is the store at one moment: one read transaction lasts for all steps, which neither waits for the writer nor
holds it up. The WAL cannot be emptied meanwhile, so it grows by what is written (`folder.py:BackupMark`).
"""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from sidemirror_server.storage.migration import Applied, Migration
from sidemirror_server.storage.sqlite.checksum import add_checksum
from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.failures import store_failure
from sidemirror_server.storage.sqlite.folder import BackupMark
from sidemirror_server.storage.sqlite.migrate import applied_in, check_applied, read_migrations
from sidemirror_server.vocabulary.errors import StoreDamaged, StoreFull, StoreRefused

# The end of the name of a copy that is not whole. Nothing reads such a file.
UNFINISHED = ".part"
# Pages of a step, and bytes between two syncs of the copy. Chosen here: a single sync at the end would hold up those of
# the store's writer for as long as it takes.
_PAGES = 256
_SYNC_BYTES = 8 * 1024 * 1024
# How long the copy waits for another connection that recovers the WAL of a killed sidecar.
_PATIENCE_S = 5.0
# How often the backup copies what the WAL has gathered into the store, when it has ended. Chosen here: readers may keep
# a part of it each time.
_CHECKPOINTS = 3
# How many complaints of `integrity_check` are told.
_COMPLAINTS = 3


class StoreFile(msgspec.Struct, frozen=True):
    """A file with a whole store. `size_bytes`: without the checksum of a backup. `rows`: those of all tables but the
    one that lists the migrations. `schema`: the number of applied migrations, and of those that this server knows.
    `newest_us`: the last update of any turn, 0 without turns."""

    size_bytes: int
    rows: int
    schema: tuple[int, int]
    newest_us: int


class BackedUp(msgspec.Struct, frozen=True):
    """A backup. `until_us`: everything is in it that was acknowledged before that time."""

    file: Path
    until_us: int
    holds: StoreFile


def back_up(folder: Path, file: Path, now_us: Callable[[], int]) -> BackedUp:
    """Copies the store in `folder` to `file`, which must not be there; the file gets its name once it is whole and has
    its checksum.

    Raises StoreRefused: there is no store, the file is there, or nothing may be made there. StoreDamaged: the copy is.
    Raises StoreFull when there is no room for the copy, StoreUnavailable when the store cannot be read.
    """
    store = folder.absolute() / FILE_NAME
    with refusing(store):
        if not is_there(store):
            raise StoreRefused(folder=str(folder), reason="there is no store")
    with refusing(file), _made_whole(file.absolute()) as (part, descriptor):
        with BackupMark(folder.absolute()).held():
            until_us = _copy(store, part, descriptor, now_us)
        holds = examine_copy(part, store)
        add_checksum(descriptor)
    return BackedUp(file, until_us, holds)


def examine_copy(file: Path, original: Path) -> StoreFile:
    """Examines a file that nobody writes, page by page. Raises StoreDamaged, and StoreRefused when its schema is
    newer than this server or differs; both name the file that it is a copy of."""
    known = read_migrations()
    try:
        with contextlib.closing(_unchanging(file)) as connection:
            applied = applied_in(connection)
            _check_schema(original, applied, known)
            asked = connection.execute(f"PRAGMA integrity_check({_COMPLAINTS})")
            if complaints := [str(row[0]) for row in asked if row[0] != "ok"]:
                raise StoreDamaged(file=str(original), reason=f"it is damaged: {'; '.join(complaints)}")
            rows = sum(_count(connection, table) for table in tables(connection))
            (newest_us,) = connection.execute("SELECT coalesce(max(updated_us), 0) FROM turns").fetchone()
    except sqlite3.Error as error:
        raise StoreDamaged(file=str(original), reason=f"it is no whole store of a sidecar: {error}") from error
    return StoreFile(file.stat().st_size, rows, (len(applied), len(known)), newest_us)


def tables(connection: sqlite3.Connection) -> list[str]:
    """The tables that hold records: neither SQLite's own, nor those that the search index consists of."""
    listed = connection.execute("PRAGMA main.table_list").fetchall()
    named = [name for _, name, kind, *_ in listed if kind == "table" and not name.startswith("sqlite_")]
    return [name for name in named if name != "schema_migrations"]


def _check_schema(file: Path, applied: Sequence[Applied], known: Sequence[Migration]) -> None:
    try:
        check_applied(applied, known)
    except StoreRefused as refused:
        raise StoreRefused(file=str(file), reason=refused.facts["reason"]) from refused


def _count(connection: sqlite3.Connection, table: str) -> int:
    name = table.replace('"', '""')
    (rows,) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608 - of the file's own schema
    return int(rows)


def _unchanging(file: Path) -> sqlite3.Connection:
    """A connection to a file that nobody writes. It takes no lock and makes no file beside it."""
    return sqlite3.connect(f"{file.absolute().as_uri()}?immutable=1", uri=True)


def _copy(store: Path, part: Path, descriptor: int, now_us: Callable[[], int]) -> int:
    """Copies the store into `part`, which is open; returns the time before which everything is in it."""
    source = sqlite3.connect(f"{store.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE_S, isolation_level=None)
    with contextlib.closing(source):
        until_us = now_us()
        source.execute("BEGIN")
        size_bytes = _size(source)
        if size_bytes > (free_bytes := shutil.disk_usage(part.parent).free):
            reason = f"a copy needs {size_bytes:,} bytes, and {free_bytes:,} are free"
            raise StoreFull(file=str(part), reason=reason)
        # Without locks, which the file systems of backups may lack: nobody else uses this file.
        target = sqlite3.connect(f"{part.as_uri()}?mode=rw&nolock=1", uri=True, isolation_level=None)
        with contextlib.closing(target):
            target.execute("PRAGMA journal_mode = OFF")
            target.execute("PRAGMA synchronous = OFF")
            source.backup(target, pages=_PAGES, progress=_syncing(descriptor))
        source.execute("COMMIT")
        os.fsync(descriptor)
        _checkpoint(source)
    return until_us


def _size(source: sqlite3.Connection) -> int:
    """The bytes of the store at the moment of the transaction, which this look-up fixes."""
    (pages,), (page_bytes,) = (source.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(pages) * int(page_bytes)


def _syncing(descriptor: int) -> Callable[[int, int, int], None]:
    synced_bytes = 0

    def step_taken(_status: int, _left: int, _all: int) -> None:
        nonlocal synced_bytes
        if (size_bytes := os.fstat(descriptor).st_size) - synced_bytes >= _SYNC_BYTES:
            os.fdatasync(descriptor)
            synced_bytes = size_bytes

    return step_taken


def _checkpoint(source: sqlite3.Connection) -> None:
    """Copies into the store what the WAL has gathered, so that its writer finds little left to do."""
    with contextlib.suppress(sqlite3.Error):
        for _ in range(_CHECKPOINTS):
            _, pages, copied = source.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if copied == pages:
                return


@contextlib.contextmanager
def _made_whole(file: Path) -> Iterator[tuple[Path, int]]:
    """A new file (0600) to be filled, and its descriptor. It gets the name of `file` at the end of the block, and is
    removed when the block fails. What a killed backup has left of it is written over."""
    part = file.with_name(f"{file.name}{UNFINISHED}")
    _refuse_if_there(file)
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _make_ones_own(part, descriptor)
        try:
            yield part, descriptor
            _refuse_if_there(file)
            part.rename(file)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    finally:
        os.close(descriptor)
    sync_folder(file.parent)


def _make_ones_own(part: Path, descriptor: int) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise StoreRefused(file=str(part), reason="it is another user's, or no file")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StoreRefused(file=str(part), reason="another backup writes it") from error
    os.fchmod(descriptor, 0o600)
    os.ftruncate(descriptor, 0)


def _refuse_if_there(file: Path) -> None:
    if os.path.lexists(file):
        raise StoreRefused(file=str(file), reason="it is there already, and a backup overwrites nothing")


def is_there(file: Path) -> bool:
    """Whether there is a file of that name. Raises OSError when that cannot be seen."""
    try:
        file.stat()
    except FileNotFoundError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Makes the names in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def refusing(file: Path) -> Iterator[None]:
    """Translates errors of the store and of the file system within the block."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise StoreDamaged(file=str(file), reason=f"the store is damaged: {error}") from error
        failure = store_failure(error)
        if failure is None:
            raise
        raise failure from error
    except OSError as error:
        raise StoreRefused(file=str(error.filename or file), reason=error.strerror or str(error)) from error
