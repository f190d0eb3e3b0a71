"""Postgres and the sidecar are killed at random while agents run turns, and come back."""

import asyncio
import itertools
import random
import time
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import Agent, a_turn, check_record, record_of
from tests.faults.figures import show
from tests.faults.journal import Journal, Outcome
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import Stub, connected
from tests.faults.waiting import until
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("processes are killed at random")

AGENTS = 8
EVENTS = 25  # of a turn


class Work:
    """Agents at work on one sidecar, whatever happens to it."""

    def __init__(self, process: Process, prefix: str = "") -> None:
        """`prefix`: of the turns' ids."""
        self._prefix = prefix
        self.journal = Journal()
        self.agents: list[Agent] = []
        self._process = process
        self._over = asyncio.Event()
        self._tasks = [asyncio.create_task(self._run(number)) for number in range(AGENTS)]

    async def _run(self, number: int) -> None:
        """Turn after turn, none of them too soon after the last."""
        for turn in itertools.count():
            turn_id = f"{self._prefix}a{number}-t{turn}"
            agent = Agent(turn_id, a_turn(turn_id, f"s{self._prefix}{number}-{turn // 20}", EVENTS), self.journal)
            self.agents.append(agent)
            while not agent.over:
                await until(lambda: self._process.running and self._process.port > 0)
                await agent.run_on(self._process.address)
                await asyncio.sleep(0.01)
            if self._over.is_set():
                return
            await asyncio.sleep(0.3)

    async def until_acknowledged(self, events: float, within_s: float = 60.0) -> float:
        """Returns once so many events are; how many seconds that took."""
        began_s = time.monotonic()
        await until(
            lambda: self.journal.count(Outcome.OK) >= events or any(map(asyncio.Task.done, self._tasks)), within_s
        )
        for task in self._tasks:
            if task.done():
                task.result()  # which shows what ended it
        return time.monotonic() - began_s

    async def finish(self) -> None:
        """The turns that are open come to their end."""
        self._over.set()
        await asyncio.gather(*self._tasks)


async def kill_postgres(cluster: Cluster, work: Work) -> float:
    """Seconds from its return to the next acknowledgement."""
    await asyncio.to_thread(cluster.kill)
    await asyncio.to_thread(cluster.start)
    return await work.until_acknowledged(work.journal.count(Outcome.OK) + 1, within_s=60)


async def kill_sidecar(process: Process) -> None:
    process.kill()
    process.port = 0
    await process.start()


async def wrongs(stub: Stub, work: Work) -> list[str]:
    """What is recorded and should not be, or is missing."""
    found, wrong = [], []
    for agent in work.agents:
        turn, entries = await record_of(stub, agent.turn_id)
        if turn.state != pb.TURN_STATE_FINISHED:
            wrong.append(f"{agent.turn_id} is not finished")
        found += [entry.event.event_id for entry in entries if entry.HasField("event")]
        wrong += [f"{agent.turn_id}: {problem}" for problem in check_record(entries, agent.events)]
    record = stub.WatchTurns(pb.WatchTurnsRequest(follow=False))
    watched = [response.entry.event.event_id async for response in record if response.entry.HasField("event")]
    if sorted(watched) != sorted(found):
        wrong.append("a watch shows other events than the turns have")
    return wrong + work.journal.violations(found)


@pytest.mark.parametrize(
    ("kills", "total"),
    [
        pytest.param(4, 800, id="4-kills"),
        pytest.param(100, 20_000, id="100-kills", marks=[pytest.mark.long, pytest.mark.timeout(1200)]),
    ],
)
async def test_nothing_acknowledged_is_lost_or_doubled(
    kills: int, total: int, durable: Databases, machine: Machine, tmp_path: Path
) -> None:
    """Every second kill is Postgres'. Seen to fail with `SET LOCAL synchronous_commit = off` in `begin`: a turn that
    was acknowledged is not found."""
    chance = random.Random(11)
    back_s: list[float] = []
    url = durable.cluster.url("sidecar", await durable.create())
    async with Process(tmp_path, {"database_url": url}) as process:
        work = Work(process)
        for kill in range(kills):
            await work.until_acknowledged(total * (kill + chance.random()) / kills)
            if kill % 2:
                await kill_sidecar(process)
            else:
                back_s.append(await kill_postgres(durable.cluster, work))
        await work.until_acknowledged(total)
        await work.finish()
        async with connected(process.address) as stub:
            assert await wrongs(stub, work) == []
    breaks = sum(agent.breaks for agent in work.agents)
    show(
        f"{kills} kills, {work.journal.count(Outcome.OK)} events acknowledged, {breaks} broken streams; acknowledging "
        f"again {max(back_s):.2f} s after Postgres' return at most"
    )
    assert max(back_s) < 5.0 + machine.late_s()
