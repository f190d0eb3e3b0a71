"""A turn that goes on without this process: another server has taken it over, or a part of it is erased."""

import asyncio
import logging
from pathlib import Path

import pytest
from grpc import StatusCode

from sidemirror_server.rpc.boundary.status import TABLE, row_of, status_of
from sidemirror_server.rpc.thinking.turns import until as until_found
from sidemirror_server.trace.event import ToolFailed, TurnFinished, UserMessage
from sidemirror_server.trace.log import Batch
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.errors import StoreUnavailable, WrongState
from sidemirror_server.vocabulary.scope import Scope
from tests.turns.house import PATIENCE_S, SCOPE, SESSION, House, event, house


async def durable(there: House) -> LiveTurn:
    """A turn whose entries are all durable."""
    turn = await there.start("t")
    await there.recorder.wait_durable(turn, turn.state.last_sequence)
    return turn


def let_go(there: House, turn: LiveTurn) -> None:
    there.conductor.evictions.let_go(SCOPE, turn.state.turn_id, is_erased=True)


async def test_what_waited_for_the_store_waits_no_longer(tmp_path: Path) -> None:
    """Seen to fail: such a turn was counted for ever, until no project had room for what waits."""
    async with house(tmp_path) as there, asyncio.timeout(PATIENCE_S):
        turn = await durable(there)
        there.report(turn, UserMessage("go on"))
        let_go(there, turn)
        await there.recorder.drain()
        assert (there.recorder.waiting_bytes, there.recorder.lag_s(asyncio.get_running_loop().time())) == (0, 0)


async def test_an_append_that_was_under_way_is_not_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail: fewer bytes than none waited then."""
    async with house(tmp_path) as there, asyncio.timeout(PATIENCE_S):
        turn = await durable(there)
        begun, goes_on, append = asyncio.Event(), asyncio.Event(), there.log.append

        async def slow(scope: Scope, batches: tuple[Batch, ...]) -> None:
            begun.set()
            await goes_on.wait()
            await append(scope, batches)

        monkeypatch.setattr(there.log, "append", slow)
        there.report(turn, UserMessage("go on"))
        await begun.wait()
        let_go(there, turn)
        goes_on.set()
        await there.recorder.drain()
        assert (turn.pending_bytes, there.recorder.waiting_bytes) == (0, 0)


async def test_who_waits_for_its_end_is_told(tmp_path: Path) -> None:
    """Seen to fail: FinishTurn without a deadline waited for ever for the summary."""
    async with house(tmp_path) as there, asyncio.timeout(PATIENCE_S):
        turn = await durable(there)
        there.report(turn, ToolFailed("c", "timed out"))
        assert turn.tasks
        there.report(turn, TurnFinished())
        waiting = asyncio.create_task(until_found(turn, lambda: turn.state.summary))
        await asyncio.sleep(0)
        let_go(there, turn)
        with pytest.raises(WrongState):
            await waiting


async def test_what_is_in_progress_for_it_ends(tmp_path: Path) -> None:
    """Seen to fail: a reflection that was paid for went on, and was recorded in the lost turn."""
    async with house(tmp_path) as there, asyncio.timeout(PATIENCE_S):
        turn = await durable(there)
        there.report(turn, ToolFailed("c", "timed out"))
        (task,) = turn.tasks.values()
        turn.lose(WrongState("turn", "t", "erased"))
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_is_said_of_a_turn_that_another_server_has_gone_on_with(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail: it was said that the store did not answer, which had."""
    async with house(tmp_path) as there, asyncio.timeout(PATIENCE_S):
        turn = await durable(there)
        other = there.beside(TurnLimits())
        elsewhere = await other.take_up(SCOPE, turn.state.turn_id)
        other.report(elsewhere, [event("elsewhere", UserMessage("I go on"))])
        await there.recorder.wait_durable(elsewhere, elsewhere.state.last_sequence)
        there.report(turn, UserMessage("and I"))
        with pytest.raises(StoreUnavailable) as caught:
            await there.recorder.wait_durable(turn, turn.state.last_sequence)
    status = status_of(caught.value)
    assert status.message.startswith("The turn cannot go on here.")
    assert "another server has gone on with this turn" in status.message
    # What clients go by is as of a store that is away: they take the turn up again.
    assert (row_of(caught.value), status.code) == (TABLE[StoreUnavailable], StatusCode.UNAVAILABLE.value[0])
    (line,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert line.message == "turn_lost"


async def test_no_turn_starts_while_its_session_is_changed(tmp_path: Path) -> None:
    """Else one that is starting would bring the configuration of before back, for the turns behind it."""
    async with house(tmp_path) as there, asyncio.timeout(PATIENCE_S):
        async with there.conductor.changing(SCOPE, SESSION):
            start = asyncio.create_task(there.start("t"))
            for _ in range(100):
                await asyncio.sleep(0)
            assert not start.done()
        await start
