"""Two sidecars on one database: a project has one dreamer."""

import asyncio
from collections import Counter
from pathlib import Path

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.vocabulary.status import Usage
from tests.faults.clocks import SetClock
from tests.faults.figures import show
from tests.faults.sidecars import Running, Stub, channel, running
from tests.memory.dreamers import CAUSES, lesson, understands
from tests.postgres.databases import Databases

PROJECTS, EPISODES, ROUNDS = 5, 4, 2


class Watchful:
    """Answers, and sees how many ask about one project at once. A prompt names its project."""

    provider = "test"
    name = "watchful"

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.most = Counter[str]()
        self._now = Counter[str]()

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        project = ask.prompt.partition("never for ")[2].split(".")[0]
        self.asked[project] += 1
        self._now[project] += 1
        self.most[project] = max(self.most[project], self._now[project])
        await asyncio.sleep(0.05)  # long enough for another one to come
        self._now[project] -= 1
        answer = understands(ask)
        assert isinstance(answer, ask.answer_type)
        return Completion(answer, Usage(self.provider, self.name))


async def fill(stub: Stub, project: str, round_no: int) -> None:
    """Episodes of three kinds of failures; in each round twice as many as in the one before."""
    for tool in CAUSES:
        for number in range(EPISODES * 2**round_no):
            one = lesson(1_000 * round_no + number, tool)
            one["applies_when"] = pb.AppliesWhen(tools=[tool], not_when=f"never for {project}.")
            request = pb.StoreReflectionRequest(
                project_id=project, session_id=f"{tool} {round_no} {number}", result=pb.ReflectionResult(**one)
            )
            await stub.StoreReflection(request, timeout=60)


async def ask_for(stub: Stub, project: str) -> pb.DreamLogEntry:
    told: list[pb.DreamResponse] = [one async for one in stub.Dream(pb.DreamRequest(project_id=project), timeout=60)]
    return told[-1].dream


async def look(served: Running) -> None:
    schedule = served.sidecar.memory.schedule
    assert schedule is not None
    await schedule.look()


async def test_a_project_has_one_dreamer(databases: Databases, tmp_path: Path) -> None:
    """Each sidecar is asked, and finds by itself, that five projects should dream. Seen to fail when the job of a pass
    has an id of its own instead of one that derives from the project and its number."""
    model, clock = Watchful(), SetClock()
    async with (
        databases.fresh() as name,
        running(tmp_path / "a", model=model, clock=clock, database_url=databases.cluster.url("sidecar", name)) as one,
        running(tmp_path / "b", model=model, clock=clock, database_url=databases.cluster.url("sidecar", name)) as two,
        channel(one.address) as to_one,
        channel(two.address) as to_two,
    ):
        stubs = [ReflectiveMemoryServiceStub(connection) for connection in (to_one, to_two)]
        projects = [f"project{number}" for number in range(PROJECTS)]
        for round_no in range(ROUNDS):
            await asyncio.gather(*(fill(stubs[0], project, round_no) for project in projects))
            clock.advance(8 * 24 * 3600)
            told = await asyncio.gather(
                look(one), look(two), *(ask_for(stub, project) for stub in stubs for project in projects)
            )
            ended = [dream for dream in told if dream is not None]
            assert {dream.number for dream in ended} == {round_no + 1}
        for project in projects:
            log = (await stubs[1].ListDreams(pb.ListDreamsRequest(project_id=project), timeout=60)).dreams
            assert [dream.number for dream in log] == list(range(ROUNDS, 0, -1))
            assert sum(dream.read_count for dream in log) == len(CAUSES) * EPISODES * (2**ROUNDS - 1)
            assert [dream.asked_count for dream in log] == [len(CAUSES)] * ROUNDS
    assert dict(model.most) == dict.fromkeys(projects, 1), "one question of a project at a time"
    assert dict(model.asked) == dict.fromkeys(projects, len(CAUSES) * ROUNDS)
    show(f"two sidecars, {PROJECTS} projects, {ROUNDS} passes each: {model.asked.total()} questions, none at once")
