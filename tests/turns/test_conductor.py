"""What streams and calls cannot show from outside: what the conductor does in moments that pass at once."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.levels import ThinkLevel
from sidemirror_server.thinking.record import Recorded, Reflection, TurnSummary
from sidemirror_server.thinking.sessions import config_body
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.trace.event import Event, ToolFailed, TurnFinished
from sidemirror_server.trace.log import TurnHead, TurnStanding
from sidemirror_server.turns import recorder
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.errors import NotFound, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from tests.faults.waiting import until
from tests.turns.house import PATIENCE_S, SCOPE, SESSION, event, house


async def test_no_turn_starts_in_a_session_that_is_being_deleted(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        old = await own.start("old")
        own.report(old, TurnFinished())
        deletion = asyncio.create_task(own.conductor.delete_session(SCOPE, SESSION))
        await own.sessions.deleting.wait()
        start = asyncio.create_task(own.start("new"))
        own.sessions.let_go.set()
        await deletion
        new = await start

        # The session begins anew, and its turn is the one that is kept.
        assert new.state.turn_count == 1
        assert own.conductor.in_memory(SCOPE, TurnId("old")) is None
        own.report(new, TurnFinished())
        await own.recorder.wait_durable(new, new.state.last_sequence)
        assert (await own.log.read(SCOPE, TurnId("new"), 0, 10, 2**20))[-1].sequence == 4
        assert new.lost is None


async def test_a_session_is_not_deleted_under_a_turn_that_is_about_to_end(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.desk.model.gate.clear()
        own.sessions.let_go.set()
        turn = await own.start("turn")
        own.report(turn, ToolFailed("", "gone"), TurnFinished())
        assert turn.finishing is not None
        deletion = asyncio.create_task(own.conductor.delete_session(SCOPE, SESSION))
        await own.recorder.wait_durable(turn, turn.state.last_sequence)
        assert not deletion.done()
        own.desk.model.gate.set()
        await deletion

        assert (turn.lost, turn.over, turn.durable) == (None, True, turn.state.last_sequence)
        assert await own.log.head(SCOPE, TurnId("turn")) is None


async def test_a_reflection_on_a_failure_waits_for_no_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when the claim of a reflection is appended at once."""
    monkeypatch.setattr(recorder, "LINGER_S", 2 * PATIENCE_S)
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.start("turn")
        await own.recorder.wait_durable(turn, begun := turn.state.last_sequence)
        own.report(turn, ToolFailed("", "gone"))
        await until(lambda: any(isinstance(said.directive.what, Reflection) for said in turn.said))
        assert turn.durable == begun
        # Whoever waits for it hurries the append of all of it.
        await own.recorder.wait_durable(turn, turn.state.last_sequence)
        assert turn.durable == begun + 3


async def test_a_session_with_an_open_turn_is_not_deleted(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.sessions.let_go.set()
        turn = await own.start("turn")
        with pytest.raises(WrongState):
            await own.conductor.delete_session(SCOPE, SESSION)
        with pytest.raises(NotFound):
            await own.conductor.delete_session(SCOPE, SessionId("other"))
        assert own.conductor.in_memory(SCOPE, TurnId("turn")) is turn


async def test_a_turn_that_waits_for_a_reflection_ends_when_the_server_goes_away(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.desk.model.gate.clear()
        turn = await own.start("turn")
        own.report(turn, ToolFailed("", "gone"), TurnFinished("success"))
        own.conductor.evictions.give_up_all()
        await own.recorder.drain()

        head = await own.log.head(SCOPE, TurnId("turn"))
        assert head is not None
        assert (head.standing, head.last_sequence) == (TurnStanding.FINISHED, turn.durable)
        reflection, summary = (item.directive.what for item in list(turn.said)[-2:])
        assert isinstance(reflection, Reflection)
        assert reflection.status is ResultStatus.FAILED_MODEL
        assert isinstance(summary, TurnSummary)
        assert summary.outcome == "success"
        assert turn.finishing is None


async def test_what_was_not_known_of_a_session_is_looked_up_when_the_store_is_back(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        config = ThinkingConfig(level=ThinkLevel.HIGH)
        await own.sessions.create(SCOPE, SessionRecord(SESSION, config_body(config), 1, 1))
        own.sessions.is_away = True
        blind = await own.start("blind", level=None)
        assert (blind.plan.config.level, blind.plan.turn_count) == (ThinkLevel.OFF, 1)
        assert blind.plan.warnings[0] == "the store is away: the session's earlier turns are not known"
        own.report(blind, ToolFailed("", "gone"))
        own.sessions.is_away = False
        seeing = await own.start("seeing", level=None)

        assert (seeing.plan.config.level, seeing.plan.turn_count) == (ThinkLevel.HIGH, 2)
        assert seeing.plan.warnings == ()
        assert [error.text for error in seeing.state.tool_errors] == ["gone"]


async def test_what_a_turn_that_was_taken_up_again_has_seen_is_handed_on(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.start("first", level="off")
        await own.recorder.wait_durable(turn, turn.state.last_sequence)
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.conductor.take_up(SCOPE, TurnId("first"))
        own.report(turn, ToolFailed("", "gone"))
        second = await own.start("second", level="off")

        assert [error.text for error in second.state.tool_errors] == ["gone"]
        assert second.plan.turn_count == 2


async def test_a_turn_that_cannot_be_read_does_not_keep_the_others_from_being_abandoned(tmp_path: Path) -> None:
    async with house(tmp_path) as before, asyncio.timeout(PATIENCE_S):
        for turn_id in ("bad", "good"):
            turn = await before.start(turn_id)
            await before.recorder.wait_durable(turn, 2)
    with contextlib.closing(sqlite3.connect(next((tmp_path / "turns").rglob("sidemirror.db")))) as database, database:
        database.execute("UPDATE log_entries SET body = x'7b7d' WHERE key = 'bad' AND sequence = 1")
    async with house(tmp_path, TurnLimits(abandon_after_s=0.0)) as after:
        await after.conductor.evictions.sweep()
        with pytest.raises(StoreUnavailable, match="entry 1 cannot be read"):
            await after.conductor.take_up(SCOPE, TurnId("bad"))
        good = await after.conductor.take_up(SCOPE, TurnId("good"))
        assert good.state.standing is TurnStanding.ABANDONED


@pytest.mark.parametrize("limit", [{"turns_at_hand": 12}, {"bytes_at_hand": 10_000}])
async def test_turns_that_are_begun_and_never_ended_leave_memory(limit: dict[str, int], tmp_path: Path) -> None:
    """Those that nobody follows, the eldest first, and no more than is needed; they go on when they are spoken of. Seen
    to fail when `start`, or `_find`, does not make room, when a turn that is followed leaves, and when `forget` does
    not take its bytes off."""
    async with house(tmp_path, TurnLimits(**limit, crowded_evict_after_s=0.0)) as own, asyncio.timeout(PATIENCE_S):
        followed = await own.start("followed")
        listener = followed.listen(0)

        async def begin(name: str) -> None:
            for number in range(40):
                await own.start(f"{name}{number}")
                if number % 4 == 3:
                    await own.recorder.drain()

        def held(turn_id: str) -> bool:
            return own.conductor.in_memory(SCOPE, TurnId(turn_id)) is not None

        await begin("t")
        # Four at most come between two appends, and four at most leave at once.
        most = 12 if "turns_at_hand" in limit else 10_000 // followed.recorded_bytes
        assert most - 4 <= len(own.conductor) <= most + 4
        assert held("followed")
        assert held("t39")
        assert not held("t0")
        for number in range(40):
            await own.conductor.take_up(SCOPE, TurnId(f"t{number}"))
            assert most - 4 <= len(own.conductor) <= most + 4
        again = await own.conductor.take_up(SCOPE, TurnId("t0"))
        own.report(again, ToolFailed("", "gone"))
        await own.recorder.drain()
        assert (again.lost, again.state.event_count, again.durable) == (None, 2, again.state.last_sequence)
        assert own.conductor.in_memory(SCOPE, TurnId("followed")) is followed
        listener.close()
        await begin("u")
        assert not held("followed")


@pytest.mark.parametrize(("due_s", "completes"), [(0.0, True), (3600.0, False)])
async def test_another_server_is_given_time_for_its_summary(due_s: float, completes: bool, tmp_path: Path) -> None:
    """Seen to fail when `completed` does not look at `summary_due_s`."""
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.desk.model.gate.clear()
        turn = await own.start("turn")
        own.report(turn, ToolFailed("", "gone"), TurnFinished())
        await own.recorder.wait_durable(turn, turn.state.last_sequence)
        beside = own.beside(TurnLimits(summary_due_s=due_s))
        found = await beside.completed(SCOPE, TurnId("turn"))
        assert (found is not None and found.over) is completes
        own.desk.model.gate.set()


class Forgetting:
    """A log whose turn is deleted by another server between the look at its head and the read of its entries."""

    def __init__(self, log: SqliteTurnLog, forget: Callable[[], Awaitable[None]]) -> None:
        self._log, self._forget = log, forget

    async def head(self, scope: Scope, turn_id: TurnId) -> TurnHead | None:
        found = await self._log.head(scope, turn_id)
        await self._forget()
        return found

    def __getattr__(self, verb: str) -> object:
        return getattr(self._log, verb)


async def test_a_turn_that_is_deleted_while_it_is_read_is_not_found(tmp_path: Path) -> None:
    """Seen to fail when `_find` holds what it has read of a turn without entries: an open turn without an id."""
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        own.sessions.let_go.set()
        turn = await own.start("turn")
        own.report(turn, TurnFinished())
        await own.recorder.wait_durable(turn, turn.state.last_sequence)
        beside = own.beside(TurnLimits())
        beside._log = cast("SqliteTurnLog", Forgetting(own.log, lambda: own.sessions.delete(SCOPE, SESSION)))
        with pytest.raises(NotFound):
            await beside.take_up(SCOPE, TurnId("turn"))
        assert len(beside) == 0


async def test_others_go_on_while_a_long_turn_is_read_back(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.start("turn")
        own.report(turn, *[ToolFailed("", f"gone {number}") for number in range(1_000)])
        await own.recorder.wait_durable(turn, turn.state.last_sequence)
        reading = asyncio.create_task(own.beside(TurnLimits()).take_up(SCOPE, TurnId("turn")))
        others_went_on = 0
        while not reading.done():
            await asyncio.sleep(0)
            others_went_on += 1

        assert (await reading).state.event_count == 1_001
        assert others_went_on >= 10


async def test_of_many_turns_that_are_asked_for_at_once_the_first_go_on_before_the_last_are_read(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        names = [TurnId(f"t{number}") for number in range(20)]
        for name in names:
            turn = await own.start(name)
            own.report(turn, *[ToolFailed("", f"gone {number}") for number in range(500)])
            await own.recorder.wait_durable(turn, turn.state.last_sequence)
        beside = own.beside(TurnLimits())
        read: set[str] = set()
        restore = LiveTurn.restore

        def restored(turn: LiveTurn, sequence: int, at_us: int, recorded: Recorded, size_bytes: int = 0) -> None:
            read.add(turn.state.turn_id)
            restore(turn, sequence, at_us, recorded, size_bytes)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LiveTurn, "restore", restored)
            reading = [asyncio.create_task(beside.take_up(SCOPE, name)) for name in names]
            await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
            assert len(read - {""}) <= 10
            await asyncio.gather(*reading)
        assert len(read - {""}) == len(names)


async def test_others_go_on_while_many_events_are_taken_in(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.start("turn")
        taking = asyncio.create_task(own.conductor.take_in(turn, _failures(500)))
        others_went_on = 0
        while not taking.done():
            await asyncio.sleep(0)
            others_went_on += 1

        assert len(set(await taking)) == 500
        assert others_went_on >= 9


async def test_no_events_come_between_those_of_one_request(tmp_path: Path) -> None:
    """The same request again, and the turn's end, wait until all of it is taken in."""
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.start("turn")
        end = event("end", TurnFinished())
        first, again, last = await asyncio.gather(
            own.conductor.take_in(turn, _failures(200)),
            own.conductor.take_in(turn, _failures(200)),
            own.conductor.take_in(turn, [end]),
        )

        assert again == first
        assert last[0] > max(first)
        assert turn.state.event_count == 202


async def test_all_events_of_a_request_are_taken_in_although_its_caller_leaves(tmp_path: Path) -> None:
    """Seen to fail when what is left is dropped."""
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.start("turn")
        taking = asyncio.create_task(own.conductor.take_in(turn, _failures(200)))
        await asyncio.sleep(0)
        assert 1 < turn.state.event_count < 201
        taking.cancel()
        await asyncio.wait([taking])

        assert turn.state.event_count == 201
        await own.recorder.wait_durable(turn, turn.state.last_sequence)


def _failures(number: int) -> list[Event]:
    return [event(f"e{one}", ToolFailed("", f"gone {one}")) for one in range(number)]
