"""Outcomes join their lessons: once, however often and by however many they are told, and over nobody's change."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from sidemirror_server.memory.record import Change, Lesson, MemoryRecord, MemoryState, Revision, TaskOutcome
from sidemirror_server.memory.trials.evidence import Arm, Counts, LessonVerdict
from sidemirror_server.memory.trials.outcomes import Outcomes, returned
from sidemirror_server.memory.trials.trials import Settled, Trial
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKind
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import ONE, T0, memory


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    async with sqlite_database(tmp_path) as opened:
        await SqliteMemories(opened).learn(ONE, Lesson(memory("m", "said")), T0)
        yield opened


def outcomes(
    database: SqliteDatabase, trials: SqliteTrials | None = None, memories: SqliteMemories | None = None
) -> Outcomes:
    return Outcomes(
        memories or SqliteMemories(database), trials or SqliteTrials(database), SqliteReceipts(database), SystemClock()
    )


async def drawn(database: SqliteDatabase, number: int, arm: Arm, version: int = 1) -> Receipt:
    """The receipt of a task that the lesson was drawn for."""
    receipt = Receipt(f"r{number}", ReceiptKind.MEMORY, T0 + number)
    return await SqliteTrials(database).issue(ONE, receipt, [Trial("m", version, arm, 0.5)])


def outcome(receipt: Receipt, arm: Arm) -> TaskOutcome:
    """With the lesson every task fails, without it none."""
    return TaskOutcome(receipt.receipt_id, "failure" if arm is Arm.SHOWN else "success", T0)


async def told(database: SqliteDatabase, first: int, last: int) -> list[tuple[Receipt, TaskOutcome]]:
    every = []
    for number in range(first, last):
        arm = list(Arm)[number % 2]
        receipt = await drawn(database, number, arm)
        every.append((receipt, outcome(receipt, arm)))
    return every


async def test_what_harms_is_retired_once(database: SqliteDatabase) -> None:
    """Many sidecars hear of it at the same time."""
    every = await told(database, 0, 80)
    for receipt, one in every[:50]:
        await outcomes(database).report(ONE, receipt, one, None)
    await asyncio.gather(*(outcomes(database).report(ONE, receipt, one, None) for receipt, one in every[50:]))
    versions = await SqliteMemories(database).versions(ONE, "m", None, 10)
    assert [(one.version, one.state, one.change) for one in versions] == [
        (2, MemoryState.RETIRED, Change.JUDGED),
        (1, MemoryState.ACTIVE, Change.LEARNED),
    ]
    (judged,) = await outcomes(database).of(ONE, ["m"])
    assert (judged.evidence.verdict, judged.evidence.shown) == (LessonVerdict.HARMS, Counts(40, 0, 40))


class ChangedMeanwhile(SqliteMemories):
    """Somebody changes a memory whenever it was read."""

    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]:
        found = await super().get(scope, memory_ids)
        for one in found:
            await self.revise(scope, one.memory_id, Revision(Change.UPDATED, importance=0.9), T0)
        return found


async def test_nobodys_change_is_written_over(database: SqliteDatabase) -> None:
    """It is looked at again with the next outcome. Seen to fail when the revision names no version."""
    *every, last = await told(database, 0, 80)
    for receipt, one in every:
        await outcomes(database, memories=ChangedMeanwhile(database)).report(ONE, receipt, one, None)
    (kept,) = await SqliteMemories(database).get(ONE, ("m",))
    assert (kept.state, kept.change) == (MemoryState.ACTIVE, Change.UPDATED)
    await outcomes(database).report(ONE, *last, None)
    (kept,) = await SqliteMemories(database).get(ONE, ("m",))
    assert (kept.state, kept.importance) == (MemoryState.RETIRED, 0.9)


class GoneOnce(SqliteTrials):
    """The store goes away between the outcome and its trials, once."""

    is_away = True

    async def settle(self, scope: Scope, receipt_id: str, settled: Sequence[Settled], now_us: int) -> None:
        if self.is_away:
            self.is_away = False
            raise StoreUnavailable
        await super().settle(scope, receipt_id, settled, now_us)


async def test_a_report_that_broke_off_is_finished_by_its_repeat(database: SqliteDatabase) -> None:
    receipt = await drawn(database, 1, Arm.SHOWN)
    own = outcomes(database, GoneOnce(database))
    with pytest.raises(StoreUnavailable):
        await own.report(ONE, receipt, outcome(receipt, Arm.SHOWN), None)
    for _ in range(2):
        await own.report(ONE, receipt, outcome(receipt, Arm.SHOWN), None)
        (judged,) = await own.of(ONE, ["m"])
        assert judged.evidence.shown == Counts(1, 0, 1)


async def test_what_was_shown_without_a_draw(database: SqliteDatabase) -> None:
    """Lessons of goals are none of ours; a memory that is gone is passed over."""
    items = tuple(ReceiptItem(name, 1, kind, b"") for name, kind in (("m", "reflection"), ("g", "goal_reflection")))
    receipt = Receipt("turn", ReceiptKind.TURN, T0, (*items, ReceiptItem("gone", 1, "strategy", b"")))
    await outcomes(database).report(ONE, receipt, TaskOutcome("turn", "success", T0), None)
    assert await SqliteTrials(database).lessons(ONE, None, 10) == ("m", "gone")
    judged, below = await outcomes(database).page(ONE, None, 10)
    assert [(one.memory.memory_id, one.evidence.outside) for one in judged] == [("m", Counts(1, 1))]
    assert below is None


async def test_a_turn_is_one_task_with_however_many_blocks(database: SqliteDatabase) -> None:
    """In the order in which they are reported, and told again. Seen to fail with a task for each block."""
    items = (ReceiptItem("m", 1, "reflection", b""),)
    own = outcomes(database)
    blocks = [
        await SqliteReceipts(database).issue(ONE, Receipt(name, ReceiptKind.MEMORY, T0 + at, items, turn_id="t"))
        for at, name in enumerate(("plan", "recalled"))
    ]
    for receipt in (*blocks, *blocks):
        await own.report(ONE, receipt, TaskOutcome(receipt.receipt_id, "failure", T0), None)
    (judged,) = await own.of(ONE, ["m"])
    assert judged.evidence.outside == Counts(1, 0, 1)


def test_whether_an_error_returned() -> None:
    about = memory("m", error_signature="bash|not_found|missing_command jq")
    assert returned(about, {"bash|not_found|missing_command jq", "other"}) is True
    assert returned(about, set()) is False
    assert returned(about, None) is None
    assert returned(memory("m"), {"other"}) is None
    assert returned(None, {"other"}) is None
