"""Sidecars of two builds in each other's place, and agents at work beside them."""

import asyncio
import signal
import time
from pathlib import Path

from tests.clients.harness import Version
from tests.faults.agents import Agent, a_turn, check_record, record_of
from tests.faults.journal import Journal, Outcome
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.faults.waiting import until
from tests.goals.agents import a_report, all_reports, report_until_accepted, until_ended
from tests.goals.agents import connected as connected_for_goals

# The newest that landed before the migrations of 202611230458; its sidecars go on with these.
LANDED = "2ed1f295"
_AGENTS = 6
_EVENTS = 60
# Where nobody listens.
_NOWHERE = "127.0.0.1:1"
# How long no event at all may become durable: longer than a sidecar takes to end and another one to start. How long a
# step may take says nothing of the builds on a machine that is busy with something else.
_STILL_S = 120.0


def landed(wheel: Version, folder: Path, settings: dict[str, str]) -> Process:
    """A sidecar of a landed wheel."""
    return Process(folder, settings, module="sidemirror_server.cli", arguments=("serve",), tree=Path(wheel.path))


class Replica:
    """A place for a sidecar of either build. `address` is empty while none serves there."""

    def __init__(self) -> None:
        self.process: Process | None = None

    @property
    def address(self) -> str:
        return self.process.address if self.process is not None and self.process.running else ""

    async def replace(self, process: Process) -> None:
        """As Kubernetes does it: the one that is there is told to end, then the other one starts."""
        await self.end()
        await process.start()
        self.process = process

    async def end(self) -> None:
        was, self.process = self.process, None
        if was is not None:
            was.signal(signal.SIGTERM)
            code, _ = await was.ended(within_s=60)
            assert code == 0, was.text()[-2000:]


class Work:
    """Agents that run one turn after the other at their replica, and report a goal after each."""

    def __init__(self, replicas: list[Replica]) -> None:
        self.journal = Journal()
        self.agents: list[Agent] = []
        self.reports: set[str] = set()
        self.longest_s = 0.0
        self._over = False
        self._replicas = len(replicas)
        self._tasks = [
            asyncio.create_task(self._run(number, replicas[number % len(replicas)])) for number in range(_AGENTS)
        ]

    async def _run(self, number: int, replica: Replica) -> None:
        turn = 0
        while not self._over:
            turn_id = f"a{number}-t{turn}"
            agent = Agent(turn_id, a_turn(turn_id, f"s{number}", _EVENTS), self.journal)
            self.agents.append(agent)
            began_s = time.monotonic()
            while not agent.over:
                await until(lambda: bool(replica.address))
                await agent.run_on(replica.address)
                await asyncio.sleep(0.01)
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
            told = await report_until_accepted(
                lambda: replica.address or _NOWHERE, a_report(f"goal of {turn_id}", turn_id)
            )
            self.reports.add(told)
            turn += 1

    async def goes_on(self, events: int) -> None:
        """Returns when so many more events are durable, of agents of every replica."""
        wanted = self.journal.count(Outcome.OK) + events
        turns = len([agent for agent in self.agents if agent.over]) + self._replicas
        seen, moved_s = 0, time.monotonic()

        def has() -> bool:
            nonlocal seen, moved_s
            for task in self._tasks:
                if task.done():
                    task.result()  # which shows what ended it
            durable, ended = self.journal.count(Outcome.OK), len([agent for agent in self.agents if agent.over])
            if durable > seen:
                seen, moved_s = durable, time.monotonic()
            assert time.monotonic() - moved_s < _STILL_S, f"none of {wanted - durable} events within {_STILL_S} s"
            return durable >= wanted and ended >= turns

        await until(has, within_s=900, every_s=0.05)

    async def finish(self) -> None:
        self._over = True
        await asyncio.gather(*self._tasks)


async def what_is_wrong(work: Work, address: str) -> list[str]:
    """What one sidecar shows of all that was acknowledged, whichever sidecar took it."""
    found, wrong = [], []
    async with connected(address) as stub:
        for agent in work.agents:
            _, entries = await record_of(stub, agent.turn_id)
            found += [entry.event.event_id for entry in entries if entry.HasField("event")]
            wrong += check_record(entries, agent.events)
    async with connected_for_goals(address) as stub:
        states = await until_ended(stub, len(work.reports), within_s=120)
        listed = [report.report_id for report in await all_reports(stub)]
    if sorted(listed) != sorted(work.reports) or set(states) != {"DONE"}:
        wrong.append(f"{len(work.reports)} goals were reported, {len(listed)} are listed: {states}")
    return wrong + work.journal.violations(found)
