"""The connection between agent and sidecar is slow, swallows what it carries, breaks, or is half gone."""

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import Agent, a_turn, check_record, failing_calls, record_of, started
from tests.faults.journal import Journal
from tests.faults.proxy import FaultProxy
from tests.faults.sidecars import connected, running
from tests.faults.talk import Talk
from tests.faults.waiting import until

pytestmark = pytest.mark.slow("connections hang until time limits end them")


@pytest.mark.parametrize("fault", ["reset", "cut", "swallow", "half-open"])
async def test_a_turn_survives_a_connection_that_breaks(fault: str, tmp_path: Path) -> None:
    """Whatever becomes of the connection, the agent resumes and the record is whole. Seen to fail when
    `Conductor.report` does not look at `turn.seen`."""
    journal = Journal()
    agent = Agent("t", a_turn("t", "s", 9_000), journal, batch=5)
    async with running(tmp_path) as served, FaultProxy(served.address) as proxy:
        streams = 0
        while not agent.over:
            streams += 1
            assert streams < 50
            if streams < 6:
                proxy.cut_after(8_000 if fault == "cut" else 10_000_000)
            async with connected(proxy.address) as stub:
                # A stream that hears nothing is given up by its deadline, as an agent does that misses heartbeats.
                running_on = agent.run(stub, deadline_s=0.5 if streams < 6 else None)
                if fault != "cut" and streams < 6:
                    await _break(proxy, fault, agent, running_on)
                else:
                    await running_on
                proxy.pass_on()
        _, entries = await record_of(served.stub, "t")
        ids = [entry.event.event_id for entry in entries if entry.HasField("event")]
        assert journal.violations(ids) == []
        assert check_record(entries, agent.events) == []
        assert len(ids) == 9_000
        assert agent.breaks >= 3


async def _break(proxy: FaultProxy, fault: str, agent: Agent, running_on: Coroutine[None, None, None]) -> None:
    before = agent.durable
    stream = asyncio.ensure_future(running_on)
    await until(lambda: agent.durable > before + 50 or stream.done())
    if fault == "reset":
        proxy.reset()
    elif fault == "swallow":
        proxy.swallow()
    else:
        proxy.half_open()
    await stream


async def test_the_server_lets_go_of_a_client_that_is_gone_without_a_word(tmp_path: Path) -> None:
    """A stream that is reset leaves no listener behind, and its turn can be let go of. Seen to fail when `RunTurn`
    does not close its stream in `finally`."""
    async with running(tmp_path) as served, FaultProxy(served.address) as proxy:
        async with connected(proxy.address) as stub:
            talk = Talk(stub)
            await talk.say(started("t", "s"), *failing_calls("t", 5))
            watch = stub.WatchTurns(pb.WatchTurnsRequest())
            await watch.read()
            await until(lambda: talk.durable() == 6)
            assert len(served.sidecar.server._streams) == 2
            proxy.reset()
            assert await talk.broken() is grpc.StatusCode.UNAVAILABLE
        await until(lambda: len(served.sidecar.server._streams) == 0)


async def test_latency_is_not_multiplied(tmp_path: Path) -> None:
    """100 events in flight on a connection of 2 × 50 ms take about one round trip: the stream waits for nobody.
    Seen to fail when `_TurnStream.read` waits until each request is durable before it reads the next: two seconds
    instead of a tenth. The best of five: what else the machine does may hold up one of them."""
    async with running(tmp_path) as served, FaultProxy(served.address) as proxy, connected(proxy.address) as stub:
        talk = Talk(stub)
        await talk.say(started("t", "s"))
        await until(lambda: talk.durable() == 1)
        proxy.latency_s = 0.05
        took_s = 60.0
        for hundred in range(5):
            began_s = time.monotonic()
            for event in failing_calls("t", 100, first=1 + 100 * hundred):
                await talk.say(event)
            await until(lambda hundred=hundred: talk.received() == 101 + 100 * hundred)  # type: ignore[misc]
            took_s = min(took_s, time.monotonic() - began_s)
            if took_s < 1.0:
                break
        assert 0.1 <= took_s < 1.0
        talk.stream.cancel()
