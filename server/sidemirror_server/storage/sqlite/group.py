"""The calls of a group commit: runs them, and undoes a single call if it fails. Used by `writer.py`."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sidemirror_server.storage.sqlite.failures import store_failure


class Alike(NamedTuple):
    """A change that can share its statements with others of its kind. `make` takes the items of several such changes in
    order, makes all of them or raises, and returns one result per item."""

    make: Callable[[sqlite3.Connection, Sequence[Any]], Sequence[Any]]
    item: Any

    def alone(self, connection: sqlite3.Connection) -> Any:
        """Makes this change only; returns its result."""
        return self.make(connection, (self.item,))[0]


class WriteCall(NamedTuple):
    """A call of `SqliteDatabase.write` and the future of its result. `alike`: the change in a form that can share its
    statements, None if it cannot."""

    change: Callable[[sqlite3.Connection], Any]
    answer: asyncio.Future[Any]
    long: bool
    alike: Alike | None = None

    def is_like(self, other: "WriteCall") -> bool:
        """Whether this call and `other` may share statements."""
        return self.alike is not None and other.alike is not None and self.alike.make is other.alike.make


class WriteOutcome(NamedTuple):
    """A call with its result or its error."""

    call: WriteCall
    result: Any
    error: Exception | None


class MustUndo(Exception):
    """A call failed after it had changed rows. `__cause__` is the call's exception."""


def run(connection: sqlite3.Connection, call: WriteCall) -> WriteOutcome:
    """Runs one call in the group's transaction. Raises errors that fail the whole group; returns errors of the call.

    Raises MustUndo when the call failed after it had changed rows.
    """
    if call.answer.cancelled():
        return WriteOutcome(call, None, None)
    changes = connection.total_changes
    try:
        return WriteOutcome(call, call.change(connection), None)
    except Exception as exc:
        if store_failure(exc) is not None or not connection.in_transaction:
            raise
        if connection.total_changes != changes:
            raise MustUndo from exc
        return WriteOutcome(call, None, _answerable(exc))


def run_together(connection: sqlite3.Connection, calls: list[WriteCall]) -> list[WriteOutcome]:
    """Runs calls of one kind with shared statements. If one of them is refused, runs each call alone.

    Raises the errors of `run`.
    """
    wanted = [call for call in calls if not call.answer.cancelled()]
    if len(wanted) < 2 or wanted[0].alike is None:
        return [run(connection, call) for call in wanted]
    changes = connection.total_changes
    try:
        results = wanted[0].alike.make(connection, [call.alike.item for call in wanted if call.alike is not None])
    except Exception as exc:
        if store_failure(exc) is not None or not connection.in_transaction:
            raise
        if connection.total_changes != changes:
            raise MustUndo from exc
        return [run(connection, call) for call in wanted]
    return [WriteOutcome(call, result, None) for call, result in zip(wanted, results, strict=True)]


def run_in_savepoint(connection: sqlite3.Connection, call: WriteCall) -> WriteOutcome:
    """Like `run`, but undoes the changes of a failed call."""
    connection.execute("SAVEPOINT call")
    try:
        outcome = run(connection, call)
    except MustUndo as undo:
        connection.execute("ROLLBACK TO call")
        outcome = WriteOutcome(call, None, _answerable(undo.__cause__))
    connection.execute("RELEASE call")
    return outcome


def _answerable(error: BaseException | None) -> Exception:
    """An error that a future accepts: futures refuse StopIteration, which `next(rows)` may raise."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError("no more rows")
