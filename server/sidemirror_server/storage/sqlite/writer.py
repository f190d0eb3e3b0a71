"""Group commit: calls that arrive during a commit share the next one.

`SqliteDatabase.write` queues the calls here. The statements of a group run on the event loop. Only COMMIT, which waits
for the disk, runs on the writer thread; the callers get their results when it has returned.
The reason is that sqlite3 releases the GIL around every statement, and a thread beside a busy loop waits long to get it
back. With only COMMIT on the thread, a group waits just twice. Measured with 64 callers that store memories and a loop
that is never idle: 2,700 writes/s with the statements on the thread, 7,000 to 9,000 with them on the loop. Without the
pauses of the loop (`_let_thread_run`) the thread starved for seconds in both variants.

A failing call must undo only its changes. Most calls fail before they change anything, so there is nothing to undo.
For the others the group is rolled back and run again with a savepoint for each call. Savepoints in the first run would
make FTS5 write a segment for each call (64 callers: 17,000 writes/s instead of 22,000).
"""

import asyncio
import logging
import os
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sidemirror_server.storage.sqlite.disk_pace import DiskPace
from sidemirror_server.storage.sqlite.failures import store_failure
from sidemirror_server.storage.sqlite.group import (
    Alike,
    MustUndo,
    WriteCall,
    WriteOutcome,
    run_in_savepoint,
    run_together,
)
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.outage import Outage

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

# After so long no further batch of calls joins a group; later ones wait for the next. Chosen here: the small writes of
# 64 callers fit, and other tasks of the loop are delayed by little more.
_GROUP_S = 0.005
# How many calls may share their statements; the time is checked only between such batches. Chosen here: their
# statements take less than the time of a group.
_ALIKE = 16
# How long the thread waits for another connection's lock. Chosen here: longer than any search should take.
_PATIENCE_MS = 5000
_TRY_MS = 20
# After this time without a result from the thread, the loop blocks for _PAUSE_S; the interval doubles each time. A loop
# that is never idle releases the GIL so briefly that a waiting thread may miss it for seconds. uvloop rounds timers to
# milliseconds, so that the first pause comes at once; the thread can then start, which is intended.
_FIRST_PAUSE_AFTER_S = 0.0003
_PAUSE_S = 0.0001
# A disk that was full counts as full until so much is free again: on a full disk small writes succeed now and then, in
# the part of the WAL that is there already. Chosen here: a hundred events.
_ROOM_BYTES = 256 * 1024


class GroupWriter:
    """The one writer of a database file: its connection, its thread, and the calls that wait for them.

    Use it from one event loop only. The connection is used by the loop or by the thread, never by both at once.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        wal: Path,
        wal_limit_bytes: int,
        committed: Callable[[int], None],
        is_backed_up: Callable[[], bool],
        check_place: Callable[[], None] = lambda: None,
    ) -> None:
        """`connect` opens a writable connection without a busy timeout. `committed` is called with the WAL's size in
        bytes after each group. A WAL of `wal_limit_bytes` or more is emptied before the next group begins, but for the
        pages that a backup needs (`is_backed_up`: one is under way). `check_place` is called after each commit; what it
        raises ends the group, whose callers are told that it failed."""
        self._connect = connect
        self._connection: sqlite3.Connection | None = connect()
        self._wal = wal
        self._wal_limit_bytes = wal_limit_bytes
        self._empty_wal_at_bytes = wal_limit_bytes
        self._committed = committed
        self._is_backed_up = is_backed_up
        self._check_place = check_place
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[WriteCall] = deque()
        self._between: deque[tuple[Callable[[], None], asyncio.Future[None]]] = deque()
        self._busy = False  # a group is running or scheduled, and owns the connection
        self.has_failed = False  # whether the last group failed, or the disk is still full
        self.was_full = False  # whether the disk was full when a group failed last, and is still
        self._outage = Outage(_log, "sqlite_group_failed", "sqlite_writes_again", SystemClock())
        self._pace = DiskPace(SystemClock())
        self._closed: asyncio.Future[None] | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._under_way = threading.Lock()  # held while the thread runs a step
        self._steps: queue.SimpleQueue[Callable[[], Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._take_steps, name="sqlite-writer", daemon=True)
        self._thread.start()

    def slowest_commit_s(self) -> float:
        """The longest commit of the last minute, if the disk was slow then; else 0.0."""
        return self._pace.slowest_s()

    def submit(self, change: Callable[[sqlite3.Connection], _T], *, long: bool) -> asyncio.Future[_T]:
        """Queues a call; its future resolves when the group is durable or has failed."""
        return self._queue(WriteCall(change, self._loop.create_future(), long))

    def submit_alike(self, alike: Alike) -> asyncio.Future[Any]:
        """Like `submit`, for a change that shares its statements with others of its kind in the group."""
        return self._queue(WriteCall(alike.alone, self._loop.create_future(), long=False, alike=alike))

    def submit_between(self, step: Callable[[], None]) -> asyncio.Future[None]:
        """Runs `step` on the writer's thread between two groups, while no transaction is open, and then empties the
        WAL. Its future resolves when both are done."""
        answer = self._loop.create_future()
        self._between.append((step, answer))
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._next_group)
        return answer

    def _queue(self, call: WriteCall) -> asyncio.Future[Any]:
        if self._closed is not None:
            raise StoreUnavailable(store="sqlite", reason="closed")
        self._waiting.append(call)
        if not self._busy:
            self._busy = True
            # Deferred, so that other tasks that are ready in this iteration of the loop join the group.
            self._loop.call_soon(self._next_group)
        return call.answer

    async def close(self) -> None:
        """Refuses new calls, finishes the waiting ones, then closes the connection and ends the thread."""
        if self._closed is None:
            self._closed = self._loop.create_future()
            if not self._busy:
                self._busy = True
                self._loop.call_soon(self._next_group)
        await asyncio.shield(self._closed)

    # --- on the loop -------------------------------------------------------------------------------------------------

    def _next_group(self) -> None:
        if self._between:
            step, answer = self._between.popleft()
            self._hand_over(partial(self._run_between, step), partial(self._told, answer), partial(self._told, answer))
            return
        if not self._waiting:
            if self._closed is None:
                self._busy = False
            else:
                self._hand_over(self._close_connection, lambda _: self._end_thread(), lambda _: self._end_thread())
            return
        if self._connection is None or self._waiting[0].long:
            self._run_beside(self._take_alike())
            return
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error:
            # Most likely another process holds the lock. The thread may wait for it; the loop must not block.
            self._run_beside(self._take_alike())
            return
        self._run_here(connection)

    def _run_here(self, connection: sqlite3.Connection) -> None:
        calls: list[WriteCall] = []
        try:
            until = time.perf_counter() + _GROUP_S
            outcomes = []
            for together in self._calls_until(until):
                calls += together
                outcomes += run_together(connection, together)
        except MustUndo:
            connection.execute("ROLLBACK")
            self._waiting.extendleft(reversed(calls))
            self._run_beside(self._take_alike())
        except BaseException as exc:
            self._group_failed(calls, exc)
            if not isinstance(exc, Exception):
                raise
        else:
            self._hand_over(
                partial(_commit, connection),
                lambda took_s: self._committed_in(took_s, outcomes),
                partial(self._group_failed, calls),
            )

    def _calls_until(self, until: float) -> Iterator[list[WriteCall]]:
        """Dequeues the calls of one group until perf_counter() is past `until`: single calls, or batches of consecutive
        calls that may share their statements."""
        waiting = self._waiting
        while waiting and not waiting[0].long and time.perf_counter() < until:
            calls = [waiting.popleft()]
            while waiting and calls[0].is_like(waiting[0]) and len(calls) < _ALIKE:
                calls.append(waiting.popleft())
            yield calls

    def _end_thread(self) -> None:
        self._steps.put(None)
        self._thread.join()
        if self._closed is not None:
            self._closed.set_result(None)

    def _take_alike(self) -> list[WriteCall]:
        """Dequeues the first call if it is long, otherwise all calls before the next long one."""
        first = self._waiting.popleft()
        calls = [first]
        while not first.long and self._waiting and not self._waiting[0].long:
            calls.append(self._waiting.popleft())
        return calls

    def _run_beside(self, calls: list[WriteCall]) -> None:
        self._hand_over(partial(self._run_whole, calls), self._group_durable, partial(self._group_failed, calls))

    def _committed_in(self, took_s: float, outcomes: list[WriteOutcome]) -> None:
        self._pace.took(took_s)
        self._group_durable(outcomes)

    def _group_durable(self, outcomes: list[WriteOutcome]) -> None:
        try:
            self._check_place()
        except StoreUnavailable as lost:
            self._group_failed([call for call, _, _ in outcomes], lost)
            return
        if not (self.was_full and _free(self._wal.parent) < _ROOM_BYTES):
            self.has_failed = self.was_full = False
            self._outage.worked()
        for call, result, error in outcomes:
            answer = call.answer
            if answer.done():  # its caller was cancelled
                continue
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)
        wal_bytes = _size(self._wal)
        if wal_bytes >= self._empty_wal_at_bytes:
            self._hand_over(self._empty_wal, self._wal_emptied, lambda _: self._wal_emptied(wal_bytes))
        else:
            self._committed(wal_bytes)
            self._loop.call_soon(self._next_group)

    def _group_failed(self, calls: list[WriteCall], cause: BaseException) -> None:
        self._outage.failed({"calls": len(calls), "reason": str(cause)}, logging.ERROR)
        self.has_failed = True
        self.was_full = self.was_full or isinstance(store_failure(cause), StoreFull)
        self._connection, broken = None, self._connection
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(_failure(cause))
        self._hand_over(partial(_discard, broken), lambda _: self._next_group(), lambda _: self._next_group())

    def _told(self, answer: asyncio.Future[None], failure: BaseException | None) -> None:
        """Resolves the future of a step between two groups."""
        if not answer.done():
            if failure is None:
                answer.set_result(None)
            else:
                answer.set_exception(_failure(failure))
        self._loop.call_soon(self._next_group)

    def _wal_emptied(self, left_bytes: int) -> None:
        """If a reader kept part of the WAL, the next attempt comes when the WAL has grown by a quarter of the limit."""
        self._empty_wal_at_bytes = left_bytes + self._wal_limit_bytes // 4 if left_bytes else self._wal_limit_bytes
        self._committed(left_bytes)
        self._loop.call_soon(self._next_group)

    def _hand_over(
        self, step: Callable[[], _T], then: Callable[[_T], None], failed: Callable[[BaseException], None]
    ) -> None:
        """Runs `step` on the thread, then `then` with its result or `failed` with its error on the loop."""

        def take_step() -> Callable[[], None]:
            try:
                return partial(then, step())
            except BaseException as exc:  # noqa: BLE001 - `failed` passes it to the waiting callers
                return partial(failed, exc)

        self._under_way.acquire()  # never blocks: there is one step at a time
        self._steps.put(take_step)
        self._pause = self._loop.call_later(_FIRST_PAUSE_AFTER_S, self._let_thread_run, _FIRST_PAUSE_AFTER_S)

    def _let_thread_run(self, waited_s: float) -> None:
        if self._under_way.acquire(timeout=_PAUSE_S):  # the step has ended, and its callback is scheduled
            self._under_way.release()
            return
        self._pause = self._loop.call_later(waited_s * 2, self._let_thread_run, waited_s * 2)

    def _step_taken(self, then: Callable[[], None]) -> None:
        if self._pause is not None:
            self._pause.cancel()
        then()

    # --- on the thread -----------------------------------------------------------------------------------------------

    def _take_steps(self) -> None:
        while (step := self._steps.get()) is not None:
            then = step()
            self._under_way.release()
            try:
                self._loop.call_soon_threadsafe(self._step_taken, then)
            except RuntimeError:  # the loop was closed before the database, so no caller is left
                return

    def _run_whole(self, calls: list[WriteCall]) -> list[WriteOutcome]:
        """Runs a group from BEGIN to COMMIT. Opens the connection if there is none, and waits for locks."""
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        with _Patience(connection):
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [run_in_savepoint(connection, call) for call in calls]
            connection.execute("COMMIT")
        return outcomes

    def _run_between(self, step: Callable[[], None]) -> None:
        step()
        if self._connection is None:
            self._connection = self._connect()
        if self._empty_wal():
            raise StoreUnavailable(store="sqlite", reason="a reader keeps the WAL from being emptied")

    def _empty_wal(self) -> int:
        """Copies the whole WAL into the database and truncates it. Returns the WAL's size in bytes afterwards."""
        connection = self._connection
        assert connection is not None
        # Many short attempts: a long one waits for a reader's slot, which newer readers may take over again and again.
        # A backup keeps its slot to its end, so that one attempt is enough.
        until = time.perf_counter() + (0 if self._is_backed_up() else _PATIENCE_MS / 1000)
        connection.execute(f"PRAGMA busy_timeout = {_TRY_MS}")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        while busy and time.perf_counter() < until:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        left_bytes = _size(self._wal) if busy else 0
        if left_bytes:
            _log.warning("sqlite_wal_held_by_reader", extra={"wal_bytes": left_bytes})
        return left_bytes

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _Patience:
    """Lets a connection wait for locks; only for use on the thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("PRAGMA busy_timeout = 0")


def _commit(connection: sqlite3.Connection) -> float:
    """How long the disk took, in seconds."""
    began_s = time.perf_counter()
    connection.execute("COMMIT")
    return time.perf_counter() - began_s


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # missing: nothing was written yet
        return 0


def _free(folder: Path) -> int:
    """Bytes that may still be written there; as many as are wanted where that is unknown."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return _ROOM_BYTES
    return room.f_bavail * room.f_frsize


def _failure(cause: BaseException) -> SidemirrorError:
    """A new error for each caller: one exception raised in several tasks would collect all their tracebacks."""
    why = cause.facts["reason"] if isinstance(cause, StoreUnavailable) else str(cause)
    failure = store_failure(cause) or StoreUnavailable(store="sqlite", reason=why)
    failure.__cause__ = cause
    return failure


def _discard(connection: sqlite3.Connection | None) -> None:
    """Closes a connection after an error, which rolls back its transaction."""
    if connection is not None:
        connection.close()
