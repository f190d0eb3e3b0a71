"""Learning unasked neither pays nor sends anything until an operator says so, and then once about a failure."""

from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as turns
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.assembly.models import defaults_of, may_learn
from sidemirror_server.settings import load
from sidemirror_server.turns.teaching import KIND
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import JobState
from tests.faults.sidecars import Running, channel, running
from tests.faults.waiting import until_found
from tests.models.endpoint import CLAUDE, EMBEDDING, KEY, Endpoint
from tests.wire.calls import called, failed, finished, started

DEFAULT = Scope("default", "default")


async def fail(served: Running, number: int, error: str = "no such table: users") -> None:
    """A turn that fails, on a stream of its own."""
    begun = started(session_id=f"s{number}", task="Count the customers")
    events = [begun, called("sql", f"SELECT {number}", "c"), failed(error, "c"), finished()]
    async for _ in served.stub.RunTurn(iter([turns.RunTurnRequest(events=events)])):
        pass


async def jobs(served: Running) -> dict[JobState, int]:
    """How many jobs of learning there are in each state, once none of them waits."""
    work = served.sidecar._stores.work
    await until_found(lambda: work.waiting(DEFAULT, KIND), lambda waiting: not waiting)
    counts = await work.count(DEFAULT, KIND)
    return {state: count for state, count in counts.items() if count}


def anthropic(endpoint: Endpoint) -> dict[str, Any]:
    return {"model__provider": "anthropic", "model__name": CLAUDE, "model__base_url": endpoint.anthropic_url,
            "model__api_key": KEY}  # fmt: skip


def embedding(endpoint: Endpoint) -> dict[str, Any]:
    return {"embedding__name": EMBEDDING, "embedding__base_url": endpoint.openai_url, "embedding__api_key": KEY}


@pytest.mark.parametrize("model", [anthropic, embedding])
async def test_a_model_is_never_asked_until_it_is_said_so(model: Any, tmp_path: Path) -> None:
    async with Endpoint() as endpoint:
        async with running(tmp_path, **model(endpoint)) as served:
            for number in range(4):
                await fail(served, number)
            assert await jobs(served) == {}
        assert endpoint.calls == []


async def test_a_model_is_asked_once_about_a_failure(tmp_path: Path) -> None:
    async with Endpoint() as endpoint, running(tmp_path, learn__model="on", **anthropic(endpoint)) as served:
        for number in range(3):
            await fail(served, number)
            assert await jobs(served) == {JobState.DONE: 1}
        assert len(endpoint.calls) == 1
        await fail(served, 4, "permission denied for table orders")
        assert await jobs(served) == {JobState.DONE: 2}
        assert len(endpoint.calls) == 2
        async with channel(served.address) as connection:
            memories: Any = ReflectiveMemoryServiceStub(connection)
            listed = await memories.ListReflections(pb.ListReflectionsRequest(kind=pb.MEMORY_KIND_REFLECTION))
        # The endpoint says the same of both.
        assert [memory.strength for memory in listed.memories] == [2]


async def test_a_cap_of_its_own_leaves_the_job_to_dreaming(tmp_path: Path) -> None:
    async with Endpoint() as endpoint:
        cap: dict[str, Any] = {"learn__model": "on", "purposes__learning__usd_per_day": "0.000001"}
        async with running(tmp_path, **cap, **anthropic(endpoint)) as served:
            await fail(served, 1)
            assert await jobs(served) == {JobState.DEAD: 1}
        assert endpoint.calls == []


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({}, True),
        ({"memory__mode": "lite"}, False),
        ({"memory__enabled": "false"}, False),
        ({"model__provider": "anthropic", "model__api_key": "k"}, False),
        ({"model__provider": "anthropic", "model__api_key": "k", "learn__model": "on"}, True),
        ({"embedding__name": "e"}, False),
        ({"memory__scorer": "own"}, False),
        ({"memory__scorer": "own", "learn__model": "on"}, True),
    ],
)
def test_when_something_may_be_learned(given: dict[str, str], allowed: bool) -> None:
    flags = {name: value for name, value in given.items() if name != "model__api_key"}
    environment = {"SIDEMIRROR_MODEL__API_KEY": given["model__api_key"]} if "model__api_key" in given else {}
    settings = load(flags, environment)
    assert may_learn(settings) is allowed
    assert defaults_of(settings).learns is allowed
    assert not defaults_of(load({**flags, "defaults__learning": "false"}, environment)).learns
