"""A sidecar that has an erased turn in memory, or a later turn of its session, writes nothing of it back.

Seen to fail with appends that did not compare how often a turn was rewritten, with first batches that did not name the
turns whose state they begin with, and with a session's newest turn that was used after it was lost."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.storage.erasure import without_carried
from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.thinking.record import Carry, SeenError
from sidemirror_server.trace.event import ThinkingWish, ToolFailed, TurnFinished, TurnStarted, UserMessage
from sidemirror_server.trace.log import Batch
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.turns import evictions
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.erasing import Eraser
from sidemirror_server.turns.head import HeadBody, head_in
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import NotFound, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.ids import EventId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from tests.erasure.test_erase import in_files
from tests.turns.house import PATIENCE_S, SCOPE, SESSION, House, event, house

WORD = "qzcanaryback"
ANNA = "anna"


class Two:
    """Two sidecars on one store: `other` serves the agent, and the one of `own` erases."""

    def __init__(self, own: House, folder: Path) -> None:
        self.own = own
        self.folder = folder / "turns"
        self.other: Conductor = own.beside(TurnLimits(finish_grace_s=PATIENCE_S))
        database, clock = own.log._database, SystemClock()
        self._clock = clock
        self._erasures = SqliteErasures(database)
        others = (SqliteGoalReflections(database), SqliteJournal(database), SqliteReceipts(database))
        self._eraser = Eraser(self._erasures, *others, own.conductor.evictions, clock, settle_s=0.0)

    async def start(self, turn_id: str, *subject_ids: str) -> LiveTurn:
        started = TurnStarted(SESSION, wish=ThinkingWish(level="off"))
        first = msgspec.structs.replace(event(f"start {turn_id}", started), subject_ids=subject_ids)
        return await self.other.start(SCOPE, TurnId(turn_id), first, started, is_new=False, wait_for_store=False)

    async def failed_turn(self, *subject_ids: str, ends: bool = True) -> LiveTurn:
        """The first turn of the session, a tool of which failed with the word."""
        turn = await self.start("t1", *subject_ids)
        self.report(turn, ToolFailed("", f"it said {WORD}"), *([TurnFinished()] if ends else []))
        return turn

    def report(self, turn: LiveTurn, *whats: ToolFailed | TurnFinished | UserMessage) -> None:
        last = turn.state.last_sequence
        self.other.report(turn, [event(f"{last}/{number}", what) for number, what in enumerate(whats)])

    async def stored(self, turn: LiveTurn) -> None:
        await self.own.recorder.wait_durable(turn, turn.state.last_sequence)

    async def erase(self, kind: SourceKind, name: str) -> None:
        await self._erasures.begin(SCOPE, "e", (key(kind, name),), self._clock.now_us())
        await self._eraser.erase(SCOPE, "e")

    def holds(self) -> int:
        return sum(in_files(self.folder, WORD).values())


@asynccontextmanager
async def two(folder: Path) -> AsyncIterator[Two]:
    async with house(folder) as own, asyncio.timeout(PATIENCE_S):
        yield Two(own, folder)


async def test_a_later_turn_is_read_anew(tmp_path: Path) -> None:
    async with two(tmp_path) as them:
        await them.stored(await them.failed_turn())
        later = await them.start("t2")
        assert WORD in later.state.tool_errors[0].text
        await them.stored(later)
        await them.erase(SourceKind.TURN, "t1")
        assert them.holds() == 0
        them.report(later, UserMessage("and now?"))
        with pytest.raises(StoreUnavailable, match="take it up again"):
            await them.stored(later)
        again = await them.other.take_up(SCOPE, TurnId("t2"))
        assert again is not later
        assert again.state.tool_errors == ()
        them.report(again, UserMessage("and now?"), TurnFinished())
        await them.stored(again)
        assert them.holds() == 0


@pytest.mark.parametrize("between", [True, False])
async def test_a_new_turn_does_not_begin_with_it(tmp_path: Path, between: bool) -> None:
    """Of the erased turn's own state, or of a later turn's that began with it: the newest of the session in memory."""
    async with two(tmp_path) as them:
        newest = await them.failed_turn()
        if between:
            newest = await them.start("t2")
            them.report(newest, TurnFinished())
        await them.stored(newest)
        await them.erase(SourceKind.TURN, "t1")
        refused = await them.start("t3")
        assert refused.state.tool_errors
        with pytest.raises(StoreUnavailable, match="take it up again"):
            await them.stored(refused)
        new = await them.start("t4")
        assert new.state.tool_errors == ()
        await them.stored(new)
        with pytest.raises(NotFound):
            await them.other.take_up(SCOPE, TurnId("t3"))
        assert them.holds() == 0


@pytest.mark.parametrize(
    ("kind", "name"), [(SourceKind.TURN, "t1"), (SourceKind.SESSION, SESSION), (SourceKind.SUBJECT, ANNA)]
)
async def test_what_is_in_memory_only_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: SourceKind, name: str
) -> None:
    """The erased turn itself, by its id, its session or its subject, and a turn that began with it."""
    monkeypatch.setattr(evictions, "_MOMENT_S", 0.1)  # the erasure waits for what is held below, and goes on
    async with two(tmp_path) as them:
        goes_on, append = asyncio.Event(), them.own.log.append

        async def held(scope: Scope, batches: tuple[Batch, ...]) -> None:
            await goes_on.wait()
            await append(scope, batches)

        monkeypatch.setattr(them.own.log, "append", held)
        turn, later = await them.failed_turn(ANNA), await them.start("t2")
        assert later.state.tool_errors
        await them.erase(kind, name)
        goes_on.set()
        with pytest.raises(WrongState, match="erased"):
            await them.stored(turn)
        with pytest.raises((StoreUnavailable, WrongState)):
            await them.stored(later)
        assert them.holds() == 0
        assert await them.own.log.heads(SCOPE, None, None, None, 9) == ()


async def test_an_erased_id_is_refused_to_its_caller(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is an answer, and no error of the server. Seen to fail with a line ERROR for each."""
    async with two(tmp_path) as them:
        await them.stored(await them.failed_turn())
        await them.erase(SourceKind.TURN, "t1")
        again = await them.other.start(
            SCOPE, TurnId("t1"), event("anew", TurnStarted(SESSION)), TurnStarted(SESSION),
            is_new=True, wait_for_store=False,
        )  # fmt: skip
        with pytest.raises(WrongState, match="erased"):
            await them.stored(again)
    assert [record.levelname for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_what_is_left_to_learn_of_a_later_turn_stays_with_it() -> None:
    """The causes in a head are the turn's own and hold no text. Seen to fail with a head that keeps what it carried."""
    carried = Carry((SeenError(EventId("e"), "sql", WORD),))
    head = msgspec.json.encode(HeadBody(task="own", unlearned=("failure",), carried=carried))
    left = without_carried(head)
    assert left is not None
    assert WORD.encode() not in left
    assert head_in(left) == HeadBody(task="own", unlearned=("failure",))


async def test_a_turn_of_somebody_else_is_not_lost(tmp_path: Path) -> None:
    async with two(tmp_path) as them:
        await them.stored(await them.failed_turn())
        later = await them.start("t2")
        await them.stored(later)
        await them.erase(SourceKind.SUBJECT, "bert")
        them.report(later, UserMessage("and now?"))
        await them.stored(later)
        new = await them.start("t3")
        await them.stored(new)
        assert new.state.tool_errors
