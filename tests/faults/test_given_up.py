"""Calls that are given up before they are served, and calls that take seconds: what their client is told, and how long
others wait. `-m long -s` takes longer, and prints the figures.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.figures import show
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import Stub, connected
from tests.faults.test_abuse import MOST_MS

pytestmark = [pytest.mark.slow("a client that asks for more than is served, for seconds"), pytest.mark.timeout(300)]
AT_ONCE = 12
DURATIONS = [pytest.param(1.0, id="1-s"), pytest.param(8.0, id="8-s", marks=pytest.mark.long)]
# What gRPC's C core says of HTTP/2's REFUSED_STREAM.
REFUSED = "RST_STREAM with error code 7"
# An event of 250 KB whose text takes long to search for secrets.
DEAR = pb.TurnEvent(tool_returned=pb.ToolReturned(content="sk-" * 83_000))


@pytest.mark.parametrize("for_s", DURATIONS)
async def test_calls_that_are_given_up_are_refused_and_harm_nobody(
    for_s: float, machine: Machine, tmp_path: Path
) -> None:
    """12 calls at once with a deadline of a millisecond. The server counts those that it has not let go of yet, and
    above 100 HTTP/2 refuses more on this connection: each UNAVAILABLE is that. Another connection has no error, and
    once the client is patient, it is served. Seen to fail when the boundary answers hasty calls with `Draining`."""
    told = Counter[str]()

    async def give_up(stub: Stub) -> None:
        try:
            await stub.ListSessions(pb.ListSessionsRequest(), timeout=0.001)
        except grpc.aio.AioRpcError as error:
            refused = error.code() is grpc.StatusCode.UNAVAILABLE and REFUSED in (error.details() or "")
            told["refused" if refused else error.code().name] += 1

    async with Process(tmp_path) as process, connected(process.address) as hasty, connected(process.address) as honest:
        machine.late_s()
        took_s = await _beside(honest, for_s, lambda: give_up(hasty))
        most_ms = MOST_MS + 1000 * machine.late_s()
        show(f"given up: {dict(told)}; honest calls: {len(took_s)}, the longest {1000 * max(took_s):.0f} ms")
        assert set(told) <= {"refused", "DEADLINE_EXCEEDED"}
        assert sorted(took_s)[int(len(took_s) * 0.99)] <= most_ms / 1000

        async def is_served() -> bool:
            try:
                await hasty.ListSessions(pb.ListSessionsRequest(), timeout=60)
            except grpc.aio.AioRpcError:
                return False
            return True

        async with asyncio.timeout(60):
            while not await is_served():  # noqa: ASYNC110 - asked over the wire
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("at_once", [6, pytest.param(AT_ONCE, marks=pytest.mark.long)])
async def test_large_messages_leave_others_their_turn(at_once: int, tmp_path: Path) -> None:
    """Reports of 3.5 MB whose texts look like secrets, each seconds of CPU. They take turns, and none is lost; others
    wait a quarter as long at most. Seen to fail when `events_of` reads all of them on the event loop."""
    reports = iter(range(10_000))

    async with Process(tmp_path) as process, connected(process.address) as large, connected(process.address) as honest:

        async def report() -> None:
            turn_id = f"t{next(reports)}"
            await large.StartTurn(pb.StartTurnRequest(turn_id=turn_id), timeout=120)
            began_s = time.monotonic()
            await large.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[DEAR] * 14), timeout=120)
            waits_s.append(time.monotonic() - began_s)

        waits_s: list[float] = []
        took_s = await _beside(honest, 1.0, report, at_once)
        show(f"large: {len(waits_s)}, the longest {max(waits_s):.1f} s; honest calls: the longest {max(took_s):.2f} s")
        assert max(took_s) <= max(waits_s) / 4


async def _beside(
    honest: Stub, for_s: float, make: Callable[[], Awaitable[None]], at_once: int = AT_ONCE
) -> list[float]:
    """Makes calls, so many at once, and one honest one after the other beside them. Returns how long these took, in
    seconds. Raises their error."""
    ends_s = time.monotonic() + for_s
    took_s: list[float] = []

    async def again() -> None:
        while time.monotonic() < ends_s:
            await make()

    async def ask() -> None:
        while True:
            began_s = time.monotonic()
            await honest.ListSessions(pb.ListSessionsRequest(), timeout=120)
            took_s.append(time.monotonic() - began_s)
            await asyncio.sleep(0.01)

    asking = asyncio.create_task(ask())
    try:
        await asyncio.gather(*(again() for _ in range(at_once)))
    finally:
        asking.cancel()
        await asyncio.wait({asking})
    if not asking.cancelled():
        await asking
    return took_s
