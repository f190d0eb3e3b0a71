"""The sidecar is killed while turns end and are learned from: each is learned from once, none is lost."""

import asyncio
import random
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as turns
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.process import Process
from tests.faults.sidecars import channel, stub_on
from tests.faults.waiting import until_found
from tests.wire.calls import called, failed

pytestmark = pytest.mark.slow("processes are killed at random")

TURNS, KILLS = 60, 6


async def end(process: Process, number: int) -> None:
    """Reports a failing turn and its end, again and again until they are acknowledged."""
    turn_id, session_id = f"t{number}", f"s{number}"
    events = [called("sql", "SELECT 1", "c", "e1"), failed(f"the region {'x' * (number + 1)} is locked", "c", "e2")]
    start = turns.StartTurnRequest(turn_id=turn_id, session_id=session_id, task=f"Region {number}", request_id=turn_id)
    while True:
        try:
            async with channel(process.address) as connection:
                stub = stub_on(connection)
                await stub.StartTurn(start, timeout=5)
                await stub.ReportEvents(turns.ReportEventsRequest(turn_id=turn_id, events=events), timeout=5)
                await stub.FinishTurn(turns.FinishTurnRequest(turn_id=turn_id, request_id=f"{turn_id} ends"), timeout=5)
                return
        except grpc.aio.AioRpcError as error:
            if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                raise
            await asyncio.sleep(0.05)


async def learned(process: Process) -> list[pb.Memory]:
    async with channel(process.address) as connection:
        stub: Any = ReflectiveMemoryServiceStub(connection)
        request = pb.ListReflectionsRequest(kind=pb.MEMORY_KIND_REFLECTION, page_size=1000)
        return list((await stub.ListReflections(request, timeout=10)).memories)


def strength(found: list[pb.Memory]) -> int:
    """How often something was learned."""
    return sum(memory.strength for memory in found)


async def test_each_turn_is_learned_from_once(tmp_path: Path) -> None:
    """Seen to fail when the job is put after the append of the turn's last entry has returned."""
    chance = random.Random(5)
    async with Process(tmp_path, {"learn__turns_per_hour": "0"}) as process:
        waiting = iter(range(TURNS))

        async def agent() -> None:
            for number in waiting:
                await end(process, number)

        agents = [asyncio.create_task(agent()) for _ in range(6)]
        for _ in range(KILLS):
            await asyncio.sleep(0.1 + chance.random() * 0.4)
            process.kill()
            await process.start()
        await asyncio.gather(*agents)
        found = await until_found(lambda: learned(process), lambda some: strength(some) >= TURNS)
        assert strength(found) == TURNS
