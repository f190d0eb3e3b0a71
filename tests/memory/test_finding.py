"""How long the counts of a signature are used: what may be told is told on while it is counted anew, and what may not
be told is looked at again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror_server.memory.recoveries import moves
from sidemirror_server.memory.recoveries.deciding import FailedAttempt
from sidemirror_server.memory.recoveries.finding import FRESH_S, RecoveryFinder
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, Observation, recovery_id
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.observations import SqliteObservations
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.vocabulary.block import ContextBlock
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.silence import SilenceReason
from tests.adapters.sqlite_store import sqlite_database
from tests.faults.clocks import SetClock
from tests.faults.waiting import until
from tests.memory.test_review import from_spans
from tests.memory.trails import SCOPE, SHOW_TABLES, SIGNATURE, row
from tests.policy.made import policies_on

FAILED = FailedAttempt(SIGNATURE, is_json=False)


class Rows(SqliteObservations):
    """Rows in the test's hand, and how often they were read. A read that has begun goes on when it is let go."""

    rows: tuple[Observation, ...] = ()
    reads = 0
    let_go: asyncio.Event | None = None
    bug: Exception | None = None

    async def of_signature(self, scope: Scope, signature: str) -> tuple[Observation, ...]:
        self.reads += 1
        found = self.rows if (scope, signature) == (SCOPE, SIGNATURE) else ()
        if self.let_go is not None:
            await self.let_go.wait()
        if self.bug is not None:
            raise self.bug
        return found


class Finding(msgspec.Struct, frozen=True):
    """A finder on these rows."""

    rows: Rows
    clock: SetClock
    finder: RecoveryFinder

    async def told(self, number: int) -> str:
        """What is told at a failure, empty if nothing is."""
        return (await self.finder.find(SCOPE, FAILED, f"receipt {number}")).block.text.partition("• ")[2]


@pytest.fixture
async def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Finding]:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with sqlite_database(tmp_path) as database:
        clock, rows = SetClock(), Rows(database)
        policies = policies_on(database, clock)
        finder = RecoveryFinder(rows, SqliteTrials(database), policies, clock)
        yield Finding(rows, clock, finder)


def tries(count: int) -> tuple[Observation, ...]:
    return tuple(row(number) for number in range(1, count + 1))


def sentence(count: int) -> str:
    return f"In {count} of {count} earlier tries the call worked after `SHOW TABLES`."


async def test_the_try_that_was_missing_is_noticed(own: Finding) -> None:
    own.rows.rows = tries(4)
    assert [await own.told(1), await own.told(2), own.rows.reads] == ["", "", 1]
    own.rows.rows = tries(5)
    own.clock.advance(FRESH_S + 0.1)
    assert await own.told(3) == sentence(5)


async def test_what_is_told_is_told_on_while_it_is_counted_anew(own: Finding) -> None:
    own.rows.rows = tries(5)
    assert await own.told(1) == sentence(5)
    own.rows.rows = tries(6)
    own.clock.advance(FRESH_S + 0.1)
    assert await own.told(2) == sentence(5)
    await until(lambda: own.rows.reads == 2 and not own.finder._reading, within_s=20)
    assert await own.told(3) == sentence(6)


async def test_what_was_told_long_ago_is_read_first(own: Finding) -> None:
    """Ten seconds: all of it may have been erased."""
    own.rows.rows = tries(5)
    assert await own.told(1) == sentence(5)
    own.rows.rows = ()
    own.clock.advance(10.1)
    assert await own.told(2) == ""


async def test_a_host_with_a_shell_is_not_told_names_that_spans_sent(own: Finding) -> None:
    """And no receipt says that it was. Seen to fail where only the turn's last filter takes it away."""
    looked_up = Move(MoveKind.LOOKED_UP, ("list_tables",), are_tools=True)
    own.rows.rows = tuple(from_spans([row(number, looked_up) for number in range(1, 8)]))
    in_shell = msgspec.structs.replace(FAILED, has_shell=True)
    found = await own.finder.find(SCOPE, in_shell, "receipt 1")
    assert (found.block, found.kept) == (ContextBlock(), ContextBlock())
    assert found.silence is not None
    assert found.silence.reason == SilenceReason.SHELL
    assert "`list_tables`" in await own.told(1)
    # A reviewed look-up is no name of anybody's.
    own.rows.rows = tuple(from_spans([row(number) for number in range(1, 8)]))
    await own.finder.learned(SCOPE, [SIGNATURE])
    found = await own.finder.find(SCOPE, in_shell, "receipt 2")
    assert "`SHOW TABLES`" in found.block.text


async def test_what_was_learned_here_counts_at_once(own: Finding) -> None:
    own.rows.rows = tries(4)
    assert await own.told(1) == ""
    for count in (5, 6):
        own.rows.rows = tries(count)
        await own.finder.learned(SCOPE, [SIGNATURE])
        assert await own.told(count) == sentence(count)


async def test_who_asks_at_once_waits_for_one_read(own: Finding) -> None:
    """A failing call is looked up twice at once: for what is told, and for what a nudge may say. One of them that is
    given up takes nothing from the other."""
    own.rows.rows, own.rows.let_go = tries(5), asyncio.Event()
    asked = [asyncio.create_task(own.told(1)) for _ in range(2)]
    await until(lambda: own.rows.reads == 1, within_s=20)
    asked[0].cancel()
    repeats = asyncio.create_task(own.finder.repeats(SCOPE, SIGNATURE))
    own.rows.let_go.set()
    assert (await asked[1], await repeats, own.rows.reads) == (sentence(5), None, 1)
    assert own.finder.told_as(SCOPE, SIGNATURE, recovery_id(SIGNATURE, SHOW_TABLES)) == SHOW_TABLES
    assert own.finder.told_as(SCOPE, SIGNATURE, "another") is None


async def test_what_was_read_before_something_was_learned_is_not_held(own: Finding) -> None:
    own.rows.rows, own.rows.let_go = tries(4), asyncio.Event()
    reading = asyncio.create_task(own.told(1))
    await until(lambda: own.rows.reads == 1, within_s=20)
    own.rows.rows = tries(5)
    await own.finder.learned(SCOPE, [SIGNATURE])
    own.rows.let_go.set()
    assert await reading == ""
    assert await own.told(2) == sentence(5)


async def test_what_is_learned_of_another_failure_leaves_a_read_alone(own: Finding) -> None:
    """Seen to fail: on a busy sidecar hardly any read was held, and each failing call asked the store."""
    own.rows.rows, own.rows.let_go = tries(5), asyncio.Event()
    reading = asyncio.create_task(own.told(1))
    await until(lambda: own.rows.reads == 1, within_s=20)
    await own.finder.learned(SCOPE, ["another"])
    own.rows.let_go.set()
    assert await reading == sentence(5)
    assert (await own.told(2), own.rows.reads) == (sentence(5), 1)


async def test_a_bug_in_a_read_that_nobody_waits_for_is_in_the_log(
    own: Finding, caplog: pytest.LogCaptureFixture
) -> None:
    """What is told is told on meanwhile. Seen to fail: nothing said that there was a bug."""
    own.rows.rows = tries(5)
    assert await own.told(1) == sentence(5)
    own.rows.rows, own.rows.bug = tries(6), RuntimeError("a bug")
    own.clock.advance(FRESH_S + 0.1)
    assert await own.told(2) == sentence(5)
    await until(lambda: own.rows.reads == 2 and not own.finder._reading, within_s=20)
    (line,) = [one for one in caplog.records if one.message == "recoveries_not_read"]
    assert line.levelname == "ERROR"
    assert line.exc_info is not None
    assert line.exc_info[1] is own.rows.bug
    own.rows.bug = None
    assert await own.told(3) == sentence(5)
    await until(lambda: own.rows.reads == 3 and not own.finder._reading, within_s=20)
    assert await own.told(4) == sentence(6)


async def test_a_receipt_and_its_trial_are_one_write(own: Finding, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail with a receipt that is issued first."""
    writes, write = 0, SqliteDatabase.write

    async def counted(database: SqliteDatabase, *given: Any, **how: Any) -> Any:
        nonlocal writes
        writes += 1
        return await write(database, *given, **how)

    monkeypatch.setattr(SqliteDatabase, "write", counted)
    own.rows.rows = tries(5)
    assert await own.told(1) == sentence(5)
    assert writes == 1
