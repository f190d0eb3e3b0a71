"""Two sidecars on one database learn from each turn once, and a session is the same at both."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as turns
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.turns.teaching import KIND
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import JobState
from tests.faults.sidecars import Running, channel, running
from tests.faults.waiting import until_found
from tests.postgres.databases import Databases
from tests.wire.calls import MEDIUM, called, failed, finished, started

DEFAULT = Scope("default", "default")
TURNS = 12


@pytest.fixture
async def url(databases: Databases) -> AsyncIterator[str]:
    """A sidecar's URL of a database of the test's own."""
    async with databases.fresh() as name:
        yield databases.cluster.url("sidecar", name)


async def fail(served: Running, number: int) -> None:
    begun = started(session_id=f"s{number}", task=f"Count the customers of region {number}")
    events = [begun, called("sql", f"SELECT {number}", "c"), failed(f"relation {'x' * (number + 1)} is locked", "c"),
              finished()]  # fmt: skip
    async for _ in served.stub.RunTurn(iter([turns.RunTurnRequest(events=events)])):
        pass


async def jobs(served: Running) -> Counter[JobState]:
    return +Counter(await served.sidecar._stores.work.count(DEFAULT, KIND))


async def reflections(served: Running) -> list[pb.Memory]:
    async with channel(served.address) as connection:
        stub: Any = ReflectiveMemoryServiceStub(connection)
        request = pb.ListReflectionsRequest(kind=pb.MEMORY_KIND_REFLECTION, page_size=1000)
        return list((await stub.ListReflections(request)).memories)


async def test_each_turn_is_learned_from_once(url: str, tmp_path: Path) -> None:
    """Seen to fail when an erasure of a turn leaves the job that learned from it."""
    one, two = running(tmp_path / "a", database_url=url), running(tmp_path / "b", database_url=url)
    async with one as first, two as second:
        await asyncio.gather(*(fail((first, second)[number % 2], number) for number in range(TURNS)))
        ended = await until_found(lambda: jobs(first), lambda counts: counts[JobState.DONE] >= TURNS)
        assert ended == {JobState.DONE: TURNS}
        found = await reflections(first)
        assert sum(memory.strength for memory in found) == TURNS
        assert {memory.metadata["session_id"] for memory in found} <= {f"s{number}" for number in range(TURNS)}
        async with channel(first.address) as connection:
            stub: Any = SidecarServiceStub(connection)
            for number in range(TURNS):
                await stub.Erase(sidecar_pb2.EraseRequest(session_id=f"s{number}"))
        await until_found(lambda: reflections(first), lambda left: not left)
        assert await jobs(first) == {}


async def test_a_session_is_the_same_at_the_other_sidecar(url: str, tmp_path: Path) -> None:
    """Seen to fail when `Conductor.start` makes a session with the defaults instead of its first turn's."""
    one, two = running(tmp_path / "a", database_url=url), running(tmp_path / "b", database_url=url)
    async with one as first, two as second:
        begun = await first.stub.StartTurn(turns.StartTurnRequest(session_id="s", config=MEDIUM))
        await first.stub.FinishTurn(turns.FinishTurnRequest(turn_id=begun.plan.turn_id))
        again = await second.stub.StartTurn(turns.StartTurnRequest(session_id="s"))
        assert again.plan.config.level == turns.THINK_LEVEL_MEDIUM
