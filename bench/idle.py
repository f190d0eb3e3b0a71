"""What sidecars that nobody uses ask of one Postgres: `uv run python -m bench.idle`.

Starts sidecars on a Postgres of their own (that of the tests, without autovacuum), has each record one turn, leaves
them alone for `--settle` seconds, and then counts for `--seconds`. A statement is a message that the server logs.
`--watch` opens a watch on each sidecar, `--listen` gives each the address for wake-ups. Another build is measured by
putting its `server` folder first into PYTHONPATH.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import asyncpg

from bench import calls
from bench.http2 import Connection
from bench.processes import Server, Servers
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

_SAMPLE_EVERY_S = 1.0
_LOGGED = (b"LOG:  statement:", b"LOG:  execute")
_COUNTERS = """
SELECT xact_commit + xact_rollback AS transactions, sessions,
       (pg_current_wal_insert_lsn() - '0/0')::bigint AS wal_bytes
FROM pg_stat_database WHERE datname = $1
"""
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()"


class Counters(NamedTuple):
    """What the server has counted so far, but for the connections' number, which is now's."""

    transactions: int
    sessions: int
    wal_bytes: int
    statements: int


class Idle(NamedTuple):
    """What was counted of all sidecars together."""

    sidecars: int
    seconds: float
    connections_before: int
    connections_most: int
    connections_mean: float
    counted: Counters


async def _counters(connection: asyncpg.Connection, cluster: Cluster, name: str) -> Counters:
    transactions, sessions, wal_bytes = await connection.fetchrow(_COUNTERS, name)
    log = (cluster.folder / "log").read_bytes()
    return Counters(transactions, sessions, wal_bytes, sum(log.count(mark) for mark in _LOGGED))


async def _record_a_turn(server: Server) -> None:
    connection = await server.connect()
    await connection.call(calls.START_TURN, calls.start_turn("s"))
    connection.close()


async def _watch(server: Server, seen: asyncio.Queue[bytes]) -> Connection:
    connection = await server.connect()
    connection.open(calls.WATCH_TURNS, lambda got: seen.put_nowait(got or b"")).send(calls.watch(), last=True)
    await seen.get()
    return connection


async def measure(
    sidecars: int, settle_s: float, seconds: float, folder: Path, *, watched: bool = False, listens: bool = False
) -> Idle:
    """Counts what `sidecars` idle sidecars cost in `seconds`, after `settle_s` seconds without use."""
    cluster = Cluster(fsync="on", autovacuum="off", log_statement="all", max_connections=str(5 * sidecars + 20))
    try:
        cluster.start()
        databases = await asyncio.to_thread(Databases, cluster)
        name = await databases.create()
        url = cluster.url("sidecar", name)
        observer = await asyncpg.connect(cluster.url())
        await observer.execute("SET log_statement = 'none'")
        watches = []
        with Servers(folder) as servers:
            for number in range(sidecars):
                flags = ["--database-url", url, "--serves", f"team{number}/app", "--tenant-id", f"team{number}"]
                flags += ["--project-id", "app", *(["--database-listen-url", url] if listens else [])]
                server = await servers.sidecar(*flags)
                await _record_a_turn(server)
                if watched:
                    watches.append(await _watch(server, asyncio.Queue()))
            at_first = int(await observer.fetchval(_CONNECTIONS, name))
            await asyncio.sleep(settle_s)
            found: list[int] = []
            before, began_s = await _counters(observer, cluster, name), time.monotonic()
            while time.monotonic() - began_s < seconds:
                found.append(int(await observer.fetchval(_CONNECTIONS, name)))
                await asyncio.sleep(_SAMPLE_EVERY_S)
            took_s, after = time.monotonic() - began_s, await _counters(observer, cluster, name)
            for connection in watches:
                connection.close()
        await observer.close()
    finally:
        cluster.remove()
    counted = Counters(*(now - then for now, then in zip(after, before, strict=True)))
    return Idle(sidecars, took_s, at_first, max(found), sum(found) / len(found), counted)


def table(idle: Idle) -> str:
    """The figures, in all and for one sidecar."""
    each_s = idle.sidecars * idle.seconds
    rows = [
        ("connections in use before", f"{idle.connections_before}", f"{idle.connections_before / idle.sidecars:.2f}"),
        ("connections when idle, mean", f"{idle.connections_mean:.2f}", f"{idle.connections_mean / idle.sidecars:.3f}"),
        ("connections when idle, most", f"{idle.connections_most}", f"{idle.connections_most / idle.sidecars:.2f}"),
    ]
    for what, count in (
        ("transactions", idle.counted.transactions),
        ("statements", idle.counted.statements),
        ("new connections", idle.counted.sessions),
        ("bytes of WAL", idle.counted.wal_bytes),
    ):
        rows.append((f"{what} a second", f"{count / idle.seconds:.3f}", f"{count / each_s:.4f}"))
    head = f"| {idle.sidecars} sidecars, {idle.seconds:.0f} s | all | one |\n|---|---|---|"
    return "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sidecars", type=int, default=10)
    parser.add_argument("--settle", type=float, default=330.0, metavar="SECONDS")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--listen", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = measure(
            given.sidecars, given.settle, given.seconds, Path(folder), watched=given.watch, listens=given.listen
        )
        print(table(asyncio.run(run)))


if __name__ == "__main__":
    main()
