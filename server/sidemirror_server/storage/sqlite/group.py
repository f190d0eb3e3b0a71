"""One call within a group commit: running it, and undoing it alone when it fails. Used by `writer.py`."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

from sidemirror_server.storage.sqlite.failures import store_failure


class Call(NamedTuple):
    """What one caller of `Database.write` wants done, and where it waits for the answer."""

    change: Callable[[sqlite3.Connection], Any]
    answer: asyncio.Future[Any]
    long: bool


class Outcome(NamedTuple):
    """What came of a call: its result, or the error that is its own."""

    call: Call
    result: Any
    error: Exception | None


class MustUndo(Exception):
    """A call failed and left changes behind. Its cause is what the call raised."""


def run(connection: sqlite3.Connection, call: Call) -> Outcome:
    """One call within the group's transaction. Raises what makes the whole group fail; anything else is the call's.

    Raises MustUndo when the call failed after it had changed something.
    """
    if call.answer.cancelled():
        return Outcome(call, None, None)
    changes = connection.total_changes
    try:
        return Outcome(call, call.change(connection), None)
    except Exception as exc:
        if store_failure(exc) is not None or not connection.in_transaction:
            raise
        if connection.total_changes != changes:
            raise MustUndo from exc
        return Outcome(call, None, _answerable(exc))


def run_in_savepoint(connection: sqlite3.Connection, call: Call) -> Outcome:
    """The same, and what a call has changed that fails is undone."""
    connection.execute("SAVEPOINT call")
    try:
        outcome = run(connection, call)
    except MustUndo as undo:
        connection.execute("ROLLBACK TO call")
        outcome = Outcome(call, None, _answerable(undo.__cause__))
    connection.execute("RELEASE call")
    return outcome


def _answerable(error: BaseException | None) -> Exception:
    """The error as a future takes it: it refuses StopIteration, which `next(rows)` raises easily."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError("no more rows")
