"""Opens the stores that the settings choose. The only module that makes the adapters of storage.

Called by `assembly/sidecar.py`, and by commands that examine or migrate a store without serving.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sidemirror_server.assembly.custom_stores import check, opener_of
from sidemirror_server.critique.store import Critiques
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.memory.dreams.dreams import Dreams
from sidemirror_server.memory.finding.search import MemorySearch
from sidemirror_server.memory.kin.graph import MemoryGraph
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.trials.trials import Trials
from sidemirror_server.models.ledger import Ledger
from sidemirror_server.policy.store import Policies
from sidemirror_server.rpc.sidecar.info import StoreFacts
from sidemirror_server.settings import BadSettings, Settings
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.dreams import SqliteDreams
from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_graph import SqliteMemoryGraph
from sidemirror_server.storage.sqlite.memory_process import SearchProcesses
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.storage.sqlite.observations import SqliteObservations
from sidemirror_server.storage.sqlite.policies import SqlitePolicies
from sidemirror_server.storage.sqlite.pruning import SqlitePruning
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.erasure import Erasures
from sidemirror_server.trace.live import Wakes
from sidemirror_server.trace.log import Journal, TurnLog
from sidemirror_server.trace.pruning import Pruning
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.trace.requests import Requests
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import StoreRefused
from sidemirror_server.vocabulary.store_clock import StoreClock
from sidemirror_server.work.queue import Work

if TYPE_CHECKING:
    from sidemirror_server.storage.postgres.database import PostgresDatabase
    from sidemirror_server.storage.postgres.examine import ExaminedShared
    from sidemirror_server.storage.redis.database import RedisDatabase
    from sidemirror_server.storage.sqlite.backup import BackedUp
    from sidemirror_server.storage.sqlite.examine import Examined


# The embedded store commits at once what is appended side by side, as far as it fits into a group's time
# (`storage/sqlite/writer.py`). Chosen here: a node's projects, in a few rounds.
_EMBEDDED_APPENDS = 64


class Stores(msgspec.Struct, frozen=True):
    """The ports of the server's stores. `facts`: the stores for GetServerInfo, the main one first. `is_shared`: other
    processes write to the main store too. `changed` is set when a shared store's availability changes. `clock`: the
    database's time in a shared store, else this machine's."""

    log: TurnLog
    sessions: Sessions
    requests: Requests
    ledger: Ledger
    critiques: Critiques
    receipts: Receipts
    memories: Memories
    memory_search: MemorySearch
    dreams: Dreams
    pruning: Pruning
    trials: Trials
    memory_graph: MemoryGraph
    observations: Observations
    facts: tuple[StoreFacts, ...]
    is_shared: bool
    changed: asyncio.Event
    clock: StoreClock
    # How many appends to the log, each of another project, are made side by side.
    appends: int
    goal_reflections: GoalReflections
    work: Work
    journal: Journal
    erasures: Erasures
    policies: Policies
    # The Redis that has the goal reflections; None when the main store has them.
    redis: "RedisDatabase | None" = None
    # The shared store itself, and its wake-ups; None when the store is embedded.
    postgres: "PostgresDatabase | None" = None
    wakes: Wakes | None = None
    # Whether the ledger's sum over everything is that of the call's tenant alone.
    counts_apart: Callable[[], bool] = lambda: False


# The names of the fields that are ports.
PORTS = tuple(
    name
    for name in Stores.__struct_fields__
    if name not in ("facts", "is_shared", "changed", "clock", "appends", "redis", "postgres", "wakes", "counts_apart")
)


async def open_stores(settings: Settings, clock: Clock, stack: contextlib.AsyncExitStack) -> Stores:
    """Opens the stores of these settings; the stack closes them. Raises BadSettings, StoreUnavailable, StoreRefused."""
    stores = await (_shared(settings, clock, stack) if settings.database_url else _embedded(settings, clock, stack))
    if settings.redis_url:
        stores = await _with_redis(settings, stores, stack)
    return await _with_custom(settings, stores, stack) if settings.store else stores


async def _with_custom(settings: Settings, stores: Stores, stack: contextlib.AsyncExitStack) -> Stores:
    """These stores, with the ports that another package offers in the place of theirs. Raises BadSettings."""
    main = {name: getattr(stores, name) for name in PORTS}
    custom = await stack.enter_async_context(opener_of(settings.store)(settings.store_url.reveal(), main))
    check(settings.store, custom.ports, PORTS)
    if stores.redis is not None and "goal_reflections" in custom.ports:
        raise BadSettings(
            "redis_url (SIDEMIRROR_REDIS_URL): the setting store names another place for goal reflections"
        )
    holds = ", ".join(sorted(custom.ports)).replace("_", " ")
    facts = StoreFacts(custom.kind, holds, lambda: custom.durability, custom.is_available)
    if stores.postgres is not None and not {"log", "journal"}.isdisjoint(custom.ports):
        from sidemirror_server.storage.postgres.wakes import PostgresWakes

        # What is appended elsewhere wakes nobody: watches look for it.
        stores = msgspec.structs.replace(stores, wakes=PostgresWakes(stores.postgres, ""))
    if "ledger" in custom.ports:
        stores = msgspec.structs.replace(stores, counts_apart=lambda: False)
    appends = 1 if "log" in custom.ports else stores.appends
    return msgspec.structs.replace(stores, **custom.ports, appends=appends, facts=(*stores.facts, facts))


async def _embedded(settings: Settings, clock: Clock, stack: contextlib.AsyncExitStack) -> Stores:
    """Everything in one SQLite file, which only this sidecar writes."""
    database = await SqliteDatabase.open(settings.data_dir, now_us=clock.now_us())
    stack.push_async_callback(database.close)
    searches = SearchProcesses(settings.data_dir / FILE_NAME)
    stack.push_async_callback(searches.close)
    memories = SqliteMemories(database, searches.prepare)
    if memories.has_any():
        searches.prepare()
    durability = "an OK survives a crash of the sidecar and of the machine (WAL, synchronous=FULL)"
    return Stores(
        log=SqliteTurnLog(database),
        sessions=SqliteSessions(database),
        requests=SqliteRequests(database),
        ledger=SqliteLedger(database),
        critiques=SqliteCritiques(database),
        goal_reflections=SqliteGoalReflections(database),
        receipts=SqliteReceipts(database),
        memories=memories,
        memory_search=SqliteMemorySearch(database, searches),
        dreams=SqliteDreams(database),
        pruning=SqlitePruning(database),
        trials=SqliteTrials(database),
        memory_graph=SqliteMemoryGraph(database),
        observations=SqliteObservations(database),
        work=SqliteWork(database),
        journal=SqliteJournal(database),
        erasures=SqliteErasures(database),
        policies=SqlitePolicies(database),
        facts=(
            StoreFacts(
                *("sqlite", "everything", lambda: database.lost() or durability, database.answers, database.lost),
                database.slowest_commit_s,
                database.is_full,
            ),
        ),
        is_shared=False,
        changed=asyncio.Event(),
        clock=StoreClock(clock),
        appends=_EMBEDDED_APPENDS,
    )


async def _shared(settings: Settings, clock: Clock, stack: contextlib.AsyncExitStack) -> Stores:
    """Everything in a shared Postgres database, which may be unavailable at first. Raises StoreRefused when the
    database must not be used. The driver is loaded only here."""
    from sidemirror_server.storage.postgres.critiques import PostgresCritiques
    from sidemirror_server.storage.postgres.database import PostgresDatabase
    from sidemirror_server.storage.postgres.dreams import PostgresDreams
    from sidemirror_server.storage.postgres.erasures import PostgresErasures
    from sidemirror_server.storage.postgres.goal_reflections import PostgresGoalReflections
    from sidemirror_server.storage.postgres.journal import PostgresJournal
    from sidemirror_server.storage.postgres.ledger import PostgresLedger
    from sidemirror_server.storage.postgres.memories import PostgresMemories
    from sidemirror_server.storage.postgres.memory_graph import PostgresMemoryGraph
    from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
    from sidemirror_server.storage.postgres.observations import PostgresObservations
    from sidemirror_server.storage.postgres.policies import PostgresPolicies
    from sidemirror_server.storage.postgres.pruning import PostgresPruning
    from sidemirror_server.storage.postgres.receipts import PostgresReceipts
    from sidemirror_server.storage.postgres.requests import PostgresRequests
    from sidemirror_server.storage.postgres.sessions import PostgresSessions
    from sidemirror_server.storage.postgres.trials import PostgresTrials
    from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
    from sidemirror_server.storage.postgres.wakes import PostgresWakes
    from sidemirror_server.storage.postgres.work import PostgresWork

    changed = asyncio.Event()
    database = await PostgresDatabase.open(
        settings.database_url.reveal(),
        connections=settings.database_connections,
        # Thinking needs no store, so the server also starts without one.
        must_answer=False,
        changed=changed.set,
        clock=StoreClock(clock),
    )
    stack.push_async_callback(database.close)
    wakes = PostgresWakes(database, settings.database_listen_url.reveal())
    stack.push_async_callback(wakes.close)
    durability = "an OK survives a crash of the sidecar and of the database (synchronous_commit)"
    return Stores(
        log=PostgresTurnLog(database, wakes.tell),
        sessions=PostgresSessions(database),
        requests=PostgresRequests(database),
        ledger=PostgresLedger(database),
        critiques=PostgresCritiques(database),
        goal_reflections=PostgresGoalReflections(database),
        receipts=PostgresReceipts(database),
        memories=PostgresMemories(database),
        memory_search=PostgresMemorySearch(database),
        dreams=PostgresDreams(database),
        pruning=PostgresPruning(database),
        trials=PostgresTrials(database),
        memory_graph=PostgresMemoryGraph(database),
        observations=PostgresObservations(database),
        work=PostgresWork(database),
        journal=PostgresJournal(database, wakes.tell),
        erasures=PostgresErasures(database),
        policies=PostgresPolicies(database),
        facts=(StoreFacts("postgres", "everything", lambda: durability, database.is_available),),
        is_shared=True,
        changed=changed,
        clock=database.clock,
        # The other half of the connections is left to calls.
        appends=max(1, settings.database_connections // 2),
        postgres=database,
        wakes=wakes,
        counts_apart=database.counts_apart,
    )


async def _with_redis(settings: Settings, stores: Stores, stack: contextlib.AsyncExitStack) -> Stores:
    """These stores, with goal reflections in Redis. The driver is loaded only here."""
    from sidemirror_server.storage.redis.database import RedisDatabase
    from sidemirror_server.storage.redis.goal_reflections import SCRIPTS, RedisGoalReflections

    database = await RedisDatabase.open(settings.redis_url.reveal(), SCRIPTS)
    stack.push_async_callback(database.close)
    rest = tuple(msgspec.structs.replace(store, holds="everything but goal reflections") for store in stores.facts)
    redis = StoreFacts("redis", "goal reflections", database.durability, database.is_available)
    return msgspec.structs.replace(
        stores, goal_reflections=RedisGoalReflections(database), facts=(*rest, redis), redis=database
    )


class MigratedShared(msgspec.Struct, frozen=True):
    """What a migration did. `applied`: the migrations, by name. `before`: the tenant that each role was bound to.
    `unbound`: roles that see nothing, because they are bound to no tenant."""

    applied: tuple[str, ...]
    before: Mapping[str, str]
    unbound: tuple[str, ...]


async def migrate_shared(url: str, grant_to: Sequence[str], tenants: Mapping[str, str]) -> MigratedShared:
    """Brings the schema of a Postgres database up to date, as its owner, lets the roles use it, and binds them to their
    tenants (by role; '*' is every tenant). Raises StoreUnavailable, saying why."""
    from sidemirror_server.storage.postgres.migrate import bindings, migrate, unbound_roles

    before = await bindings(url) if tenants else {}
    applied = await migrate(url, grant_to, SystemClock().now_us(), tenants=tenants)
    return MigratedShared(applied, before, await unbound_roles(url))


def examine_store(settings: Settings) -> "Examined":
    """Examines the embedded store of these settings without opening it as a server does."""
    from sidemirror_server.storage.sqlite.examine import examine

    return examine(settings.data_dir)


def back_up_store(settings: Settings, file: Path) -> "BackedUp":
    """Copies the embedded store of these settings to a new file, also while a sidecar serves. Raises BadSettings when
    they have another store, else the errors of `storage/sqlite/backup.py`."""
    from sidemirror_server.storage.sqlite.backup import back_up

    check_embedded(settings)
    return back_up(settings.data_dir, file, SystemClock().now_us)


def check_embedded(settings: Settings) -> None:
    """Raises BadSettings when the store of these settings is in Postgres."""
    if settings.database_url:
        raise BadSettings(
            "database_url (SIDEMIRROR_DATABASE_URL): the store is in Postgres, whose own commands are for backup and "
            "restore (docs/postgres-tenants.md)"
        )


async def examine_shared_store(settings: Settings, now_us: int) -> "ExaminedShared":
    """Examines the Postgres database of these settings."""
    from sidemirror_server.storage.postgres.examine import examine_shared

    return await examine_shared(settings.database_url.reveal(), settings.database_connections, now_us)


class ExaminedRedis(msgspec.Struct, frozen=True):
    """An examined Redis. `away_at`: where it is, if it does not answer. `refused`: why it cannot be used, else empty.
    `durability`: which failures an acknowledged write survives. `memory_risks`, `restart_risks`: how it may lose data
    when its memory is full, and when it restarts."""

    away_at: str = ""
    refused: str = ""
    durability: str = ""
    memory_risks: tuple[str, ...] = ()
    restart_risks: tuple[str, ...] = ()


async def examine_redis(settings: Settings) -> ExaminedRedis:
    """Examines the Redis of these settings. Reads facts about the server and no data."""
    from sidemirror_server.storage.redis.database import RedisDatabase
    from sidemirror_server.storage.redis.goal_reflections import SCRIPTS

    try:
        database = await RedisDatabase.open(settings.redis_url.reveal(), SCRIPTS)
    except StoreRefused as refusal:
        return ExaminedRedis(refused=refusal.cause)
    try:
        facts = database.standing
        if facts is None or not database.is_available():
            return ExaminedRedis(away_at=database.place)
        return ExaminedRedis(
            durability=facts.durability, memory_risks=facts.memory_risks, restart_risks=facts.restart_risks
        )
    finally:
        await database.close()
