"""SIGTERM while agents are at work."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations import exit_codes
from tests.faults.agents import Agent, a_turn, check_record, failing_calls, record_of, started
from tests.faults.figures import show
from tests.faults.journal import Journal
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import Stub, channel, connected
from tests.faults.talk import Talk
from tests.faults.waiting import step, until

pytestmark = pytest.mark.slow("processes are ended under load")

GRACE_S = 3.0
# The longest that a step may take on a busy machine; how long it should take is asserted of what was measured.
STEP_S = 30.0


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(5, id="5-times", marks=pytest.mark.timeout(300)),
        pytest.param(100, id="100-times", marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_told_to_stop_under_load(times: int, machine: Machine, tmp_path: Path) -> None:
    """Six agents that heed `closing`, one that does not, one that watches. Health flips within 100 ms each time, and
    what the machine takes from it. Seen to fail when
    `announce_end` does not flip the health first and when it does not call `close_all`.

    That what waits is kept is shown in test_store_down.py."""
    process = Process(tmp_path, {"grace_s": str(GRACE_S)}, arguments=("--model", "never"))
    flips_ms, ends_s, journal, agents = [], [], Journal(), []
    async with process:
        machine.late_s()
        for round_ in range(times):
            where = f"round {round_ + 1} of {times}"
            if not process.running:
                await process.start()
            some = [Agent(f"r{round_}-t{n}", a_turn(f"r{round_}-t{n}", f"s{n}", 9_000), journal) for n in range(6)]
            agents += some
            flip_ms, end_s = await _one_stop(process, some, where)
            flips_ms.append(flip_ms)
            ends_s.append(end_s)
            assert [agent.closings for agent in some] == [1] * 6
            for agent in some:  # what was never sent would fill the memory of a hundred rounds
                agent.events = [event for event in agent.events if journal.was_begun(event.event_id)]
        late_ms = machine.late_s() * 1000
        await process.start()
        found, wrong = await _what_is_kept(process.address, agents)
    middle = sorted(flips_ms)[times // 2]
    show(
        f"{times} times: health flipped after {max(flips_ms):.0f} ms at most (median {middle:.0f}), "
        f"exit after {max(ends_s):.1f} s at most"
    )
    assert journal.violations(found) == []
    assert wrong == []
    assert max(flips_ms) < 100 + late_ms
    assert max(ends_s) < GRACE_S + late_ms / 1000
    assert "Traceback" not in process.text()


async def _one_stop(process: Process, agents: list[Agent], where: str) -> tuple[float, float]:
    """One SIGTERM; after how many ms health flipped, and after how many seconds the server was gone."""
    async with connected(process.address) as stub, connected(process.address) as other:
        working = [asyncio.create_task(agent.run(stub)) for agent in agents]
        deaf = Talk(stub)
        async with step(f"{where}, the agents begin", STEP_S):
            await deaf.say(started(f"{where}, deaf", "deaf"))
            # Read all the time: what it has not read would stand before `closing`, and take of the grace.
            closing = asyncio.create_task(_closing_of(other.WatchTurns(pb.WatchTurnsRequest(new_only=True))))
            await until(lambda: all(agent.durable > 100 for agent in agents), STEP_S)
        async with step(f"{where}, health is watched", STEP_S):
            flipped = asyncio.create_task(_not_serving(process.address))
            await until(lambda: flipped.get_name() == "watching", STEP_S)
        told_s = time.monotonic()
        process.signal(signal.SIGTERM)
        async with step(f"{where}, health flips", STEP_S):
            flip_ms = (await flipped - told_s) * 1000
        async with step(f"{where}, a new call is refused", STEP_S):
            await _refused(other)
        async with step(f"{where}, the streams are told", STEP_S):
            await until(lambda: bool(deaf.said("closing")), STEP_S)
            assert await closing == "the server is shutting down"
        await _ended(working, process, where)
        async with step(f"{where}, the server ends", STEP_S):
            code, _ = await process.ended(within_s=STEP_S)
            end_s = time.monotonic() - told_s
            assert code == 0
            assert await deaf.broken() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
    return flip_ms, end_s


async def _ended(working: list[asyncio.Task[None]], process: Process, where: str) -> None:
    """All agents have heard of the end. Says which side is at fault when one has not: a server that goes on, or a
    client that does not notice that it is gone."""
    _, stuck = await asyncio.wait(working, timeout=GRACE_S + 60)
    for task in stuck:
        task.cancel()
    whose = "goes on" if process.running else "has ended"
    assert not stuck, f"{where}: {len(stuck)} agents still read, and the server {whose}: {process.text()[-2000:]}"
    await asyncio.gather(*working)


async def _what_is_kept(address: str, agents: list[Agent]) -> tuple[list[str], list[str]]:
    """The ids of all recorded events, and what is wrong with the records."""
    found, wrong = [], []
    async with connected(address) as stub:
        for agent in agents:
            async with step(f"reading {agent.turn_id}", STEP_S):
                _, entries = await record_of(stub, agent.turn_id)
            found += [entry.event.event_id for entry in entries if entry.HasField("event")]
            wrong += check_record(entries, agent.events)
    return found, wrong


async def _refused(stub: Stub) -> None:
    """A new call. CANCELLED is grpc.aio's own, for the one call that comes first after it was told to stop."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.GetTurn(pb.GetTurnRequest(turn_id="t"), timeout=60)
    assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def _not_serving(address: str) -> float:
    """When the health of the server stops being SERVING, by the monotonic clock. The task's name becomes `watching`
    once the first status is here."""
    async with channel(address) as connection:
        watch = cast("Any", health_pb2_grpc.HealthStub(connection)).Watch(health_pb2.HealthCheckRequest())
        async for status in watch:
            task = asyncio.current_task()
            assert task is not None
            task.set_name("watching")
            if status.status == health_pb2.HealthCheckResponse.NOT_SERVING:
                return time.monotonic()
    raise AssertionError("the watch has ended")


async def _closing_of(watch: "grpc.aio.UnaryStreamCall[pb.WatchTurnsRequest, pb.WatchTurnsResponse]") -> str:
    async for response in watch:
        if response.entry.directive.HasField("closing"):
            return response.entry.directive.closing.reason
    raise AssertionError("the watch has ended")


async def test_told_twice_it_ends_at_once(tmp_path: Path) -> None:
    """While it waits for a store that is away; and what was acknowledged is kept. Seen to fail when `_told_to_stop`
    ignores the second signal that comes later."""
    process = Process(tmp_path, {"grace_s": "30"}, arguments=("--switch",))
    async with process, connected(process.address) as stub:
        talk = Talk(stub)
        await talk.say(started("t", "s"), *failing_calls("t", 10))
        await until(lambda: talk.durable() == 11)
        process.signal(signal.SIGUSR1)
        await talk.say(*failing_calls("t", 10, first=11))
        await until(lambda: talk.received() == 21)
        process.signal(signal.SIGTERM)
        await until(lambda: bool(talk.said("closing")))
        await asyncio.sleep(1)  # until then it is the same wish
        process.signal(signal.SIGTERM)
        code, took_s = await process.ended(within_s=60)
        assert code == -signal.SIGKILL
        assert took_s < 10, "not when the grace is over"
        assert await talk.broken() is grpc.StatusCode.UNAVAILABLE
        await process.start()
        async with connected(process.address) as again:
            _, entries = await record_of(again, "t")
            assert sum(entry.HasField("event") for entry in entries) == 11


async def test_told_twice_at_once_it_is_told_once(tmp_path: Path) -> None:
    """As by `uv run`, which passes on what the process group of both has had already. Seen to fail when each second
    signal ends it at once."""
    process = Process(tmp_path)
    async with process:
        process.signal(signal.SIGTERM)
        process.signal(signal.SIGINT)
        code, _ = await process.ended(within_s=STEP_S)
        assert code == 0


async def test_what_was_not_recorded_is_told_by_the_exit_code(tmp_path: Path) -> None:
    """The store is away until the end. Seen to fail with 0."""
    process = Process(tmp_path, {"grace_s": "1"}, arguments=("--switch",))
    async with process, connected(process.address) as stub:
        talk = Talk(stub)
        await talk.say(started("t", "s"))
        await until(lambda: talk.durable() == 1)
        process.signal(signal.SIGUSR1)
        await talk.say(*failing_calls("t", 1))
        await until(lambda: talk.received() == 2)
        process.signal(signal.SIGTERM)
        code, _ = await process.ended(within_s=STEP_S)
        assert code == exit_codes.UNAVAILABLE
        assert "the store did not answer before the grace period ended" in process.text()
        assert await talk.broken() is grpc.StatusCode.UNAVAILABLE
