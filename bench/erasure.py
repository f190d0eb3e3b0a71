"""What it costs to be able to erase: `uv run python -m bench.erasure`, and with `--postgres` the same on Postgres.

Each operation is run on stores that differ in what an erasure needs. The floor has none of it: no triggers on what is
removed, no subject, no look at tombstones, and on SQLite no `secure_delete`. The others have one of these each, and
the last has all of them, as a sidecar does. In each round every store does the same, in turn. A figure is the ratio of
the lower quartiles over rounds, since others use the machine; the floor's own is in µs for each record.
"""

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import msgspec

from sidemirror_server.critique.store import CritiqueRecord, Critiques
from sidemirror_server.storage.postgres import sources as postgres_sources
from sidemirror_server.storage.postgres import turn_log as postgres_turn_log
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.pruning import PostgresPruning
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.sqlite import sources as sqlite_sources
from sidemirror_server.storage.sqlite import turn_log as sqlite_turn_log
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.pruning import SqlitePruning
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import TurnLog, TurnStanding
from sidemirror_server.trace.pruning import Pruning
from sidemirror_server.trace.requests import Answered, Requests
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.ids import RequestId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.conformance.turn_log import T0, batch, head
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases

_SCOPE = Scope("acme", "shop")
_ENTRY = b'{"type":"event","text":"%s"}' % (b"x" * 400)
_FLOOR = "floor"
SQLITE = (_FLOOR, "secure_delete", "triggers", "subjects", "tombstones", "all")
POSTGRES = (_FLOOR, "triggers", "subjects", "tombstones", "all")


class Store(NamedTuple):
    """The ports of one store, and what of erasure it has."""

    way: str
    log: TurnLog
    critiques: Critiques
    requests: Requests
    pruning: Pruning

    @property
    def names_subjects(self) -> bool:
        return self.way in ("subjects", "all")


async def turns(store: Store, first: int, count: int) -> None:
    """Turns of one batch each, all of whose subject is somebody else."""
    for number in range(first, first + count):
        of = head(f"t{number}", 3, session=f"s{number}", standing=TurnStanding.FINISHED, started=T0 + number)
        begun = batch(msgspec.structs.replace(of, updated_us=T0 + number), _ENTRY, _ENTRY, _ENTRY, session_body=b"{}")
        subjects = (f"person-{number}",) if store.names_subjects else ()
        await store.log.append(_SCOPE, (msgspec.structs.replace(begun, subject_ids=subjects),))


async def critiques(store: Store, first: int, count: int) -> None:
    """Critiques of these turns."""
    for number in range(first, first + count):
        subjects = (f"person-{number}",) if store.names_subjects else ()
        kept = CritiqueRecord(f"c{number}", T0 + number, "rules", None, False, f"t{number}", "", _ENTRY)
        await store.critiques.keep(_SCOPE, msgspec.structs.replace(kept, subject_ids=subjects))


async def answers(store: Store, first: int, count: int) -> None:
    """Stored answers about these turns."""
    for number in range(first, first + count):
        given = (RequestId(f"r{number}"), Answered(b"digest", _ENTRY), T0, T0 + number)
        sources = (key(SourceKind.TURN, f"t{number}"),) if store.names_subjects else ()
        await store.requests.remember(_SCOPE, "service/Method", *given, sources)


async def forget_answers(store: Store, first: int, count: int) -> None:
    """Answers that have expired, as retention removes them."""
    assert await store.requests.forget(SERVES_ALL, T0 + first + count, count) == count


async def forget_critiques(store: Store, first: int, count: int) -> None:
    """Old critiques, likewise."""
    assert await store.critiques.forget(SERVES_ALL, T0 + first + count, count) == count


async def prune_turns(store: Store, first: int, count: int) -> None:
    """Old turns with their sessions, likewise."""
    assert await store.pruning.prune_turns(SERVES_ALL, T0 + first + count, count, T0) == count


OPERATIONS: tuple[Callable[[Store, int, int], Awaitable[None]], ...] = (
    *(turns, critiques, answers, forget_answers, forget_critiques, prune_turns),
)


class _Blind:
    """No look at tombstones while it is entered: the adapters' own functions are replaced."""

    def __init__(self, store: Store) -> None:
        self._is_blind = store.way not in ("tombstones", "all")
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> None:
        if not self._is_blind:
            return
        for module, name, instead in (
            (sqlite_sources, "erased_us", lambda *_: None),
            (sqlite_turn_log, "erased_of", lambda *_: {}),
            (postgres_sources, "erased", _none),
            (postgres_turn_log, "erased", _none),
        ):
            kept = vars(module)[name]
            vars(module)[name] = instead
            self._stack.callback(vars(module).__setitem__, name, kept)

    def __exit__(self, *_: object) -> None:
        self._stack.close()


async def _none(*_: object) -> dict[str, int]:
    return {}


async def measure(stores: Sequence[Store], rounds: int, count: int) -> dict[str, dict[str, float]]:
    """Seconds for one record, by operation and store: the lower quartile over rounds."""
    took: dict[str, dict[str, list[float]]] = {}
    for round_ in range(rounds + 1):
        for operation in OPERATIONS:
            for at in range(len(stores)):
                store = stores[(at + round_) % len(stores)]
                with _Blind(store):
                    begun_s = time.perf_counter()
                    await operation(store, round_ * count, count)
                    each_s = (time.perf_counter() - begun_s) / count
                if round_:
                    took.setdefault(operation.__name__, {}).setdefault(store.way, []).append(each_s)
    return {
        name: {way: statistics.quantiles(times, n=4)[0] for way, times in ways.items()} for name, ways in took.items()
    }


@contextlib.asynccontextmanager
async def on_sqlite(folder: Path) -> AsyncIterator[list[Store]]:
    async with contextlib.AsyncExitStack() as stack:
        stores = []
        for way in SQLITE:
            database = await SqliteDatabase.open(folder / way, now_us=T0)
            stack.push_async_callback(database.close)
            if way not in ("triggers", "all"):
                await database.write(_drop_triggers, long=True)
            if way not in ("secure_delete", "all"):
                await database.write(lambda connection: connection.execute("PRAGMA secure_delete = OFF"))
            ports = (SqliteTurnLog(database), SqliteCritiques(database))
            stores.append(Store(way, *ports, SqliteRequests(database), SqlitePruning(database)))
        yield stores


def _drop_triggers(connection: Any) -> None:
    named = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND (name LIKE '%_is_gone' OR name LIKE 'source%')"
    for (name,) in connection.execute(named).fetchall():
        connection.execute(f"DROP TRIGGER {name}")


@contextlib.asynccontextmanager
async def on_postgres() -> AsyncIterator[list[Store]]:
    cluster = Cluster(fsync="off", full_page_writes="off", autovacuum="off")
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(cluster.remove)
        await asyncio.to_thread(cluster.start)
        databases, stores = await asyncio.to_thread(Databases, cluster), []
        for way in POSTGRES:
            name = await databases.create()
            if way not in ("triggers", "all"):
                await _drop_triggers_of(cluster.url("superuser", name))
            database = await PostgresDatabase.open(cluster.url("sidecar", name))
            stack.push_async_callback(database.close)
            ports = (PostgresTurnLog(database), PostgresCritiques(database))
            stores.append(Store(way, *ports, PostgresRequests(database), PostgresPruning(database)))
        yield stores


async def _drop_triggers_of(url: str) -> None:
    connection = await asyncpg.connect(url)
    named = "SELECT tgname, tgrelid::regclass::text FROM pg_trigger WHERE tgname IN ('sourced', 'of_nothing')"
    for name, table in await connection.fetch(named):
        await connection.execute(f"DROP TRIGGER {name} ON {table}")
    await connection.close()


def show(found: dict[str, dict[str, float]], ways: Sequence[str]) -> None:
    others = ways[1:]
    print(f"| operation | floor, µs | {' | '.join(others)} |\n|---|---|{'---|' * len(others)}")
    for name, took in found.items():
        ratios = " | ".join(f"{took[way] / took[_FLOOR]:.2f}" for way in others)
        print(f"| {name.replace('_', ' ')} | {1e6 * took[_FLOOR]:,.0f} | {ratios} |")


async def run(rounds: int, count: int, is_postgres: bool) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        async with on_postgres() if is_postgres else on_sqlite(Path(folder)) as stores:
            return await measure(stores, rounds, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--count", type=int, default=50, help="records of each operation in a round")
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(run(options.rounds, options.count, options.postgres))
    show(found, POSTGRES if options.postgres else SQLITE)


if __name__ == "__main__":
    main()
