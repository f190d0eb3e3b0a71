"""What a look of an idle sidecar costs Postgres: `uv run python -m bench.idle_look`.

A look connects, is admitted, asks for jobs, silent turns and dreams that are due, and closes the connection, as
`assembly/looks.py` does every 15 minutes. The cost is CPU time of all processes of the server, directly with a password
(SCRAM) and behind PgBouncer in transaction mode where it is installed, and from it how many idle sidecars a core holds.
PgBouncer's own time is told apart.
"""

import argparse
import asyncio
import contextlib
from typing import NamedTuple

import psutil

from sidemirror_server.assembly.upkeep import QUIET_LOOK_S
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.dreams import PostgresDreams
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.vocabulary.scope import Served, Serves
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases
from tests.postgres.pooler import Pooler, found

_KINDS = ("goal_report", "dream", "erasure")
_SERVES = Serves((Served("team", "app"),))


class Cost(NamedTuple):
    """CPU milliseconds of one look: of Postgres, and of PgBouncer."""

    postgres_ms: float
    pooler_ms: float


def cpu_s(processes: list[psutil.Process]) -> float:
    """CPU time of processes and of the children that they have waited for. A process that has ended is left out: name
    those that wait for it after it."""
    spent_s = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            spent_s += sum(process.cpu_times()[:4])
    return spent_s


async def look(url: str) -> None:
    """One look."""
    database = await PostgresDatabase.open(url)
    now_us = database.clock.now_us()
    await PostgresWork(database).claim(_SERVES, _KINDS, 8, 10.0, now_us, "w")
    await PostgresTurnLog(database).idle(_SERVES, now_us, 200)
    await PostgresDreams(database).waiting(_SERVES, now_us, 1000)
    await database.close()


async def _cost(url: str, looks: int, server: psutil.Process, pooler: psutil.Process | None) -> Cost:
    await look(url)
    both = [[*server.children(), server], [pooler] if pooler else []]
    before = [cpu_s(processes) for processes in both]
    for _ in range(looks):
        await look(url)
    await asyncio.sleep(1)  # the last backends end
    both[0] = [*server.children(), server]
    after = [cpu_s(processes) for processes in both]
    postgres_s, pooler_s = (later - earlier for earlier, later in zip(before, after, strict=True))
    return Cost(1e3 * postgres_s / looks, 1e3 * pooler_s / looks)


async def measure(looks: int) -> dict[str, Cost]:
    """The cost by the way to the server."""
    cluster = Cluster(autovacuum="off")
    try:
        cluster.start()
        databases = await asyncio.to_thread(Databases, cluster)
        name = await databases.create()
        server = psutil.Process(cluster.pid)
        costs = {}
        if found() is not None:
            pooler = Pooler(cluster, 4)
            try:
                costs["PgBouncer"] = await _cost(pooler.url(name), looks, server, psutil.Process(pooler.pid))
            finally:
                pooler.remove()
        await databases.as_superuser("ALTER ROLE sidecar PASSWORD 'hunter2'; GRANT asked_for_password TO sidecar")
        costs["directly"] = await _cost(cluster.url("sidecar", name), looks, server, None)
        return costs
    finally:
        cluster.remove()


def table(costs: dict[str, Cost]) -> str:
    """As Markdown."""
    lines = ["| way | Postgres, ms | PgBouncer, ms | idle sidecars on a core of Postgres |", "|---|---|---|---|"]
    for way, cost in costs.items():
        held = 1e3 * QUIET_LOOK_S / cost.postgres_ms
        lines.append(f"| {way} | {cost.postgres_ms:.2f} | {cost.pooler_ms:.2f} | {held:,.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--looks", type=int, default=500)
    print(table(asyncio.run(measure(parser.parse_args().looks))))


if __name__ == "__main__":
    main()
