"""The store fails, hangs, is full, is slow, and comes back by itself."""

import asyncio
import time
from pathlib import Path
from typing import cast

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.faults.agents import check_record, failing_calls, record_of, started
from tests.faults.figures import show
from tests.faults.machine import Machine
from tests.faults.sidecars import Stub, running
from tests.faults.stores import Fault, Switch
from tests.faults.talk import Talk
from tests.faults.waiting import until

EVENTS = failing_calls("t", 300)


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """The reason in the error's ErrorInfo."""
    status = rpc_status.from_call(cast("grpc.Call", error))
    info = error_details_pb2.ErrorInfo()
    assert status is not None
    assert any(detail.Unpack(info) for detail in status.details)
    return str(info.reason)


async def refused(call: "grpc.aio.UnaryUnaryCall[object, object]") -> tuple[grpc.StatusCode, str]:
    """How a call was refused: code and reason."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), reason_of(caught.value)


def report(stub: Stub, *events: pb.TurnEvent, timeout: float = 10) -> "grpc.aio.UnaryUnaryCall[object, object]":
    call: grpc.aio.UnaryUnaryCall[object, object] = stub.ReportEvents(
        pb.ReportEventsRequest(turn_id="t", events=events), timeout=timeout
    )
    return call


@pytest.mark.parametrize("fault", [Fault.AWAY, Fault.HANGS, Fault.FULL])
async def test_a_turn_goes_on_without_the_store_and_catches_up(fault: Fault, tmp_path: Path) -> None:
    """Seen to fail when `Recorder.run` returns after a failed append."""
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), *EVENTS[:10])
        await until(lambda: talk.durable() == 11)
        await until(lambda: served.sidecar.conductor.in_memory(DEFAULT_SCOPE, TurnId("t")).durable > 11)  # type: ignore[union-attr]
        switch.turn(fault)
        directives = len(talk.said("reflection")) + len(talk.said("nudge"))
        for first in range(10, 300, 10):
            await talk.say(*EVENTS[first : first + 10])
        await until(lambda: talk.received() == 301)
        assert talk.durable() == 11
        # Thinking goes on: a reflection waits a second for lessons of a store that hangs.
        await until(lambda: len(talk.said("reflection")) + len(talk.said("nudge")) > directives)
        switch.turn(Fault.NONE)
        took_s = await until(lambda: talk.durable() == 301, within_s=60)
        talk.stream.cancel()
        _, entries = await record_of(served.stub, "t")
        assert check_record(entries, [started("t", "s"), *EVENTS]) == []
        assert sum(entry.HasField("event") for entry in entries) == 301
        show(f"{fault.value}: caught up {took_s:.2f} s after the store's return")


async def test_a_turn_starts_without_the_store(tmp_path: Path) -> None:
    """Seen to fail when `Conductor.start` raises what the store raised whether or not the store is to be waited
    for."""
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        switch.turn(Fault.AWAY)
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), *EVENTS[:10])
        await until(lambda: talk.received() == 11)
        assert "the store is away: the session's earlier turns are not known" in (
            talk.said("turn_plan")[0].turn_plan.warnings
        )
        assert talk.durable() == 0
        switch.turn(Fault.NONE)
        await until(lambda: talk.durable() == 11, within_s=60)
        talk.stream.cancel()


async def test_reported_events_are_refused_and_kept_for_later(tmp_path: Path) -> None:
    """What was refused may have been kept: sent again with its ids it is there once. Seen to fail when
    `Recorder.wait_durable` does not look at `turn.failure`."""
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
        switch.turn(Fault.AWAY)
        assert await refused(report(served.stub, *EVENTS[:5])) == (
            grpc.StatusCode.UNAVAILABLE,
            "STORE_UNAVAILABLE",
        )
        switch.turn(Fault.FULL)
        assert await refused(report(served.stub, *EVENTS[:10])) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "STORE_FULL",
        )
        switch.turn(Fault.NONE)
        await report(served.stub, *EVENTS[:15])
        _, entries = await record_of(served.stub, "t")
        ids = [entry.event.event_id for entry in entries if entry.HasField("event")]
        assert ids[1:] == [event.event_id for event in EVENTS[:15]]


@pytest.mark.parametrize("call", ["ReportEvents", "GetTurn", "StartTurn", "FinishTurn", "WatchTurns"])
async def test_a_store_that_hangs_costs_no_more_than_the_deadline(call: str, machine: Machine, tmp_path: Path) -> None:
    """Nothing is waited for beyond the deadline + 100 ms, and nothing of the call stays behind in the server while the
    store still hangs.

    Seen to fail when `Boundary` serves a call in a task that goes on when the call is over.
    """
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
        turn = served.sidecar.conductor.in_memory(DEFAULT_SCOPE, TurnId("t"))
        assert turn is not None
        switch.turn(Fault.HANGS)
        asked = {
            "ReportEvents": pb.ReportEventsRequest(turn_id="t", events=EVENTS[:5]),
            "GetTurn": pb.GetTurnRequest(turn_id="t"),
            "StartTurn": pb.StartTurnRequest(turn_id="t2", session_id="s"),
            "FinishTurn": pb.FinishTurnRequest(turn_id="t"),
            "WatchTurns": pb.WatchTurnsRequest(follow=False),
        }
        machine.late_s()
        began_s = time.monotonic()
        pending = getattr(served.stub, call)(asked[call], timeout=0.3)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await (pending.read() if call == "WatchTurns" else pending)
        assert time.monotonic() - began_s < 0.4 + machine.late_s()
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await until(lambda: switch.readers == 0 and not turn._listeners, within_s=60)
        switch.turn(Fault.NONE)
        await served.stub.GetTurn(pb.GetTurnRequest(turn_id="t"), timeout=60)


async def test_the_backlog_is_bounded(tmp_path: Path) -> None:
    """Seen to fail when `Recorder.check_room` does nothing."""
    switch = Switch()
    async with running(tmp_path, switch=switch, limits__backlog_bytes="100000") as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
        talk = Talk(served.stub)
        switch.turn(Fault.AWAY)
        await talk.say(started("t2", "s2"))
        texts = [pb.TurnEvent(user_message=pb.UserMessage(text="x" * 10_000)) for _ in range(20)]
        for number, text in enumerate(texts, start=2):
            if not talk.has_ended:
                # One at a time: gRPC's client makes INTERNAL of a write on a stream that the server has just ended.
                await talk.say(text)
            await until(lambda number=number: talk.has_ended or talk.received() == number)  # type: ignore[misc]
        assert await talk.broken() is grpc.StatusCode.RESOURCE_EXHAUSTED
        code, reason = await refused(report(served.stub, texts[0]))
        assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
        turn = served.sidecar.conductor.in_memory(DEFAULT_SCOPE, TurnId("t2"))
        assert turn is not None
        assert 90_000 < turn.pending_bytes < 120_000
        switch.turn(Fault.NONE)
        await until(lambda: turn.pending_bytes == 0, within_s=60)
        await report(served.stub, texts[0])


async def test_a_slow_store_delays_only_durability(tmp_path: Path) -> None:
    """Seen to fail when `_TurnStream.read` waits until each request is durable before it reads the next."""
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"))
        await until(lambda: talk.durable() == 1)
        switch.slow_s, before = 0.3, switch.writes
        began_s = time.monotonic()
        for event in EVENTS[:100]:
            await talk.say(event)
        await until(lambda: talk.received() == 101)
        assert time.monotonic() - began_s < 10, "one after the other they take half a minute"
        await until(lambda: talk.durable() == 101)
        took_s = time.monotonic() - began_s
        assert switch.writes - before <= 5 + took_s / 0.3, "what waits shares an append"
        switch.slow_s = 0.0
        talk.stream.cancel()


async def test_what_waits_is_kept_when_the_server_is_told_to_stop(tmp_path: Path) -> None:
    """The store comes back within the grace period. Seen to fail when `Sidecar.drain` does not wait for the
    recorder, and when the recorder forgets the turns of an append that failed."""
    switch = Switch()
    async with running(tmp_path, switch=switch, grace_s="30") as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"))
        await until(lambda: talk.durable() == 1)
        switch.turn(Fault.AWAY)
        await talk.say(*EVENTS)
        await until(lambda: talk.received() == 301)
        asyncio.get_running_loop().call_later(0.5, switch.turn, Fault.NONE)
        talk.stream.cancel()
    async with running(tmp_path) as served:
        _, entries = await record_of(served.stub, "t")
        assert sum(entry.HasField("event") for entry in entries) == 301
