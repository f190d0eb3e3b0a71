"""A turn that was started while the store was away, under an id that the store has: the log is right."""

import asyncio
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import failing_calls, record_of, started
from tests.faults.models import NeverAnswers
from tests.faults.sidecars import running
from tests.faults.stores import Fault, Switch
from tests.faults.talk import Talk
from tests.faults.waiting import until

EVENTS = failing_calls("t", 20)


async def test_a_turn_that_the_log_has_otherwise_is_read_from_it(tmp_path: Path) -> None:
    """As when a sidecar was killed before it could acknowledge the start, and the next one found the store away.
    Seen to fail when `Conductor.in_memory` does not let go of a turn that is lost."""
    async with running(tmp_path) as served:
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), *EVENTS[:10])
        await until(lambda: talk.durable() == 11)
        talk.stream.cancel()
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        switch.turn(Fault.AWAY)
        unaware = Talk(served.stub)
        await unaware.say(started("t", "s"), *EVENTS[:5])
        await until(lambda: unaware.received() == 6)
        switch.turn(Fault.NONE)
        await unaware.broken()
        # At once, not when the sweep has let the turn go.
        again = Talk(served.stub)
        await again.say(started("t", "s"), *EVENTS)
        await until(lambda: again.durable() == 21, within_s=60)
        again.stream.cancel()
        _, entries = await record_of(served.stub, "t")
    ids = [entry.event.event_id for entry in entries if entry.HasField("event")]
    assert ids == ["t/0", *(event.event_id for event in EVENTS)]


async def test_who_waits_for_a_reflection_of_such_a_turn_is_told(tmp_path: Path) -> None:
    """The reflection was made on what is not so, and nothing will come of it. Seen to fail when `_made` of
    `rpc/thinking/reflect.py` does not look at `turn.lost`: the call has no deadline, and waits for ever."""
    async with running(tmp_path) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
    switch = Switch()
    async with running(tmp_path, switch=switch, model=NeverAnswers()) as served:
        switch.turn(Fault.AWAY)
        unaware = Talk(served.stub)
        await unaware.say(started("t", "s"), *EVENTS[:1])
        await until(lambda: unaware.received() == 2)
        reflecting = asyncio.ensure_future(served.stub.Reflect(pb.ReflectRequest(turn_id="t")))
        await until(lambda: bool(unaware.said("ack")[-1].ack.pending_ids))
        switch.turn(Fault.NONE)
        await unaware.broken()
        await served.stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=EVENTS[:1]), timeout=60)
        await until(reflecting.done)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await reflecting
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
