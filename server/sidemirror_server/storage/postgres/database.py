"""The shared store: transactions on Postgres for its adapters, and detection of a store that is away.

An adapter uses only transactions:

    async with database.transaction(scope) as transaction:
        rows = await transaction.fetch(statement, *values)

Row level security limits the transaction to rows of that scope, whatever its statements say. A login that is bound to
no tenant takes the tenant's role for the length of the transaction (docs/postgres-tenants.md). Session settings are
local to the transaction (SET LOCAL) and set in the round trip that begins it. The next transaction on a connection may
belong to another scope, and a pooler such as PgBouncer may run each transaction on another connection. For the same
reason no statement stays prepared.

A background task probes a store that is away every half second. Calls are refused at once until the store answers. A
server can start while the store is away, and uses it once it answers.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Self

import asyncpg
from msgspec.structs import astuple, replace

from sidemirror_server.storage.postgres.admission import PostgresFacts, Reach, admit, database_time, reach_of
from sidemirror_server.storage.postgres.connections import Connections
from sidemirror_server.storage.postgres.failures import (
    PostgresFailureKind,
    connect_failure,
    meaning_of,
    not_bound,
    store_failure,
)
from sidemirror_server.storage.postgres.migrate import DRIVER_ERRORS, PostgresMigration, connect, read_migrations
from sidemirror_server.storage.sql import ids_of
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope, Served, Serves
from sidemirror_server.vocabulary.store_clock import StoreClock

_log = logging.getLogger(__name__)

# Chosen here: small, because hundreds of sidecars share a server. The calls of one agent rarely need more at once, and
# one append of the recorder carries the waiting entries of all turns.
CONNECTIONS = 4
# All idle connections but one close after this time: 200 idle sidecars must fit into 400 connections (decision 038).
_IDLE_S = 30.0
# Chosen here. _TAKE_S: the wait for a free connection, and for a new one. TRANSACTION_S: from BEGIN to COMMIT.
_TAKE_S = 2.0
TRANSACTION_S = 5.0
# Below the pool's limit, so that the error names the step that took too long.
_CONNECT_S = 0.9 * _TAKE_S
# The first success must come within 5 s of the store's return (decision 010). A probe has a long time limit: a server
# that was stopped answers the pending probe when it continues, and a lost packet is sent again within 2 s.
_PROBE_EVERY_S = 0.5
_PROBE_S = 4.0
# A single failure may concern one connection; two in a row mean that the server is away.
_AWAY_AFTER = 2


class Transaction:
    """Runs statements in one transaction. Values are bound to $1, $2, … in order."""

    def __init__(self, connection: asyncpg.Connection, reach: Reach) -> None:
        self._connection = connection
        self._reach = reach

    async def enter(self, scope: Scope) -> None:
        """Limits the statements that follow to rows of this scope."""
        await self._connection.execute("; ".join(_scope_settings(scope, self._reach)))

    async def by_scope(self, rows: Iterable[asyncpg.Record]) -> AsyncIterator[tuple[Scope, list[list[Any]]]]:
        """Enters the scopes of these rows one by one; the first two values of a row are its scope's ids. Yields each
        scope with the other columns of its rows."""
        found: dict[Scope, list[Sequence[Any]]] = {}
        for tenant_id, project_id, *values in rows:
            found.setdefault(Scope(tenant_id, project_id), []).append(values)
        for scope, own in found.items():
            await self.enter(scope)
            yield scope, [list(column) for column in zip(*own, strict=True)]

    async def leave(self) -> None:
        """Ends `enter`: the statements that follow see envelopes of every scope."""
        if self._reach.roles:
            await self._connection.execute("SET LOCAL ROLE NONE")

    async def fetch(self, statement: str, *values: Any) -> list[asyncpg.Record]:
        """All rows."""
        rows: list[asyncpg.Record] = await self._connection.fetch(statement, *values)
        return rows

    async def fetch_served(
        self, serves: Serves, limit: int, statement: str, *values: Any, but: Sequence[Served] | None = None
    ) -> list[asyncpg.Record]:
        """At most `limit` rows of the scopes served. Runs the statement for each entry of `serves`. The last bound
        values are the number of rows, the tenant and the project (NULL for all); with `but`, the values of `left_out`
        follow."""
        more = () if but is None else left_out(but)
        rows: list[asyncpg.Record] = []
        for entry in serves.entries:
            if len(rows) < limit:
                rows += await self.fetch(statement, *values, limit - len(rows), *astuple(entry), *more)
        return rows

    async def first(self, statement: str, *values: Any) -> asyncpg.Record | None:
        """The first row; None if there is none."""
        return await self._connection.fetchrow(statement, *values)

    async def change(self, statement: str, *values: Any) -> int:
        """Runs the statement; returns the number of rows that it changed."""
        told: str = await self._connection.execute(statement, *values)
        return int(told.rpartition(" ")[2])


def left_out(but: Sequence[Served]) -> tuple[list[str | None], list[str | None]]:
    """The values of a statement that leaves these entries out: their tenants, and their projects (NULL for all)."""
    return [entry.tenant_id for entry in but], [entry.project_id for entry in but]


class PostgresDatabase:
    """One Postgres database, used by a role that owns nothing in it, from one event loop."""

    def __init__(
        self,
        url: str,
        known: Sequence[PostgresMigration],
        connections: int,
        idle_s: float,
        changed: Callable[[], None] = lambda: None,
        clock: StoreClock | None = None,
    ) -> None:
        """Callers use `open` instead."""
        # Follows the database's time, which is measured on each new connection and every minute.
        self.clock = clock or StoreClock(SystemClock())
        self._url = url
        self._known = known
        self._connections = Connections(self._connect, connections, _TAKE_S, idle_s)
        self._changed = changed
        self._standing = PostgresFacts()
        self._told_of_durability = False
        self._failures = 0
        self._refused = False
        self._probing: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        connections: int = CONNECTIONS,
        idle_s: float = _IDLE_S,
        known: Sequence[PostgresMigration] | None = None,
        must_answer: bool = True,
        changed: Callable[[], None] = lambda: None,
        clock: StoreClock | None = None,
    ) -> Self:
        """Connects and checks whether this server may use the database. `known`: by default the server's migrations.
        `changed` is called whenever `is_available` changes. `clock` is set to the database's time.

        Raises StoreRefused, with the reason, if a setting is wrong, the role can bypass row level security, or this
        server cannot use the schema. If the database does not answer, raises StoreUnavailable, or with `must_answer`
        False returns a store that is away and is probed until it answers.
        """
        database = cls(url, read_migrations() if known is None else known, connections, idle_s, changed, clock)
        try:
            async with database._translated(), database._connection():
                pass
        except StoreUnavailable as failure:
            if must_answer or isinstance(failure, StoreRefused):
                await database.close()
                raise
            database._away(failure)
        except BaseException:
            await database.close()
            raise
        return database

    async def close(self) -> None:
        """Closes all connections at once; running statements fail."""
        self._closed = True
        if self._probing is not None:
            self._probing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._probing
        self._connections.close()

    def is_available(self) -> bool:
        """False while the store is away, and after `close`."""
        return not (self._closed or self._is_away())

    def _is_away(self) -> bool:
        """Whether a probe is running."""
        return self._probing is not None and not self._probing.done()

    @contextlib.asynccontextmanager
    async def transaction(
        self,
        scope: Scope | None,
        *,
        reads_only: bool = False,
        in_turn: tuple[str, ...] = (),
        within_s: float = TRANSACTION_S,
        derives: bool = False,
        erases: bool = False,
    ) -> AsyncIterator[Transaction]:
        """A transaction on the rows of `scope`; with None on envelopes, until it enters a scope.

        The transaction is committed and durable when the block ends; an error rolls it back. Transactions with the same
        `in_turn` wait until the one before is durable. One that `erases` in a scope and those that store what derives
        from sources there (`derives`) wait for each other: so what the latter store is found by the former, or they
        see its tombstones. Raises StoreUnavailable (the commit may have succeeded),
        StoreFull, NotPermitted for a tenant that the role is not bound to, and the errors of the block.
        """
        if self._closed or self._is_away():
            why = "it cannot be used as it is; the log says why" if self._refused else "it did not answer"
            raise StoreUnavailable(store="postgres", reason=f"{why}; it is being asked again")
        async with self._translated(), asyncio.timeout(2 * _TAKE_S + within_s), self._connection() as connection:
            facts = await self._facts_for(scope, connection)
            locks = [_lock(in_turn)] if in_turn else []
            if scope is not None and (derives or erases):
                locks.append(_lock(("erasing", *ids_of(scope)), is_shared=not erases))
            await connection.execute(_begin(scope, facts, locks, reads_only=reads_only, within_s=within_s))
            if self.clock.is_due:
                await self._measure_time(connection)
            yield Transaction(connection, facts.reach)
            if await connection.execute("COMMIT") != "COMMIT":
                raise StoreUnavailable(store="postgres", reason="it was rolled back")
        self._failures = 0

    async def fetch(self, scope: Scope, statement: str, *values: Any) -> list[asyncpg.Record]:
        """All rows of a statement that reads. It runs in a transaction of its own. Its first two values are the scope's
        ids."""
        async with self.transaction(scope, reads_only=True) as transaction:
            return await transaction.fetch(statement, *ids_of(scope), *values)

    async def first(self, scope: Scope, statement: str, *values: Any) -> asyncpg.Record | None:
        """The first row of a statement that reads; None if there is none."""
        async with self.transaction(scope, reads_only=True) as transaction:
            return await transaction.first(statement, *ids_of(scope), *values)

    async def change(self, scope: Scope, statement: str, *values: Any) -> int:
        """Runs a statement in a transaction of its own; returns the number of rows that it changed."""
        async with self.transaction(scope) as transaction:
            return await transaction.change(statement, *ids_of(scope), *values)

    async def _facts_for(self, scope: Scope | None, connection: asyncpg.Connection) -> PostgresFacts:
        """The facts about the server. They are read again for an unknown tenant, which may be newly bound. Raises
        NotPermitted if the role does not reach the tenant."""
        if scope is not None and not self._standing.reach.includes(scope.tenant_id):
            self._standing = replace(self._standing, reach=await reach_of(connection))
            if not self._standing.reach.includes(scope.tenant_id):
                raise not_bound()
        return self._standing

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection, returned to the pool only if it is still usable."""
        connection = await self._connections.take()
        try:
            yield connection
        except (SidemirrorError, asyncpg.PostgresError) as exc:
            if not connection.is_closed() and connection.is_in_transaction():
                await self._roll_back(connection)
            if meaning_of(exc) is PostgresFailureKind.UNBOUND:
                # The role's tenants have changed; a new connection reads them again.
                self._connections.discard(connection)
                self._connections.discard_idle()
            else:
                self._settle(connection)
            raise
        except BaseException:
            # After a cancellation, a timeout or a lost connection, a statement may still be running.
            self._connections.discard(connection)
            raise
        self._settle(connection)

    async def _roll_back(self, connection: asyncpg.Connection) -> None:
        try:
            await connection.execute("ROLLBACK")
        except BaseException:
            self._connections.discard(connection)
            raise

    def _settle(self, connection: asyncpg.Connection) -> None:
        if connection.is_closed() or connection.is_in_transaction():
            self._connections.discard(connection)
        else:
            self._connections.give_back(connection)

    @contextlib.asynccontextmanager
    async def _translated(self) -> AsyncIterator[None]:
        try:
            yield
        except SidemirrorError:
            raise
        except Exception as exc:
            failure = store_failure(exc)
            if failure is None:
                raise
            _log.warning("store_failed", extra={"store": "postgres", "reason": failure.facts["reason"]})
            if meaning_of(exc) is PostgresFailureKind.AWAY:
                self._failed(failure, hangs=isinstance(exc, TimeoutError))
            raise failure from exc

    async def _connect(self, within_s: float = _CONNECT_S) -> asyncpg.Connection:
        """A new connection that passed all checks. Raises StoreUnavailable, which says what to change."""
        try:
            connection = await connect(self._url, within_s)
            try:
                self._standing = await admit(connection, self._known)
                await self._measure_time(connection)
            except BaseException:
                connection.terminate()
                raise
        except StoreRefused as refusal:
            self._away(refusal)
            raise
        except DRIVER_ERRORS as exc:
            failure = connect_failure(exc)
            if failure is None:
                raise
            if not self._is_away():
                _log.warning("store_failed", extra={"store": "postgres", "reason": failure.facts["reason"]})
            self._failed(failure, hangs=isinstance(exc, TimeoutError))
            raise failure from exc
        if not (self._standing.is_durable or self._told_of_durability):
            self._told_of_durability = True
            _log.warning("store_not_durable", extra={"store": "postgres", "reason": "fsync is off"})
        return connection

    async def _measure_time(self, connection: asyncpg.Connection) -> None:
        asked_s = self.clock.monotonic_s()
        self.clock.measured(await database_time(connection), asked_s)

    # --- while it is away --------------------------------------------------------------------------------------------

    def _failed(self, failure: SidemirrorError, *, hangs: bool) -> None:
        """Counts a failure. `hangs`: open connections will not answer either."""
        self._failures += 1
        if self._failures >= _AWAY_AFTER:
            self._away(failure, hangs=hangs)

    def _away(self, failure: SidemirrorError, *, hangs: bool = False) -> None:
        """Marks the store as away: from now on only `_probe` connects to it."""
        if self._closed or self._is_away():
            return
        self._log_why(failure)
        if hangs:
            self._connections.discard_all()
        else:
            self._connections.discard_idle()
        self._probing = asyncio.get_running_loop().create_task(self._probe(failure))
        self._changed()

    def _log_why(self, failure: SidemirrorError) -> None:
        self._refused = isinstance(failure, StoreRefused)
        told = {"store": "postgres", "reason": failure.facts["reason"]}
        if self._refused:
            _log.error("store_refused", extra=told)
        else:
            _log.warning("store_away", extra=told)

    async def _probe(self, failure: SidemirrorError) -> None:
        """Connects repeatedly until the store answers. Logs the reason for failure whenever it changes."""
        connection = None
        while connection is None:
            await asyncio.sleep(_PROBE_EVERY_S)
            try:
                async with asyncio.timeout(_PROBE_S):
                    connection = await self._connect(_PROBE_S)
            except SidemirrorError as again:
                if again.facts != failure.facts:
                    self._log_why(again)
                failure = again
            except DRIVER_ERRORS:
                continue
        self._connections.adopt(connection)
        self._failures = 0
        self._refused = False
        self._probing = None
        _log.info("store_back", extra={"store": "postgres"})
        self._changed()


def _begin(
    scope: Scope | None, facts: PostgresFacts, locks: Sequence[str], *, reads_only: bool, within_s: float
) -> str:
    """The statements that begin a transaction, as one message and so one round trip. Such a message cannot have bound
    values. Texts of a caller are therefore written in hexadecimal, which the policies decode
    (migrations/0001_scopes.sql). The other values are numbers, and roles quoted by Postgres."""
    within_ms = int(within_s * 1000)
    statements = [
        f"BEGIN ISOLATION LEVEL READ COMMITTED {'READ ONLY' if reads_only else 'READ WRITE'}",
        # A stopped or disconnected sidecar must not block others.
        f"SET LOCAL idle_in_transaction_session_timeout = {within_ms}",
        f"SET LOCAL statement_timeout = {within_ms}",
        f"SET LOCAL lock_timeout = {within_ms}",
    ]
    if not facts.commit_waits:
        statements.append("SET LOCAL synchronous_commit = on")
    if scope is not None:
        statements += _scope_settings(scope, facts.reach)
    return "; ".join((*statements, *locks))


def _scope_settings(scope: Scope, reach: Reach) -> list[str]:
    """The settings for rows of a scope. Raises NotPermitted for a tenant whose role is unknown."""
    settings = [
        f"SET LOCAL sidemirror.tenant_id = '{scope.tenant_id.encode().hex()}'",
        f"SET LOCAL sidemirror.project_id = '{scope.project_id.encode().hex()}'",
    ]
    if reach.roles:
        if scope.tenant_id not in reach.roles:
            raise not_bound()
        settings.append(f"SET LOCAL ROLE {reach.roles[scope.tenant_id]}")
    return settings


def _lock(names: tuple[str, ...], *, is_shared: bool = False) -> str:
    """The statement that takes the advisory lock for these names. All transactions take theirs as they begin, in one
    order, so that no two wait for each other."""
    return f"SELECT pg_catalog.pg_advisory_xact_lock{'_shared' if is_shared else ''}({_lock_of(names)})"


def _lock_of(names: tuple[str, ...]) -> int:
    """The number of the advisory lock for these names. A collision would only make transactions wait."""
    name = "\0".join(("sidemirror", *names)).encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big", signed=True)
