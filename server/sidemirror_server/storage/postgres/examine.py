"""Examines a shared store for `doctor`. It changes nothing, and its time is bounded."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import msgspec

from sidemirror_server.storage.postgres.admission import PostgresFacts, Reach, look, reach_of, recorded
from sidemirror_server.storage.postgres.failures import connect_failure, place_of
from sidemirror_server.storage.postgres.migrate import DRIVER_ERRORS, check_schema, connect, read_migrations
from sidemirror_server.storage.sql import load_statements
from sidemirror_server.vocabulary.errors import StoreRefused, StoreUnavailable

_SQL = load_statements(Path(__file__).with_name("examine.sql"))
# Chosen here: longer than `serve` waits for a connection, and short enough for an interactive command.
_CONNECT_S = 3.0
_LOOK_S = 3.0
# How often a commit is timed, when no more, and how long one is waited for. As with the disk of the embedded store: one
# slow commit in five is no slow disk.
_COMMITS, _TIMED_S, _COMMIT_S = 5, 1.0, 2.0
# From where on a commit is slow, as there (`storage/sqlite/disk_pace.py`).
SLOW_S = 0.1
# The most tenants that a line names. Chosen here.
_NAMED = 5


class ExaminedShared(msgspec.Struct, frozen=True):
    """The findings about a shared store. `problems`: why a server could not use the store. `is_durable`: data on its
    disk survives a crash. `clock_ahead_us`: how far the store's clock is ahead of this machine's. `place`: where the
    store is, if it does not answer. `commit_s`: how long a commit takes, with its way there and back; None where that
    cannot be seen. `reach`: the tenants that the role reaches; None where it could not be asked."""

    facts: tuple[str, ...] = ()
    problems: tuple[StoreUnavailable, ...] = ()
    is_durable: bool = True
    clock_ahead_us: int = 0
    place: str = ""
    commit_s: float | None = None
    reach: Reach | None = None

    @property
    def is_slow(self) -> bool:
        """Whether agents wait for the commits."""
        return self.commit_s is not None and self.commit_s >= SLOW_S


async def examine_shared(url: str, connections: int, now_us: int) -> ExaminedShared:
    """Examines the database as the role of `url`, for a server that would use this number of connections. Reports
    failures in `problems`; raises nothing."""
    try:
        connection = await connect(url, _CONNECT_S)
    except StoreRefused as refusal:
        return ExaminedShared(problems=(refusal,))
    except DRIVER_ERRORS as exc:
        failure = connect_failure(exc) or _unusable(type(exc).__name__)
        return ExaminedShared(problems=(failure,), place=place_of(url))
    try:
        async with asyncio.timeout(_LOOK_S):
            standing, looked = await _looked(connection, connections, now_us)
        took_s = None if looked.problems else await _commit_s(connection, waits=standing.commit_waits)
        return msgspec.structs.replace(looked, commit_s=took_s)
    except StoreUnavailable as failure:
        return ExaminedShared(problems=(failure,))
    except DRIVER_ERRORS as exc:
        code = getattr(exc, "sqlstate", None)
        told = f"{type(exc).__name__}{f' ({code})' if code else ''} while it was looked at"
        return ExaminedShared(problems=(_unusable(told),))
    finally:
        connection.terminate()


async def _looked(
    connection: asyncpg.Connection, connections: int, now_us: int
) -> tuple[PostgresFacts, ExaminedShared]:
    await connection.execute(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; "
        f"SET LOCAL statement_timeout = {int(_LOOK_S * 1000)}; SET LOCAL lock_timeout = {int(_LOOK_S * 1000)}"
    )
    standing, refusals = await look(connection)
    server = await connection.fetchrow(_SQL["server"])
    known, problems = read_migrations(), list[StoreUnavailable](refusals)
    applied, reach = 0, None
    if standing.has_schema:
        there = await recorded(connection)
        applied = len(there)
        try:
            check_schema(there, known)
            reach = await reach_of(connection)
        except StoreRefused as refusal:
            problems.append(refusal)
    locks = await connection.fetch(_SQL["locks"])
    await connection.execute("COMMIT")
    problems.extend(map(_locked, locks))
    is_pooled = server["pid"] != connection.get_server_pid()
    if server["reads_only"]:
        problems.append(_unusable("this server is read-only, or a standby", "name the primary"))
    if not is_pooled:
        problems.extend(_shortage(server, connections))
    return standing, ExaminedShared(
        facts=(
            f"PostgreSQL {server['version']}{', behind a pooler such as PgBouncer' if is_pooled else ''}",
            f"schema {applied} of {len(known)}, row level security forced on {server['protected']} tables",
            *([] if reach is None else [_reach(reach)]),
            _vector(server),
            _connections(server, connections, is_pooled),
        ),
        problems=tuple(problems),
        is_durable=standing.is_durable,
        clock_ahead_us=server["now_us"] - now_us,
        reach=reach,
    )


async def _commit_s(connection: asyncpg.Connection, *, waits: bool) -> float | None:
    """The median of some commits that wait for the disk, as a sidecar's do; None where the server refuses them. One
    that takes _COMMIT_S is given up, and taken for the median. `waits`: commits do so by the role's own settings."""
    own = "" if waits else "SET LOCAL synchronous_commit = on; "
    took: list[float] = []
    try:
        async with asyncio.timeout(_COMMIT_S):
            while len(took) < _COMMITS and sum(took) < _TIMED_S:
                began_s = time.perf_counter()
                await connection.execute(f"BEGIN; {own}{_SQL['written']}; COMMIT")
                took.append(time.perf_counter() - began_s)
    except TimeoutError:
        return _COMMIT_S
    except DRIVER_ERRORS:
        return None
    return sorted(took)[len(took) // 2]


def _unusable(cause: str, remedy: str = "") -> StoreUnavailable:
    return StoreUnavailable(store="postgres", reason=cause, remedy=remedy)


def _locked(lock: asyncpg.Record) -> StoreUnavailable:
    pid = lock["pid"]
    return _unusable(
        f"process {pid} of role {lock['role']!r} holds {lock['modes']} on {lock['tables']}, which sidecars wait for",
        f"let it end, or run SELECT pg_terminate_backend({pid})",
    )


def _reach(reach: Reach) -> str:
    if reach.is_operator:
        return "the operator's role: it reaches every tenant"
    if reach.own:
        return f"bound to {_named(reach.own)}"
    return f"bound to no tenant itself, takes the role of {_named(reach.tenants)} (SET ROLE)"


def _named(tenants: tuple[str, ...]) -> str:
    """The first few tenants, and the number of the others."""
    named = ", ".join(map(repr, tenants[:_NAMED]))
    more = len(tenants) - _NAMED
    return f"tenant{'s' if len(tenants) > 1 else ''} {named}{f' and {more} more' if more > 0 else ''}"


def _vector(server: asyncpg.Record) -> str:
    if server["vector"]:
        return f"pgvector {server['vector']}"
    there = server["vector_there"]
    return f"pgvector {there} is installed and not created here" if there else "pgvector is not installed"


def _connections(server: asyncpg.Record, connections: int, is_pooled: bool) -> str:
    if is_pooled:
        return f"up to {connections} connections, to the pooler"
    own = "" if server["own_limit"] is None else f", at most {server['own_limit']} for this role here"
    return f"up to {connections} connections; {server['taken']} of {server['most']} are taken{own}"


def _shortage(server: asyncpg.Record, connections: int) -> Iterator[StoreUnavailable]:
    limit, uses = server["own_limit"], f"this server uses up to {connections}"
    if limit is not None and limit < connections:
        yield _unusable(
            f"the role or the database is limited to {limit} connections, and {uses}",
            "lower database_connections, or raise CONNECTION LIMIT",
        )
    # `taken` includes this connection.
    free = server["most"] - server["taken"] + 1
    if free < connections:
        yield _unusable(
            f"{free} connections are left, and {uses}",
            "raise max_connections, lower database_connections, or put PgBouncer between",
        )
