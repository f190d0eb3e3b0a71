"""A fleet's turns over some weeks, written and removed when they are old: `uv run python -m bench.fleet`.

Each day of 1,000 turns (`--turns`) is written at once into a Postgres of its own (that of the tests, with its
autovacuum), and then what is older than 10 days (`--kept`) is removed as retention does it, 50 turns in a transaction.
Beside it an agent appends one event after the other: how long that takes is told with and without a removal. At the end
the tables are compared with a copy of themselves that has no room left over (VACUUM FULL).
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import asyncpg

from sidemirror_server.assembly.retention import TURNS_AT_ONCE
from sidemirror_server.models.ledger import US_PER_DAY
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.pruning import PostgresPruning
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

# A turn's appends, each of so many entries of so many bytes. Chosen here, after what agents report (bench/store.py).
_APPENDS, _ENTRIES, _BYTES = 4, 4, 300
_TOGETHER = 25  # turns of an append
_PROJECTS = 20
_DAY_0_US = 1_700_000_000_000_000
_TABLES = """
SELECT relname, n_tup_upd, n_tup_hot_upd, n_dead_tup, pg_total_relation_size(relid) AS bytes
FROM pg_stat_user_tables
WHERE schemaname = 'sidemirror' AND n_tup_ins > $1
ORDER BY bytes DESC
"""


class Fleet(NamedTuple):
    """What came of it. `removals_s`: for each day with old turns, how long their removal took. `alone_ms`, `beside_ms`:
    appends. `full_bytes`: by table, the size of its copy. `size_by_day`: bytes of the database."""

    turns: int
    removed: int
    removals_s: list[float]
    alone_ms: list[float]
    beside_ms: list[float]
    tables: list[asyncpg.Record]
    full_bytes: dict[str, int]
    size_by_day: list[int]


def _batch(turn: str, at_us: int, part: int) -> Batch:
    last = (part + 1) * _ENTRIES
    standing = TurnStanding.FINISHED if part == _APPENDS - 1 else TurnStanding.OPEN
    head = TurnHead(TurnId(turn), SessionId(turn), 1, standing, last, at_us, at_us + part, b'{"task":"t"}')
    body = b'{"text":"' + b"x" * _BYTES + b'"}'
    drafts = tuple(Draft(sequence, at_us, body) for sequence in range(last - _ENTRIES + 1, last + 1))
    return Batch(head, drafts, b"{}" if part == 0 else None)


async def _write_day(log: PostgresTurnLog, day: int, turns: int) -> None:
    at_us = _DAY_0_US + day * US_PER_DAY
    for first in range(0, turns, _TOGETHER):
        scope = Scope("fleet", f"p{first // _TOGETHER % _PROJECTS}")
        for part in range(_APPENDS):
            numbers = range(first, min(first + _TOGETHER, turns))
            await log.append(scope, tuple(_batch(f"d{day}-{number}", at_us, part) for number in numbers))


@asynccontextmanager
async def _agent(log: PostgresTurnLog, turn: str, took_ms: list[float]) -> AsyncIterator[None]:
    """An agent that appends one entry after the other, for the length of a block."""
    over = asyncio.Event()

    async def run() -> None:
        sequence = 0
        while not over.is_set():
            sequence += 1
            head = TurnHead(TurnId(turn), SessionId("beside"), 1, TurnStanding.OPEN, sequence, 1, 1, b"{}")
            began_s = time.monotonic()
            await log.append(Scope("fleet", "p0"), (Batch(head, (Draft(sequence, 1, b"{}"),), b"{}"),))
            took_ms.append(1e3 * (time.monotonic() - began_s))
            await asyncio.sleep(0.005)

    running = asyncio.create_task(run())
    try:
        yield
    finally:
        over.set()
        await running


async def measure(days: int, turns: int, kept: int) -> Fleet:
    """Runs the days one after the other."""
    cluster = Cluster()
    try:
        cluster.start()
        databases = await asyncio.to_thread(Databases, cluster)
        name = await databases.create()
        observer = await asyncpg.connect(cluster.url("superuser", name))
        database = await PostgresDatabase.open(cluster.url("sidecar", name))
        log, pruning = PostgresTurnLog(database), PostgresPruning(database)
        removed, removals_s, alone_ms, beside_ms, sizes = 0, list[float](), list[float](), list[float](), list[int]()
        for day in range(days):
            await _write_day(log, day, turns)
            async with _agent(log, f"alone-{day}", alone_ms):
                await asyncio.sleep(0.5)
            before_us, began_s, of_day = _DAY_0_US + (day - kept) * US_PER_DAY + US_PER_DAY // 2, time.monotonic(), 0
            async with _agent(log, f"beside-{day}", beside_ms if day >= kept else []):
                while gone := await pruning.prune_turns(SERVES_ALL, before_us, TURNS_AT_ONCE, before_us):
                    of_day += gone
            if of_day:
                removed += of_day
                removals_s.append(time.monotonic() - began_s)
            sizes.append(await observer.fetchval("SELECT pg_database_size(current_database())"))
        await database.close()
        await asyncio.sleep(2)  # the statistics of the connections that have ended
        tables = await observer.fetch(_TABLES, turns)
        full_bytes = {}
        for table in tables:
            await observer.execute(f"VACUUM FULL sidemirror.{table['relname']}")
            size = "SELECT pg_total_relation_size($1::text::regclass)"
            full_bytes[table["relname"]] = await observer.fetchval(size, f"sidemirror.{table['relname']}")
        await observer.close()
        return Fleet(days * turns, removed, removals_s, alone_ms, beside_ms, tables, full_bytes, sizes)
    finally:
        cluster.remove()


def _at(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def table(fleet: Fleet) -> str:
    """As Markdown."""
    tenth = max(1, len(fleet.size_by_day) // 10)
    sizes = ", ".join(f"{size / 1e6:.0f}" for size in fleet.size_by_day[tenth - 1 :: tenth])
    removal = f"a day's in {_at(fleet.removals_s, 0.5):.1f} s, the slowest in {max(fleet.removals_s):.1f} s"
    lines = [
        f"{fleet.turns} turns of {_APPENDS * _ENTRIES} entries written, {fleet.removed} removed: {removal}",
        f"MB of the database after each tenth of the days: {sizes}",
        "",
        "| an append, ms | p50 | p99 | most |",
        "|---|---|---|---|",
    ]
    for told, values in (("alone", fleet.alone_ms), ("beside a removal", fleet.beside_ms)):
        lines.append(f"| {told} | {_at(values, 0.5):.1f} | {_at(values, 0.99):.1f} | {max(values):.1f} |")
    lines += ["", "| table | MB | MB without room | dead rows | updates | of them HOT |", "|---|---|---|---|---|---|"]
    for name, updates, hot, dead, size in fleet.tables:
        share = f"{100 * hot / updates:.0f} %" if updates else "-"
        lines.append(
            f"| {name} | {size / 1e6:.1f} | {fleet.full_bytes[name] / 1e6:.1f} | {dead} | {updates} | {share} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--kept", type=int, default=10)
    given = parser.parse_args()
    print(table(asyncio.run(measure(given.days, given.turns, given.kept))))


if __name__ == "__main__":
    main()
