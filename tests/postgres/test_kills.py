"""Postgres and the sidecar are killed at random while agents run turns, and come back."""

import asyncio
import random
import time
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import Agent, a_turn, check_record, record_of
from tests.faults.figures import show
from tests.faults.journal import Journal, Outcome
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.faults.waiting import until
from tests.postgres.databases import Databases

AGENTS = 8


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("kills", "total"),
    [
        pytest.param(8, 1_600, id="8-kills"),
        pytest.param(100, 20_000, id="100-kills", marks=[pytest.mark.long, pytest.mark.timeout(1200)]),
    ],
)
async def test_nothing_acknowledged_is_lost_or_doubled(
    kills: int, total: int, durable: Databases, tmp_path: Path
) -> None:
    """Every second kill is Postgres'. Seen to fail with `SET LOCAL synchronous_commit = off` in `_begin` ("lost")."""
    cluster = durable.cluster
    journal, chance = Journal(), random.Random(11)
    per_turn = total // (AGENTS * 5)
    agents: list[Agent] = []
    back_s: list[float] = []
    name = await durable.create()
    process = Process(tmp_path, {"database_url": cluster.url("sidecar", name)})

    async def work(number: int) -> None:
        for turn in range(5):
            turn_id = f"a{number}-t{turn}"
            agent = Agent(turn_id, a_turn(turn_id, f"s{number}", per_turn), journal)
            agents.append(agent)
            while not agent.over:
                await until(lambda: process.running and process.port > 0)
                await agent.run_on(process.address)
                await asyncio.sleep(0.01)

    async def progress() -> None:
        done = journal.count(Outcome.OK)
        await until(lambda: journal.count(Outcome.OK) > done or working_is_over(), within_s=10)

    def working_is_over() -> bool:
        return all(task.done() for task in working)

    async with process:
        working = [asyncio.create_task(work(number)) for number in range(AGENTS)]
        for kill in range(kills):
            wanted = total * (kill + chance.random()) / (kills + 1)
            await until(
                lambda wanted=wanted: journal.count(Outcome.OK) >= wanted or working_is_over(),  # type: ignore[misc]
                within_s=60,
            )
            assert not working_is_over(), "the work was over before the last kill"
            if kill % 2:
                process.kill()
                process.port = 0
                await process.start()
            else:
                await asyncio.to_thread(cluster.kill)
                await asyncio.to_thread(cluster.start)
                began_s = time.monotonic()
                await progress()
                back_s.append(time.monotonic() - began_s)
        await asyncio.gather(*working)

        found, wrong = [], []
        async with connected(process.address) as stub:
            for agent in agents:
                turn, entries = await record_of(stub, agent.turn_id)
                assert turn.state == pb.TURN_STATE_FINISHED
                found += [entry.event.event_id for entry in entries if entry.HasField("event")]
                wrong += [f"{agent.turn_id}: {problem}" for problem in check_record(entries, agent.events)]
            record = stub.WatchTurns(pb.WatchTurnsRequest(follow=False))
            watched = [response.entry.event.event_id async for response in record if response.entry.HasField("event")]
    assert journal.violations(found) == []
    assert sorted(watched) == sorted(found)
    assert wrong == []
    assert journal.count(Outcome.OK) == total
    assert max(back_s) < 5.0
    breaks = sum(agent.breaks for agent in agents)
    show(
        f"{kills} kills, {total} events acknowledged, {breaks} broken streams; acknowledging again "
        f"{max(back_s):.2f} s after Postgres' return at most"
    )
