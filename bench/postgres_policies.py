"""What policies by role cost each statement: `uv run python -m bench.postgres_policies`.

Four databases with the same rows on one server (that of the tests): without policies by role (the migrations before),
and with them by a role while nothing is bound, by the operator's once others are, and by one that is bound to its
tenant, of 40. Each round runs every statement on each of them in turn, as a sidecar does: unprepared, in a transaction
with the scope's settings, which is rolled back. A figure is the lower quartile over rounds, since others use the
machine, and of the statement alone.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial
from types import ModuleType
from typing import Any

import asyncpg

from sidemirror_server.storage.postgres import critiques, dreams, ledger, memories, requests, sessions, turn_log, work
from sidemirror_server.storage.postgres.admission import PostgresFacts
from sidemirror_server.storage.postgres.migrate import migrate, read_migrations
from sidemirror_server.storage.postgres.transactions import begin as begin_of
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.postgres_rows import FILL
from tests.adapters.postgres_statements import VALUES
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

_BINDS = "role_tenants"
_SCOPE = Scope("t1", "p")
_TENANTS = 40
# Those that a sidecar runs most: every write with its triggers, reads by id, and looks across scopes.
_STATEMENTS: list[tuple[ModuleType, str]] = [
    *((turn_log, name) for name in ("put", "head", "tail", "heads", "idle")),
    *((sessions, name) for name in ("get", "update")),
    *((requests, name) for name in ("remember", "recall")),
    *((work, name) for name in ("put", "due", "claim", "finish", "done")),
    *((ledger, name) for name in ("take", "spent")),
    *((critiques, name) for name in ("keep", "list")),
    *((memories, name) for name in ("get",)),
    *((dreams, name) for name in ("unread",)),
]
_ACROSS = {"idle", "due", "done"}
WAYS = ("before", "unbound", "operator", "bound")


async def _database(databases: Databases, way: str) -> str:
    name = await databases.create(migrated=False)
    await databases.as_superuser("CREATE EXTENSION IF NOT EXISTS vector", name)
    owner, known = databases.cluster.url("owner", name), read_migrations()
    before = [migration for migration in known if migration.name != _BINDS]
    await migrate(owner, ["sidecar"], 0, before if way == "before" else known)
    connection = await asyncpg.connect(databases.cluster.url("superuser", name))
    await connection.execute(FILL)
    await connection.close()
    tenants = {f"team_{number}": f"t{number}" for number in range(1, _TENANTS + 1)}
    if way in ("operator", "bound"):
        await migrate(owner, list(tenants), 0, tenants=tenants)
    if way == "operator":
        await migrate(owner, ["sidecar"], 0, tenants={"sidecar": "*"})
    return name


def statements_of(adapter: ModuleType) -> dict[str, str]:
    found: dict[str, str] = vars(adapter)["_SQL"]
    return found


async def _timed(run: Callable[[], Awaitable[Any]]) -> float:
    begun = time.perf_counter()
    await run()
    return time.perf_counter() - begun


async def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds by statement and way."""
    cluster = Cluster(fsync="off", full_page_writes="off", autovacuum="off")
    try:
        cluster.start()
        databases = await asyncio.to_thread(Databases, cluster)
        for number in range(1, _TENANTS + 1):
            await databases.as_superuser(f"CREATE ROLE team_{number} LOGIN")
        connections = {}
        for way in WAYS:
            url = cluster.url("team_1" if way == "bound" else "sidecar", await _database(databases, way))
            connections[way] = await asyncpg.connect(url, statement_cache_size=0)
        took: dict[str, dict[str, list[float]]] = {}
        for round_ in range(rounds + 1):
            for adapter, name in _STATEMENTS:
                values, _ = VALUES[adapter][name]
                scope = None if name in _ACROSS else _SCOPE
                begin = begin_of(scope, PostgresFacts(), reads_only=False, in_turn=(), within_s=5.0)
                for way in WAYS[round_ % 4 :] + WAYS[: round_ % 4]:
                    connection = connections[way]
                    begun = await _timed(partial(connection.execute, begin))
                    text = statements_of(adapter)[name]
                    ran = await _timed(partial(connection.fetch, text, *values))
                    await connection.execute("ROLLBACK")
                    if round_:
                        label = f"{adapter.__name__.rpartition('.')[2]}: {name}"
                        took.setdefault(label, {}).setdefault(way, []).append(ran)
                        took.setdefault("(what begins a transaction)", {}).setdefault(way, []).append(begun)
        for connection in connections.values():
            await connection.close()
    finally:
        cluster.remove()
    return {
        label: {way: statistics.quantiles(times, n=4)[0] for way, times in ways.items()} for label, ways in took.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    found = asyncio.run(measure(parser.parse_args().rounds))
    print(f"| statement, µs | {' | '.join(WAYS)} |\n|---|{'---|' * len(WAYS)}")
    for label, ways in found.items():
        print(f"| {label} | {' | '.join(f'{1e6 * ways[way]:,.0f}' for way in WAYS)} |")
    for way in WAYS[1:]:
        more = statistics.mean(ways[way] - ways["before"] for ways in found.values())
        print(f"\n{way}: {1e6 * more:+,.0f} µs a statement on average")


if __name__ == "__main__":
    main()
