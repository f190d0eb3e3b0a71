"""A thousand sidecars' connections through PgBouncer: `uv run python -m bench.pooled`.

Opens 1,000 stores (`--stores`), a connection each, through PgBouncer in transaction mode with 20 connections to
Postgres. Then all of them do the same, 100 at once: what an idle sidecar looks for, or one append of a turn of their
own. Prints how long that took each of them, how many connections Postgres had, and its CPU time and PgBouncer's. The
clients are one process, whose own work is a part of each time. PgBouncer has to be installed.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import asyncpg
import psutil

from bench.idle_look import cpu_s
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.dreams import PostgresDreams
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope, Served, Serves
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases
from tests.postgres.pooler import Pooler, found

_BEHIND = 20
# Of the clients at once: a call that waits longer for PgBouncer than its time limit would fail.
_AT_ONCE = 100
_PATIENCE_S = 60.0
_CONNECTED = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()"


class Done(NamedTuple):
    """One thing that each store did. `failed`: how many could not; CPU in seconds, of Postgres and of PgBouncer."""

    what: str
    took_ms: list[float]
    failed: int
    connections: int
    postgres_s: float
    pooler_s: float


async def _look(database: PostgresDatabase, number: int) -> None:
    serves, now_us = Serves((Served("team", f"app{number}"),)), database.clock.now_us()
    await PostgresWork(database).claim(serves, ("goal_report", "dream", "erasure"), 8, 10.0, now_us, f"w{number}")
    await PostgresTurnLog(database).idle(serves, now_us, 200)
    await PostgresDreams(database).waiting(serves, now_us, 1000)


async def _append(database: PostgresDatabase, number: int) -> None:
    now_us = database.clock.now_us()
    head = TurnHead(TurnId(f"t{number}"), SessionId("s"), 1, TurnStanding.OPEN, 1, now_us, now_us, b"{}")
    await PostgresTurnLog(database).append(
        Scope("team", f"app{number % 50}"), (Batch(head, (Draft(1, now_us, b"{}"),), b"{}"),)
    )


async def measure(stores: int) -> list[Done]:
    """What the stores did, one thing after the other."""
    cluster = Cluster(max_connections=str(_BEHIND + 20))
    try:
        cluster.start()
        databases = await asyncio.to_thread(Databases, cluster)
        name = await databases.create()
        pooler = Pooler(cluster, _BEHIND, stores + 10)
        observer = await asyncpg.connect(cluster.url("superuser", name))
        server, between = psutil.Process(cluster.pid), psutil.Process(pooler.pid)
        opened: list[PostgresDatabase] = []
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def open_one(_: None, __: int) -> None:
            opened.append(await PostgresDatabase.open(pooler.url(name), connections=1, idle_s=_PATIENCE_S))

        async def one(what: Callable[..., Awaitable[None]], of: object, number: int, took_ms: list[float]) -> bool:
            async with at_once:
                began_s = time.monotonic()
                try:
                    await what(of, number)
                except Exception:  # noqa: BLE001, counted and told
                    return False
                took_ms.append(1e3 * (time.monotonic() - began_s))
                return True

        async def all_of(what: str, does: Callable[..., Awaitable[None]], of: list[object]) -> Done:
            before = (_cpu_s(server), cpu_s([between]))
            took_ms: list[float] = []
            went = await asyncio.gather(*[one(does, each, number, took_ms) for number, each in enumerate(of)])
            connections = await observer.fetchval(_CONNECTED, name)
            spent = (_cpu_s(server) - before[0], cpu_s([between]) - before[1])
            return Done(what, took_ms, went.count(False), connections, *spent)

        try:
            done = [await all_of("connect, and be admitted", open_one, [None] * stores)]
            done.append(await all_of("what an idle sidecar looks for", _look, list(opened)))
            done.append(await all_of("an append", _append, list(opened)))
        finally:
            await observer.close()
            for database in opened:
                await database.close()
            pooler.remove()
        return done
    finally:
        cluster.remove()


def _cpu_s(server: psutil.Process) -> float:
    return cpu_s([server, *server.children()])


def table(stores: int, done: list[Done]) -> str:
    """As Markdown."""
    columns = [f"{stores} stores, {_AT_ONCE} at once", "p50, ms", "p99, ms", "failed", "connections of Postgres"]
    columns += ["Postgres, ms of CPU each", "PgBouncer"]
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for one in done:
        ordered = sorted(one.took_ms)
        p50, p99 = (ordered[int(len(ordered) * share)] for share in (0.5, 0.99))
        each = f"{1e3 * one.postgres_s / stores:.2f} | {1e3 * one.pooler_s / stores:.2f}"
        lines.append(f"| {one.what} | {p50:.0f} | {p99:.0f} | {one.failed} | {one.connections} | {each} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", type=int, default=1_000)
    stores = parser.parse_args().stores
    if found() is None:
        raise SystemExit("PgBouncer is not installed (apt-get install pgbouncer)")
    print(table(stores, asyncio.run(measure(stores))))


if __name__ == "__main__":
    main()
