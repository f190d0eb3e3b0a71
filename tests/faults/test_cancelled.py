"""Streams that are cancelled, with tracing and metrics on: nothing is left of them, and the log has no traceback."""

import asyncio
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import failing_calls, started
from tests.faults.process import Process
from tests.faults.sidecars import Stub, connected
from tests.faults.waiting import until
from tests.operations.scrape import metrics_address, scraped

pytestmark = pytest.mark.slow("thousands of streams")


@pytest.mark.parametrize(
    ("tracing", "rounds"), [("true", 2), ("false", 2), pytest.param("true", 100, marks=pytest.mark.long)]
)
async def test_hundreds_of_cancelled_streams(tracing: str, rounds: int, tmp_path: Path) -> None:
    """Half of them turns, half watches of a record that is longer than they read. Seen to fail when `leave_stream` does
    not count."""
    settings = {"tracing": tracing, "metrics_address": "127.0.0.1:0"}
    async with Process(tmp_path, settings) as process, connected(process.address) as stub:
        address = metrics_address(process.text())
        turn_id = (await stub.StartTurn(pb.StartTurnRequest())).plan.turn_id
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=failing_calls(turn_id, 900)))
        for _ in range(rounds):
            await asyncio.gather(*(_cancelled(process.address, number) for number in range(2)))

        def nothing_is_left() -> bool:
            return scraped(address)["sidemirror_streams_open"] == 0

        await until(nothing_is_left, every_s=0.05)
        assert "Traceback" not in process.text()


async def _cancelled(address: str, number: int) -> None:
    """50 streams on a connection of their own, which is gone before some of them are cancelled."""
    async with connected(address) as stub:
        streams = [await (_turn(stub) if one % 2 else _watch(stub)) for one in range(50)]
        for stream in streams[: 50 if number else 25]:
            stream.cancel()


async def _turn(stub: Stub) -> "asyncio.Future[object]":
    stream = stub.RunTurn()
    await stream.write(pb.RunTurnRequest(events=[started("", "s")]))
    await stream.read()
    return stream  # type: ignore[no-any-return]


async def _watch(stub: Stub) -> "asyncio.Future[object]":
    stream = stub.WatchTurns(pb.WatchTurnsRequest())
    await stream.read()
    return stream  # type: ignore[no-any-return]
