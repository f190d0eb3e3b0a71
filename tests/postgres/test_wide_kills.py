"""Two sidecars write to one project while they and Postgres are killed at random, and a watch goes on."""

import asyncio
import random
from pathlib import Path

import pytest

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.trace.log import TURN_TOPIC, Entry
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.conformance.turn_log import EVERYTHING
from tests.faults.agents import check_record, record_of
from tests.faults.figures import show
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.postgres.databases import Databases
from tests.postgres.test_kills import Work, kill_postgres, kill_sidecar

pytestmark = pytest.mark.slow("processes are killed at random")


class Follower:
    """A watch of the whole project, as a sidecar reads the log for it."""

    def __init__(self, url: str) -> None:
        self.seen: list[Entry] = []
        self._url = url
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        database = await PostgresDatabase.open(self._url)
        log = PostgresTurnLog(database)
        try:
            while True:
                try:
                    after = self.seen[-1].position if self.seen else 0
                    self.seen += await log.tail(DEFAULT_SCOPE, TURN_TOPIC, None, after, 50, EVERYTHING)
                except StoreUnavailable:  # it was killed
                    pass
                await asyncio.sleep(0.002)
        finally:
            await database.close()

    async def end(self, last: int) -> None:
        """Returns once it has shown the entry of this position."""
        async with asyncio.timeout(60):
            while not self.seen or self.seen[-1].position < last:
                assert not self._task.done(), self._task.exception()
                await asyncio.sleep(0.02)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.mark.parametrize(
    ("kills", "total"),
    [
        pytest.param(3, 300, id="3-kills", marks=pytest.mark.timeout(300)),
        pytest.param(100, 10_000, id="100-kills", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
async def test_a_watch_leaves_nothing_out(kills: int, total: int, durable: Databases, tmp_path: Path) -> None:
    """Nothing that was acknowledged is lost or doubled, and the watch has shown what there is in the end, each entry
    once and in the log's order. Seen to fail with readers that take the log to be settled."""
    chance = random.Random(21)
    url = durable.cluster.url("sidecar", await durable.create())
    one, other = Process(tmp_path / "one", {"database_url": url}), Process(tmp_path / "other", {"database_url": url})
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    async with one, other:
        follower = Follower(url)
        works = [Work(one, "one-"), Work(other, "other-")]
        for kill in range(kills):
            for work in works:
                await work.until_acknowledged(total * (kill + chance.random()) / kills / 2)
            if kill % 3 == 2:
                await kill_postgres(durable.cluster, works[0])
            else:
                await kill_sidecar((one, other)[kill % 2])
        for work in works:
            await work.finish()
        database = await PostgresDatabase.open(url)
        log = PostgresTurnLog(database)
        await follower.end(await log.last_position(DEFAULT_SCOPE))
        there = list(await log.tail(DEFAULT_SCOPE, TURN_TOPIC, None, 0, EVERYTHING, EVERYTHING))
        await database.close()
        wrong = []
        async with connected(one.address) as stub:
            for work in works:
                found = []
                for agent in work.agents:
                    _, entries = await record_of(stub, agent.turn_id)
                    found += [entry.event.event_id for entry in entries if entry.HasField("event")]
                    wrong += [f"{agent.turn_id}: {problem}" for problem in check_record(entries, agent.events)]
                wrong += work.journal.violations(found)
    assert wrong == []
    assert follower.seen == there
    show(f"{kills} kills beside two writing sidecars: a watch showed {len(there)} entries, each once and in order")
