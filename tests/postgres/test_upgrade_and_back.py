"""An upgrade and the way back, with agents at work: sidecars of a landed wheel and of this build, side by side on one
Postgres. Each replica is replaced by itself, as a rollout does it."""

from pathlib import Path

import pytest

from sidemirror_server.storage.postgres.migrate import migrate, read_migrations
from tests.clients.landed import server
from tests.faults.figures import show
from tests.faults.journal import Outcome
from tests.faults.process import Process
from tests.faults.upgrades import LANDED, Replica, Work, landed, what_is_wrong
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("a wheel is built, and two builds run side by side")

REPLICAS = 2


@pytest.mark.parametrize(
    ("rounds", "events"),
    [
        pytest.param(1, 300, id="once", marks=pytest.mark.timeout(400)),
        pytest.param(10, 3_000, id="10-times", marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_nothing_is_lost_up_and_back(rounds: int, events: int, databases: Databases, tmp_path: Path) -> None:
    """Seen to fail (a turn is not there) when new sidecars start with stores of their own."""
    wheel = server(LANDED, tmp_path / "landed")
    async with databases.fresh(migrated=False) as name:
        owner = databases.cluster.url("owner", name)
        settings = {"database_url": databases.cluster.url("sidecar", name), "grace_s": "5"}
        known = read_migrations()
        before = list((Path(wheel.path) / "sidemirror_server/storage/postgres/migrations").glob("*.sql"))
        await migrate(owner, ["sidecar"], 1, known[: len(before)])

        def build(place: str, *, old: bool) -> Process:
            folder = tmp_path / place
            return landed(wheel, folder, settings) if old else Process(folder, settings)

        replicas = [Replica() for _ in range(REPLICAS)]
        try:
            for number, replica in enumerate(replicas):
                await replica.replace(build(f"{number}-before", old=True))
            work = Work(replicas)
            await work.goes_on(events)
            applied = await migrate(owner, ["sidecar"], 2)
            assert len(applied) == len(known) - len(before)
            assert applied
            await work.goes_on(events)
            for turn in range(rounds):
                for old in (False, True):
                    for number, replica in enumerate(replicas):
                        await replica.replace(build(f"{number}-{turn}-{old}", old=old))
                        await work.goes_on(events)
            await work.finish()
            lost = [await what_is_wrong(work, replicas[0].address)]
            await replicas[0].replace(build("reader", old=False))
            lost.append(await what_is_wrong(work, replicas[0].address))
        finally:
            for replica in replicas:
                if replica.process is not None:
                    replica.process.kill()
    show(
        f"{2 * rounds * REPLICAS} replacements of {LANDED} and this build, {work.journal.count(Outcome.OK)} events and "
        f"{len(work.reports)} goals: {sum(map(len, lost))} lost or doubled; the longest turn: {work.longest_s:.1f} s"
    )
    assert lost == [[], []]
