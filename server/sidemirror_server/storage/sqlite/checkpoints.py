"""Copies committed pages from the WAL into the database file while reads and writes go on.

Passive checkpoints wait for no lock and copy only pages that no reader still needs in the WAL. `writer.py` enforces the
bound of the WAL's size between two groups, because that blocks all other connections.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sidemirror_server.storage.sqlite.failures import store_failure
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.outage import Outage

_log = logging.getLogger(__name__)

# Growth of the WAL that starts a checkpoint: 1,000 pages, as SQLite's automatic ones (https://sqlite.org/wal.html).
_GROWTH_BYTES = 1000 * 4096
# The longest time from a commit to a checkpoint. Chosen here: a crash leaves little to recover, and a server that
# rarely writes does not sync twice for each write.
_LATEST_S = 1.0


class Checkpoints:
    """Runs passive checkpoints after commits, on a separate thread and connection."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connection = connect()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoint")
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[None] | None = None
        self._wal_bytes = 0  # at the last checkpoint
        self._closed = False
        self._outage = Outage(_log, "sqlite_checkpoint_failed", "sqlite_checkpoints_again", SystemClock())

    def committed(self, wal_bytes: int) -> None:
        """Starts or schedules a checkpoint after a commit. `wal_bytes`: the WAL's size after the commit."""
        if self._running is not None or self._closed:
            return
        if wal_bytes - self._wal_bytes >= _GROWTH_BYTES:
            self._start(wal_bytes)
        elif self._timer is None:
            self._timer = self._loop.call_later(_LATEST_S, self._start, wal_bytes)
        self._wal_bytes = min(self._wal_bytes, wal_bytes)

    async def close(self) -> None:
        """Waits for a running checkpoint, then closes the connection. Commits that follow, while the writer finishes
        what waits, start no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._running is not None:
            await asyncio.wait([self._running])
        self._thread.shutdown()
        self._connection.close()

    def _start(self, wal_bytes: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wal_bytes = wal_bytes
        self._running = self._loop.run_in_executor(self._thread, self._checkpoint)
        self._running.add_done_callback(self._done)

    def _done(self, _: asyncio.Future[None]) -> None:
        self._running = None

    def _checkpoint(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as exc:
            # Harmless: the WAL still has all pages, and the next commit schedules another checkpoint.
            self._outage.failed({"reason": str(store_failure(exc) or exc)})
        else:
            self._outage.worked()
