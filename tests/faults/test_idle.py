"""Turns and streams on which nothing happens, by a clock that the test moves."""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.faults.agents import failing_calls, record_of, started
from tests.faults.clocks import SetClock
from tests.faults.sidecars import Running, running
from tests.faults.talk import Talk
from tests.faults.waiting import until


async def state_of(served: Running, turn_id: str) -> int:
    return int((await record_of(served.stub, turn_id))[0].state)


async def test_a_turn_is_abandoned_after_30_idle_minutes(tmp_path: Path) -> None:
    """Whether it is in memory or only in the log. Seen to fail when `Conductor.sweep` looks only at turns in memory
    ("second"), and when the setting `abandon_after_s` is 1,801."""
    clock = SetClock()
    async with running(tmp_path, clock=clock) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="first", session_id="s"))
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="second", session_id="s"))
        clock.advance(600)
        await served.stub.ReportEvents(pb.ReportEventsRequest(turn_id="first", events=failing_calls("first", 2)))
        await served.sidecar.conductor.evictions.sweep()
        assert served.sidecar.conductor.in_memory(DEFAULT_SCOPE, TurnId("second")) is None
        clock.advance(1199.9)
        await served.sidecar.conductor.evictions.sweep()
        assert await state_of(served, "second") == pb.TURN_STATE_OPEN
        clock.advance(0.2)
        await served.sidecar.conductor.evictions.sweep()
        assert await state_of(served, "second") == pb.TURN_STATE_ABANDONED
        assert await state_of(served, "first") == pb.TURN_STATE_OPEN
        clock.advance(600)
        await served.sidecar.conductor.evictions.sweep()
        turn, entries = await record_of(served.stub, "first")
        assert turn.state == pb.TURN_STATE_ABANDONED
        assert entries[-1].directive.HasField("turn_summary")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.ReportEvents(pb.ReportEventsRequest(turn_id="first", events=failing_calls("x", 2)))
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_stream_that_says_nothing_else_says_that_it_lives(tmp_path: Path) -> None:
    """After 20 s, or what the setting says, by the server's clock. Seen to fail when `heartbeat_due` is never true."""
    clock = SetClock()
    async with running(tmp_path, clock=clock, heartbeat_s="0.03125") as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"))
        watch = served.stub.WatchTurns(pb.WatchTurnsRequest(new_only=True))
        await until(lambda: talk.durable() == 1)
        assert talk.said("heartbeat") == []
        clock.advance(0.03125)
        await until(lambda: len(talk.said("heartbeat")) == 1)
        beat = await watch.read()
        while not beat.entry.directive.HasField("heartbeat"):
            beat = await watch.read()
        assert beat.entry.cursor
        talk.stream.cancel()


async def test_a_stream_without_news_from_the_agent_ends_and_its_turn_stays_open(tmp_path: Path) -> None:
    """After 10 minutes. Seen to fail when `StreamTimes._tick` does not look at `idle_s`."""
    clock = SetClock()
    async with running(tmp_path, clock=clock, heartbeat_s="0.02") as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"))
        await until(lambda: talk.durable() == 1)
        clock.advance(599.9)
        await until(lambda: len(talk.said("heartbeat")) == 1)
        assert talk.said("closing") == []
        clock.advance(0.1)
        await talk.ended()
        assert talk.heard[-1].closing.reason == "nothing was sent for 600 s"
        again = Talk(served.stub)
        await again.say(*failing_calls("t", 1), resume=pb.TurnResume(turn_id="t", after_sequence=2))
        await until(lambda: again.durable() == 1)
        again.stream.cancel()
