"""The calls of a group commit: running them, and undoing one alone when it fails. Used by `writer.py`."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sidemirror_server.storage.sqlite.failures import store_failure


class Alike(NamedTuple):
    """One of many changes of a kind that can be made with the same statements: `make` takes the items of some of them,
    in order, makes all or raises, and returns what came of each."""

    make: Callable[[sqlite3.Connection, Sequence[Any]], Sequence[Any]]
    item: Any

    def alone(self, connection: sqlite3.Connection) -> Any:
        """This change without others."""
        return self.make(connection, (self.item,))[0]


class WriteCall(NamedTuple):
    """What one caller of `Database.write` wants done, and where it waits for the answer. `alike`: the change is one of
    these."""

    change: Callable[[sqlite3.Connection], Any]
    answer: asyncio.Future[Any]
    long: bool
    alike: Alike | None = None

    def is_like(self, other: "WriteCall") -> bool:
        """Whether both may share their statements."""
        return self.alike is not None and other.alike is not None and self.alike.make is other.alike.make


class WriteOutcome(NamedTuple):
    """What came of a call: its result, or the error that is its own."""

    call: WriteCall
    result: Any
    error: Exception | None


class MustUndo(Exception):
    """A call failed and left changes behind. Its cause is what the call raised."""


def run(connection: sqlite3.Connection, call: WriteCall) -> WriteOutcome:
    """One call within the group's transaction. Raises what makes the whole group fail; anything else is the call's.

    Raises MustUndo when the call failed after it had changed something.
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
    """Calls whose changes are of one kind, with the same statements; each by itself when one of them is refused.

    Raises what `run` raises.
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
    """The same, and what a call has changed that fails is undone."""
    connection.execute("SAVEPOINT call")
    try:
        outcome = run(connection, call)
    except MustUndo as undo:
        connection.execute("ROLLBACK TO call")
        outcome = WriteOutcome(call, None, _answerable(undo.__cause__))
    connection.execute("RELEASE call")
    return outcome


def _answerable(error: BaseException | None) -> Exception:
    """The error as a future takes it: it refuses StopIteration, which `next(rows)` raises easily."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError("no more rows")
