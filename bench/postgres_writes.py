"""What recorded turns write into Postgres: `uv run python -m bench.postgres_writes`.

One sidecar on a Postgres of its own (that of the tests) is sent turns of a dozen events, some at a time. Prints how
much WAL that took and how large the tables are, how many updates of each table stayed within their page (HOT), and
which indexes nothing was looked up in meanwhile. Another build is measured by putting its `server` folder first into
PYTHONPATH.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import asyncpg

from bench import calls
from bench.processes import Server, Servers
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

_AT_ONCE = 16
_WAL = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
_TABLES = """
SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del, pg_total_relation_size(relid)
FROM pg_stat_user_tables
WHERE schemaname = 'sidemirror' AND n_tup_ins + n_tup_upd > 0
ORDER BY n_tup_ins + n_tup_upd DESC
"""
_UNUSED = """
SELECT relname, indexrelname, pg_relation_size(indexrelid)
FROM pg_stat_user_indexes JOIN pg_index USING (indexrelid)
WHERE schemaname = 'sidemirror' AND idx_scan = 0 AND NOT indisunique AND pg_relation_size(indexrelid) > 16384
ORDER BY 3 DESC
"""


async def _turns(server: Server, turns: int, events: int) -> None:
    # A connection carries calls of one method (`bench/http2.py`).
    starting, reporting, finishing = [await server.connect() for _ in range(3)]

    async def one(number: int) -> None:
        turn_id = calls.turn_of(await starting.call(calls.START_TURN, calls.start_turn(f"s{number % 100}")))
        for event in range(events):
            await reporting.call(calls.REPORT_EVENTS, calls.report_event(turn_id, event))
        await finishing.call(calls.FINISH_TURN, calls.finish_turn(turn_id))

    numbers = iter(range(turns))

    async def agent() -> None:
        for number in numbers:
            await one(number)

    await asyncio.gather(*[agent() for _ in range(_AT_ONCE)])
    for connection in (starting, reporting, finishing):
        connection.close()


async def measure(turns: int, events: int, folder: Path) -> str:
    """The report, as Markdown."""
    cluster = Cluster(autovacuum="off")
    try:
        cluster.start()
        databases = await asyncio.to_thread(Databases, cluster)
        name = await databases.create()
        observer = await asyncpg.connect(cluster.url("superuser", name))
        with Servers(folder) as servers:
            server = await servers.sidecar("--database-url", cluster.url("sidecar", name))
            before, began_s = await observer.fetchval(_WAL), time.monotonic()
            await _turns(server, turns, events)
            took_s, wal = time.monotonic() - began_s, await observer.fetchval(_WAL) - before
        await asyncio.sleep(2)  # the statistics of the connections that have ended
        tables, unused = await observer.fetch(_TABLES), await observer.fetch(_UNUSED)
        size = await observer.fetchval("SELECT pg_database_size(current_database())")
        await observer.close()
    finally:
        cluster.remove()
    lines = [
        f"{turns} turns of {events} events in {took_s:.1f} s: {wal / 1e6:.1f} MB of WAL, {size / 1e6:.1f} MB on disk",
        "",
        "| table | inserts | updates | of them HOT | deletes | MB with indexes |",
        "|---|---|---|---|---|---|",
    ]
    for table, inserts, updates, hot, deletes, table_bytes in tables:
        share = f"{100 * hot / updates:.0f} %" if updates else "-"
        lines.append(f"| {table} | {inserts} | {updates} | {share} | {deletes} | {table_bytes / 1e6:.2f} |")
    lines += ["", "| index that nothing was looked up in | MB |", "|---|---|"]
    lines += [f"| {index} on {table} | {index_bytes / 1e6:.2f} |" for table, index, index_bytes in unused]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=12)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(asyncio.run(measure(given.turns, given.events, Path(folder))))


if __name__ == "__main__":
    main()
