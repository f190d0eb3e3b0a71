"""The sidecar is killed at random while agents run turns, and comes back."""

import asyncio
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import Agent, a_turn, check_record, record_of
from tests.faults.figures import show
from tests.faults.journal import Journal, Outcome
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.faults.waiting import until

pytestmark = pytest.mark.slow("processes are killed at random")

AGENTS = 8


@pytest.mark.parametrize(
    ("kills", "total"),
    [
        pytest.param(4, 4_000, id="4-kills"),
        pytest.param(20, 20_000, id="20-kills", marks=[pytest.mark.long, pytest.mark.timeout(300)]),
    ],
)
async def test_nothing_acknowledged_is_lost_or_doubled(kills: int, total: int, tmp_path: Path) -> None:
    """Eight agents on RunTurn with a model that never answers, so that each kill leaves claims behind.

    Seen to fail when an ack calls durable what was only received ("lost"), when `Conductor.report` does not look at
    `turn.seen` ("2 times"), and when `_find` does not give up what a crash left behind ("has 0 results").
    """
    journal, chance = Journal(), random.Random(11)
    per_turn = total // (AGENTS * 5)
    agents: list[Agent] = []
    process = Process(tmp_path, arguments=("--model", "never"))

    async def work(number: int) -> None:
        for turn in range(5):
            turn_id = f"a{number}-t{turn}"
            agent = Agent(turn_id, a_turn(turn_id, f"s{number}", per_turn), journal)
            agents.append(agent)
            while not agent.over:
                await until(lambda: process.running and process.port > 0)
                await agent.run_on(process.address)
                await asyncio.sleep(0.01)

    async with process:
        working = [asyncio.create_task(work(number)) for number in range(AGENTS)]
        for kill in range(kills):
            wanted = total * (kill + chance.random()) / (kills + 1)

            def far_enough(wanted: float = wanted) -> bool:
                for task in working:
                    if task.done():
                        task.result()  # an agent that gave up says why
                return journal.count(Outcome.OK) >= wanted

            await until(far_enough, within_s=60)
            process.kill()
            process.port = 0
            await process.start()
            assert not all(task.done() for task in working), "the work was over before the last kill"
        await asyncio.gather(*working)

        kept = await _what_is_kept(process.address, agents)
    assert journal.violations(kept.found) == []
    assert kept.wrong == []
    assert journal.count(Outcome.OK) == total
    assert kept.failed > 0, "no kill met a claim: the test shows nothing about them"
    breaks = sum(agent.breaks for agent in agents)
    show(f"{kills} kills, {total} events, {breaks} broken streams, {kept.failed} claims failed after a restart")


class Kept(NamedTuple):
    """What the server has of the agents' turns: event ids, what is wrong, claims that failed after a restart."""

    found: list[str]
    wrong: list[str]
    failed: int


async def _what_is_kept(address: str, agents: list[Agent]) -> Kept:
    found: list[str] = []
    wrong: list[str] = []
    failed = 0
    async with connected(address) as stub:
        for agent in agents:
            turn, entries = await record_of(stub, agent.turn_id)
            problems = check_record(entries, agent.events)
            if turn.state != pb.TURN_STATE_FINISHED:
                problems.append("it is not finished")
            found += [entry.event.event_id for entry in entries if entry.HasField("event")]
            told = {directive.directive_id for directive in agent.directives}
            recorded = [entry.directive for entry in entries if entry.HasField("directive")]
            problems += [
                f"{directive.directive_id} at {directive.sequence} was never told"
                for directive in recorded
                # why nothing was told is kept and never sent
                if directive.directive_id not in told and not directive.HasField("silence")
            ]
            wrong += [f"{agent.turn_id}: {problem}" for problem in problems]
            failed += sum(
                directive.reflection.status == common_pb2.RESULT_STATUS_FAILED_MODEL
                and "restarted" in directive.reflection.detail
                for directive in recorded
            )
    return Kept(found, wrong, failed)
