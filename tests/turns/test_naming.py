"""What the wire cannot show of a session that is named late: moments between two calls, and a store that is away."""

import asyncio
from pathlib import Path

import pytest

from sidemirror_server.trace.event import SessionNamed, ThinkingWish, ToolFailed, TurnStarted
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from tests.turns.house import PATIENCE_S, SCOPE, SESSION, House, event, house

NAMED = event("name", SessionNamed(SESSION))


async def own_turn(own: House, turn_id: str) -> LiveTurn:
    """A turn in a session of its own."""
    started = TurnStarted(f"own {turn_id}", wish=ThinkingWish(level="medium"), own_session=True)
    begin = event("start", started)
    return await own.conductor.start(SCOPE, TurnId(turn_id), begin, started, is_new=False, wait_for_store=False)


async def test_two_turns_that_are_named_at_once_follow_each_other(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turns = [await own_turn(own, str(number)) for number in range(5)]
        own.sessions.is_slow = True
        await asyncio.gather(*(own.conductor.take_in(turn, [NAMED]) for turn in turns))
        assert sorted(turn.state.turn_count for turn in turns) == [1, 2, 3, 4, 5]
        next_one = await own.start("next")
        assert next_one.state.turn_count == 6
        await own.recorder.drain()
        assert {head.session_id for head in await own.log.heads(SCOPE, None, None, None, 10)} == {SESSION}


async def test_two_names_at_once_are_one(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own_turn(own, "t")
        other = event("other", SessionNamed("other"))
        own.sessions.is_slow = True
        named = await asyncio.gather(
            own.conductor.take_in(turn, [NAMED]), own.conductor.take_in(turn, [other]), return_exceptions=True
        )
        assert named[0] == [3]
        assert isinstance(named[1], BadInput)
        assert turn.state.session_id == SESSION


async def test_a_turn_is_named_while_the_store_is_away(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own_turn(own, "t")
        own.sessions.is_away = True
        await own.conductor.take_in(turn, [NAMED])
        own.sessions.is_away = False
        await own.recorder.drain()
        head = await own.log.head(SCOPE, TurnId("t"))
        assert head is not None
        assert head.session_id == SESSION


async def test_another_server_reads_the_turn_with_its_name(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        first = await own.start("first")
        own.report(first, ToolFailed("", "gone"))
        own.conductor.evictions.give_up_all()
        turn = await own_turn(own, "t")
        await own.conductor.take_in(turn, [NAMED])
        await own.recorder.drain()
        beside = await own.beside(own.conductor._limits).take_up(SCOPE, TurnId("t"))
        assert [error.text for error in beside.state.tool_errors] == ["gone"]
        assert (beside.state.session_id, beside.state.turn_count) == (SESSION, 2)
        newest = await own.conductor.take_up_named(SCOPE, "", SESSION)
        assert newest is turn


async def test_an_open_turn_without_the_mark_keeps_its_session(tmp_path: Path) -> None:
    async with house(tmp_path) as own, asyncio.timeout(PATIENCE_S):
        turn = await own.start("t")
        with pytest.raises(BadInput):
            await own.conductor.take_in(turn, [event("name", SessionNamed("other"))])
        assert turn.state.session_id == SessionId("s")
