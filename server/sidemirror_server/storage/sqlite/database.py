"""The embedded store's file: who may open it, and how its readers and its one writer share it.

An adapter says *what* it does to the database, in a function that is given a connection; this module says where and
when that runs:

    read     at once, on the event loop: look-ups by an index, microseconds
    search   beside the loop, on a thread and a connection of its own: whatever takes longer
    write    in the next group commit; answered when it is durable (`writer.py`)

A function given to any of them must finish its work before it returns (fetch its rows) and must not begin or end a
transaction. Errors that tell of the disk or the file come out as StoreFull or StoreUnavailable; others unchanged.
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
from sidemirror_server.storage.sqlite.folder import FolderLock, refuse_unsafe_file_system
from sidemirror_server.storage.sqlite.group import Alike
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from sidemirror_server.storage.sqlite.writer import GroupWriter
from sidemirror_server.vocabulary.errors import StoreFull, StoreRefused, StoreUnavailable

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_Item = TypeVar("_Item")

FILE_NAME = "sidemirror.db"
# Design, section 10: a bounded WAL. Chosen here: a burst of some seconds, and less than a second to copy.
WAL_LIMIT_BYTES = 64 * 1024 * 1024
# Chosen here: recovering the WAL of a process that was killed may take a reader this long; nothing else locks readers.
_READ_PATIENCE_S = 0.25


class SqliteDatabase:
    """One SQLite file in a data folder that this process holds alone. To be used from one event loop."""

    def __init__(
        self, folder: Path, lock: FolderLock, known: tuple[Migration, ...], now_us: int, wal_bytes: int
    ) -> None:
        """Use `open`."""
        path = folder / FILE_NAME
        self._lock = lock
        self._closed = False
        self._read_failed = False
        if path.exists() and not os.access(path, os.W_OK):
            # SQLite would open it for reading: the server would serve, and refuse every write.
            raise StoreRefused(file=str(path), reason="this user may not write it")
        first = _connect(path, patience_s=5.0)
        try:
            applied = migrate(first, known, now_us)
        finally:
            first.close()
        if applied:
            _log.info("sqlite_migrated", extra={"path": str(path), "applied": list(applied)})
        self._connect_reader = partial(_connect, path, patience_s=_READ_PATIENCE_S, reads_only=True)
        self._checkpoints = Checkpoints(partial(_connect, path))
        self._writer = GroupWriter(
            partial(_connect, path), path.with_name(f"{FILE_NAME}-wal"), wal_bytes, self._checkpoints.committed
        )
        self._reader = self._connect_reader()
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
        """Takes the folder (made with mode 0700 when missing), brings the schema up to date, starts the threads.

        `migrations`: the server's own by default. Raises StoreUnavailable, saying why, when another process has the
        folder, when its file system is none that SQLite can trust, when the schema is newer than the server or not
        its own, or when the file cannot be opened; StoreFull when there is no room to migrate.
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
        """Finishes the writes that wait, refuses new ones, interrupts searches, and lets the folder go."""
        if self._closed:
            return
        self._closed = True
        if self._searcher is not None:
            self._searcher.interrupt()
        self._search_thread.shutdown(cancel_futures=True)
        if self._searcher is not None:
            self._searcher.close()
        self._reader.close()
        # The writer's connection is the last to close: SQLite then empties and removes the WAL.
        await self._checkpoints.close()
        await self._writer.close()
        self._lock.release()

    async def write(self, change: Callable[[sqlite3.Connection], _T], *, long: bool = False) -> _T:
        """Runs `change` in a transaction that calls of other tasks may share; returns its result once it is durable.

        What `change` raises undoes `change` alone and is raised here. StoreFull, StoreUnavailable: nobody's change of
        this group was kept, or, for StoreUnavailable, perhaps it was. A cancelled caller leaves the change either
        done whole or not begun. `change` may run a second time, after the first was rolled back, so it keeps nothing
        outside the database. It runs on the loop: some indexed statements, no schema changes. One that touches many
        rows is `long`, and then runs on the writer's thread, in a transaction of its own.
        """
        return await self._writer.submit(change, long=long)

    async def write_alike(self, make: Callable[[sqlite3.Connection, Sequence[_Item]], Sequence[_T]], item: _Item) -> _T:
        """As `write`, for small changes of which many come at once: those that follow each other into a group are made
        with one call of `make`, which is given the items in their order, makes all of them or raises, and returns what
        came of each. When it raises each is made by itself, so that what one is refused for is raised to its caller
        alone."""
        result: _T = await self._writer.submit_alike(Alike(make, item))
        return result

    def answers(self) -> bool:
        """The last group of writes was kept, and the last look-up found what it looked into."""
        return not (self._closed or self._read_failed or self._writer.has_failed)

    def read(self, look_up: Callable[[sqlite3.Connection], _T]) -> _T:
        """Runs `look_up` at once, in one snapshot of what is committed. Raises StoreUnavailable."""
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
        """Runs `look_up` beside the loop, one at a time, in one snapshot of what is committed.

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


def _connect(path: Path, *, patience_s: float = 0, reads_only: bool = False) -> sqlite3.Connection:
    """A connection that waits `patience_s` for a lock. Its transactions are ours to begin and to end."""
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
    connection.execute("PRAGMA temp_store = MEMORY")
    # Statements run on the event loop: what they change stays in memory until COMMIT, which runs beside it.
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
