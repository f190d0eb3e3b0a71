"""The embedded store's file: which process may open it, and how its readers and its one writer share it.

An adapter passes a function that takes a connection. This module decides where and when the function runs:

    read     at once, on the event loop: look-ups by an index, microseconds
    search   on a thread and a connection for searches: everything that takes longer
    write    in the next group commit; returns when it is durable (`writer.py`)

The function must fetch all its rows before it returns, and must not begin or end a transaction. Errors of the disk or
the file are raised as StoreFull or StoreUnavailable, all others unchanged.
"""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from sidemirror_server.storage.migration import Migration
from sidemirror_server.storage.sqlite.checkpoints import Checkpoints
from sidemirror_server.storage.sqlite.failures import store_failure
from sidemirror_server.storage.sqlite.folder import BackupMark, FolderLock, keep_private, refuse_unsafe_file_system
from sidemirror_server.storage.sqlite.group import Alike
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from sidemirror_server.storage.sqlite.place import Place
from sidemirror_server.storage.sqlite.writer import GroupWriter
from sidemirror_server.vocabulary.errors import StoreFull, StoreRefused, StoreUnavailable

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_Item = TypeVar("_Item")

FILE_NAME = "sidemirror.db"
# The bound of the WAL (decision 037). Chosen here: it holds a burst of some seconds, and is copied in under a second.
WAL_LIMIT_BYTES = 64 * 1024 * 1024
# The largest file that an erasure rewrites. Chosen here: some ten seconds on a slow disk.
SCRUB_LIMIT_BYTES = 1024 * 1024 * 1024
# How long a rewrite waits for a checkpoint that is under way.
_SCRUB_PATIENCE_S = 5.0
# How long a reader waits for a lock. Chosen here: enough for the only such wait, the recovery of a killed process' WAL.
_READ_PATIENCE_S = 0.25


class SqliteDatabase:
    """One SQLite file in a data folder that only this process may use. Use it from one event loop only."""

    def __init__(
        self, folder: Path, lock: FolderLock, known: tuple[Migration, ...], now_us: int, wal_bytes: int
    ) -> None:
        """Use `open`."""
        self._path = path = folder / FILE_NAME
        keep_private(path)
        self._lock = lock
        self._closed = False
        self._read_failed = False
        if not os.access(path, os.W_OK):
            # SQLite would open the file read-only: the server would start, and every write would fail.
            raise StoreRefused(file=str(path), reason="this user may not write it")
        first = _connect(path, patience_s=5.0)
        try:
            applied = migrate(first, known, now_us)
        finally:
            first.close()
        if applied:
            _log.info("sqlite_migrated", extra={"path": str(path), "applied": list(applied)})
        self._place = place = Place(path)
        self._connect_reader = partial(_connect_in_place, place, path, patience_s=_READ_PATIENCE_S, reads_only=True)
        self._checkpoints = Checkpoints(partial(_connect, path))
        self._writer = GroupWriter(
            partial(_connect_in_place, place, path),
            path.with_name(f"{FILE_NAME}-wal"),
            wal_bytes,
            self._checkpoints.committed,
            BackupMark(folder).is_set,
            place.check,
        )
        self._reader = self._connect_reader()
        place.look()
        self._searcher: sqlite3.Connection | None = None
        self._search_thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-search")

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        now_us: int,
        migrations: tuple[Migration, ...] | None = None,
        wal_limit_bytes: int = WAL_LIMIT_BYTES,
    ) -> Self:
        """Locks the folder (created with mode 0700 if missing), sets its files to 0600, migrates the schema and starts
        the threads.

        `migrations`: by default those of the server. Raises StoreUnavailable with the reason: another process has the
        folder, SQLite cannot trust its file system, the schema is newer than the server or differs from the server's
        migrations, or the file cannot be opened. Raises StoreFull if there is no room to migrate.
        """
        lock = FolderLock(folder)
        try:
            refuse_unsafe_file_system(folder)
            known = read_migrations() if migrations is None else migrations
            try:
                return _translated(lambda: cls(folder, lock, known, now_us, wal_limit_bytes))
            except StoreRefused:
                raise
            except StoreUnavailable as error:
                reason = error.facts.get("reason", str(error))
                raise StoreRefused(file=str(folder / FILE_NAME), reason=reason) from error
        except BaseException:
            lock.release()
            raise

    async def close(self) -> None:
        """Refuses new writes, finishes the waiting ones, interrupts searches, and unlocks the folder."""
        if self._closed:
            return
        self._closed = True
        if self._searcher is not None:
            self._searcher.interrupt()
        self._search_thread.shutdown(cancel_futures=True)
        if self._searcher is not None:
            self._searcher.close()
        self._reader.close()
        # The writer's connection closes last: SQLite then empties and removes the WAL.
        await self._checkpoints.close()
        await self._writer.close()
        self._lock.release()

    async def write(self, change: Callable[[sqlite3.Connection], _T], *, long: bool = False) -> _T:
        """Runs `change` in a transaction that calls of other tasks may share; returns its result once it is durable.

        An exception of `change` undoes this change alone and is raised here. StoreFull: no change of the group was
        kept. StoreUnavailable: all changes of the group may or may not have been kept. If the caller is cancelled, the
        change is made completely or not at all. `change` may be rolled back and run again, so it must not have effects
        outside the database. It runs on the loop: a few indexed statements, no schema changes. A change of many rows
        is `long`: it runs on the writer's thread, in a transaction without other calls.
        """
        return await self._writer.submit(change, long=long)

    async def write_alike(self, make: Callable[[sqlite3.Connection, Sequence[_Item]], Sequence[_T]], item: _Item) -> _T:
        """Like `write`, for frequent small changes: consecutive items with the same `make` share one call of it. `make`
        takes the items in order, makes all changes or raises, and returns one result per item. If it raises, it is
        called again for each item alone, so that an error reaches only the caller whose item caused it."""
        result: _T = await self._writer.submit_alike(Alike(make, item))
        return result

    async def scrub(self) -> None:
        """Rewrites the file without what removed rows have left in it, and empties the WAL. A file of more than
        SCRUB_LIMIT_BYTES is not rewritten, since writes wait meanwhile. Raises StoreUnavailable while a reader, such as
        a backup, keeps the WAL from being emptied."""
        await self._writer.submit_between(self._scrub)

    def _scrub(self) -> None:
        size_bytes = self._path.stat().st_size
        if size_bytes > SCRUB_LIMIT_BYTES:
            _log.warning("sqlite_not_scrubbed", extra={"bytes": size_bytes, "limit_bytes": SCRUB_LIMIT_BYTES})
            return
        connection = _connect_in_place(self._place, self._path, patience_s=_SCRUB_PATIENCE_S)
        try:
            # The copy that VACUUM makes must not fill the memory.
            connection.execute("PRAGMA temp_store = FILE")
            connection.execute("PRAGMA cache_spill = ON")
            connection.execute("VACUUM")
        finally:
            connection.close()

    def answers(self) -> bool:
        """Whether the last group of writes and the last `read` succeeded, and the files are in their place."""
        return not (self._closed or self.lost() or self._read_failed or self._writer.has_failed)

    def slowest_commit_s(self) -> float:
        """The longest commit of the last minute, if the disk was slow then; else 0.0."""
        return self._writer.slowest_commit_s()

    def is_full(self) -> bool:
        """Whether the last group of writes failed for want of room, and there is none yet."""
        return self._writer.was_full

    def lost(self) -> str:
        """What is wrong with the files if somebody has removed or replaced them; else empty. Writes then fail."""
        return self._place.look()

    def read(self, look_up: Callable[[sqlite3.Connection], _T]) -> _T:
        """Runs `look_up` at once, in one snapshot of the committed data. Raises StoreUnavailable."""
        if self._closed:
            raise StoreUnavailable(store="sqlite", reason="closed")
        try:
            found = _translated(partial(_in_snapshot, self._reader, look_up))
        except (StoreFull, StoreUnavailable):
            self._read_failed = True
            raise
        self._read_failed = False
        return found

    async def search(self, look_up: Callable[[sqlite3.Connection], _T]) -> _T:
        """Runs `look_up` on the search thread, one at a time, in one snapshot of the committed data.

        Raises StoreUnavailable.
        """
        if self._closed:
            raise StoreUnavailable(store="sqlite", reason="closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._search_thread, self._search, look_up)

    def _search(self, look_up: Callable[[sqlite3.Connection], _T]) -> _T:
        def run() -> _T:
            if self._searcher is None:
                self._searcher = self._connect_reader()
            return _in_snapshot(self._searcher, look_up)

        return _translated(run)


def _connect_in_place(
    place: Place, path: Path, *, patience_s: float = 0, reads_only: bool = False
) -> sqlite3.Connection:
    """Like `_connect`. Raises StoreUnavailable if the files are no longer those of this store: a new connection would
    make an empty one."""
    place.check_all()
    return _connect(path, patience_s=patience_s, reads_only=reads_only)


def _connect(path: Path, *, patience_s: float = 0, reads_only: bool = False) -> sqlite3.Connection:
    """A connection that waits `patience_s` for a lock. The caller begins and ends its transactions."""
    connection = sqlite3.connect(
        path, timeout=patience_s, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        connection.close()
        raise StoreUnavailable(store="sqlite", reason=f"journal mode is {mode}, not WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA foreign_keys = ON")
    # The trigger `source_of_nothing` fires itself.
    connection.execute("PRAGMA recursive_triggers = ON")
    # What is removed is overwritten (decision 045).
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    # Statements run on the event loop, so changed pages stay in memory until COMMIT, which runs on a thread.
    connection.execute("PRAGMA cache_spill = OFF")
    if reads_only:
        connection.execute("PRAGMA query_only = ON")
    return connection


def _in_snapshot(connection: sqlite3.Connection, look_up: Callable[[sqlite3.Connection], _T]) -> _T:
    connection.execute("BEGIN")
    try:
        return look_up(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _translated(run: Callable[[], _T]) -> _T:
    try:
        return run()
    except sqlite3.Error as exc:
        failure = store_failure(exc)
        if failure is None:
            raise
        raise failure from exc
