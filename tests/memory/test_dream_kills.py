"""The sidecar is killed at random while it dreams: what it reads and makes is there once."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.figures import show
from tests.faults.process import Process
from tests.faults.waiting import until
from tests.memory.dreamers import dream_of, log_of, store
from tests.memory.talk import listed
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("processes are killed at random")

CLUSTERS, EPISODES = 12, 3
CASES = [
    pytest.param(3, id="3-kills", marks=pytest.mark.timeout(300)),
    pytest.param(30, id="30-kills", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]


def words(place: int) -> str:
    """What the memories of one cluster say, and no others."""
    return " ".join(f"word{place}{letter}" for letter in "abcdefghij")


def fill(stub: Any, scope: dict[str, str]) -> dict[str, pb.Memory]:
    for place in range(CLUSTERS):
        for number in range(EPISODES):
            store(
                *(stub, 100 * place + number, "find_order", scope),
                reflection_text=f"{words(place)}: case {number}.",
                applies_when=pb.AppliesWhen(tools=[f"tool_{place}"]),
                error_category=pb.ERROR_CATEGORY_UNSPECIFIED,
            )
    return {one.id: one for one in listed(stub, **scope)}


def check(stub: Any, before: dict[str, pb.Memory], scope: dict[str, str]) -> pb.DreamLogEntry:
    """Fails when something was lost or doubled, deleted or changed."""
    (dream,) = log_of(stub, **scope)
    after = {one.id: one for one in listed(stub, **scope)}
    assert {memory_id: after[memory_id] for memory_id in before} == before
    made = [one for memory_id, one in after.items() if memory_id not in before]
    assert len(made) == 2 * CLUSTERS
    assert {one.id for one in made} == {
        memory_id for lesson in dream.lessons for memory_id in (lesson.reflection_id, lesson.strategy_id)
    }
    assert all(one.strength == 1 for one in made)
    assert sorted(one for lesson in dream.lessons for one in lesson.supporting_memory_ids) == sorted(before)
    assert (dream.read_count, dream.asked_count, len(dream.lessons)) == (len(before), CLUSTERS, CLUSTERS)
    again = dream_of(stub, **scope)[-1].dream
    assert (again.number, again.read_count, again.asked_count) == (2, 0, 0)
    return dream


async def killed_at_random(process: Process, scope: dict[str, str], calls: Path, kills: int) -> None:
    """Lets it dream, and kills it so many times meanwhile."""
    chance = random.Random(kills)
    for kill in range(kills):
        asked = CLUSTERS * (kill + chance.random()) / kills

        def is_far_enough(asked: float = asked) -> bool:
            return calls.exists() and len(calls.read_text().split()) >= asked

        await asyncio.to_thread(begin, process.address, scope)
        await until(is_far_enough, within_s=60)
        process.kill()
        process.port = 0
        await process.start()


def begin(address: str, scope: dict[str, str]) -> None:
    """Asks for a dream, and leaves as soon as it is under way."""
    with grpc.insecure_channel(address) as channel:
        told = ReflectiveMemoryServiceStub(channel).Dream(pb.DreamRequest(**scope), timeout=60)
        next(iter(told))
        told.cancel()


async def run(process: Process, calls: Path, kills: int) -> None:
    scope = {"tenant_id": "acme"}
    before = await asyncio.to_thread(at, process.address, lambda stub: fill(stub, scope))
    await killed_at_random(process, scope, calls, kills)
    await asyncio.to_thread(at, process.address, lambda stub: dream_of(stub, **scope))
    await asyncio.to_thread(at, process.address, lambda stub: check(stub, before, scope))
    asked = Counter(await asyncio.to_thread(lambda: calls.read_text().split()))
    # A kill loses the answer that was on its way, and no other.
    assert CLUSTERS <= asked.total() <= CLUSTERS + kills
    show(f"{kills} kills in a dream of {CLUSTERS} clusters: {asked.total()} questions, {CLUSTERS} lessons")


def at(address: str, do: Any) -> Any:
    with grpc.insecure_channel(address) as channel:
        return do(ReflectiveMemoryServiceStub(channel))


def serving(folder: Path, calls: Path | None = None, **settings: str) -> Process:
    arguments = ("--takes", "0.1", "--calls", str(calls or folder / "calls"))
    return Process(folder, settings, module="tests.memory.dream_serving", arguments=arguments)


@pytest.mark.parametrize("kills", CASES)
async def test_embedded(kills: int, tmp_path: Path) -> None:
    """Seen to fail when `Dreamer.handle` notes nothing between the answers: questions are asked again."""
    async with serving(tmp_path) as process:
        await run(process, tmp_path / "calls", kills)


@pytest.mark.parametrize("kills", CASES)
async def test_on_postgres(kills: int, databases: Databases, tmp_path: Path) -> None:
    """Seen to fail when `Dreamer.handle` notes nothing between the answers: questions are asked again."""
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        async with serving(tmp_path, database_url=url) as process:
            await run(process, tmp_path / "calls", kills)


async def test_one_that_stood_still(databases: Databases, tmp_path: Path) -> None:
    """A sidecar stands still in the middle of a dream for longer than its lease, another one goes on with it, and then
    the first one wakes. Seen to fail when a worker goes on with a job that it has lost, its notes do not ask whose it
    is, and a lesson's id does not derive from its job and its place."""
    scope, calls = {"tenant_id": "acme"}, tmp_path / "calls"
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
        one, two = (serving(tmp_path / folder, calls=calls, database_url=url) for folder in ("one", "two"))
        async with one:
            before = await asyncio.to_thread(at, one.address, lambda stub: fill(stub, scope))
            await asyncio.to_thread(begin, one.address, scope)
            await until(lambda: calls.exists() and len(calls.read_text().split()) >= 3, within_s=60)
            one.signal(signal.SIGSTOP)
            async with two:
                await asyncio.to_thread(at, two.address, lambda stub: dream_of(stub, **scope))
                one.signal(signal.SIGCONT)
                await until(lambda: '"job_lost"' in one.text(), within_s=60)
                await until(quiet(calls, for_s=1.5), within_s=60)
                await asyncio.to_thread(at, two.address, lambda stub: check(stub, before, scope))


def quiet(calls: Path, for_s: float) -> Callable[[], bool]:
    """Whether no question was asked for so long."""
    seen = (-1, 0.0)

    def is_quiet() -> bool:
        nonlocal seen
        size = calls.stat().st_size
        if size != seen[0]:
            seen = (size, time.monotonic())
        return time.monotonic() - seen[1] >= for_s

    return is_quiet
