"""The shared store: how its adapters reach Postgres, and how it is known to be away.

An adapter gets a transaction, and only that:

    async with database.transaction(scope) as transaction:
        rows = await transaction.fetch(statement, *values)

It sees and keeps rows of that scope only, whatever its statements say (row level security). A login that is bound to
no tenant itself takes the tenant's role for the length of the transaction (docs/postgres-tenants.md). Everything that a
session could remember is set within the transaction (SET LOCAL), in the round trip that begins it: the same connection
serves anybody next, and a pooler such as PgBouncer may put each transaction on another one. Statements are not kept
prepared for the same reason.

A store that goes away is asked again every half second, by nobody's call: until it answers, calls are refused at once.
So is one that was never there: a server starts without it, and works with it once it answers.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import blake2b
from typing import Any, Self

import asyncpg
from msgspec.structs import replace

from sidemirror_server.storage.postgres.admission import PostgresFacts, Reach, admit, reach_of
from sidemirror_server.storage.postgres.connections import Connections
from sidemirror_server.storage.postgres.failures import (
    PostgresFailureKind,
    connect_failure,
    meaning_of,
    not_bound,
    store_failure,
)
from sidemirror_server.storage.postgres.migrate import DRIVER_ERRORS, PostgresMigration, connect, read_migrations
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope

_log = logging.getLogger(__name__)

# Chosen here, so that one sidecar among hundreds stays small: calls of one agent rarely need more at once, and each
# append of the recorder carries what all turns have waiting.
CONNECTIONS = 4
# Design: 200 idle sidecars within 400 connections. Those beyond the first are let go after this long.
_IDLE_S = 30.0
# Chosen here. Waiting for a connection, and for its making; a transaction from its beginning to its commit.
_TAKE_S = 2.0
TRANSACTION_S = 5.0
# Less than the pool waits, so that it is told what took so long.
_CONNECT_S = 0.9 * _TAKE_S
# Design of the issue: the first success comes within 5 s of the store's return. One try lasts long: a server that was
# stopped answers the try that is waiting when it goes on, where one that was given up is only in the way of the next;
# and a lost packet is sent again within 2 s.
_PROBE_EVERY_S = 0.5
_PROBE_S = 4.0
# A connection may break by itself; two in a row tell of the server.
_AWAY_AFTER = 2


class Transaction:
    """Statements in one transaction. Values are bound, in the order of the statement's numbers."""

    def __init__(self, connection: asyncpg.Connection, reach: Reach) -> None:
        self._connection = connection
        self._reach = reach

    async def enter(self, scope: Scope) -> None:
        """From here on, rows of this scope."""
        await self._connection.execute("; ".join(_scope_settings(scope, self._reach)))

    async def leave(self) -> None:
        """From here on, envelopes of every scope again."""
        if self._reach.roles:
            await self._connection.execute("SET LOCAL ROLE NONE")

    async def fetch(self, statement: str, *values: Any) -> list[asyncpg.Record]:
        """Every row."""
        rows: list[asyncpg.Record] = await self._connection.fetch(statement, *values)
        return rows

    async def first(self, statement: str, *values: Any) -> asyncpg.Record | None:
        """The first row, None when there is none."""
        return await self._connection.fetchrow(statement, *values)

    async def change(self, statement: str, *values: Any) -> int:
        """How many rows the statement touched."""
        told: str = await self._connection.execute(statement, *values)
        return int(told.rpartition(" ")[2])


class PostgresDatabase:
    """One Postgres database, by a role that owns nothing in it. To be used from one event loop."""

    def __init__(
        self,
        url: str,
        known: Sequence[PostgresMigration],
        connections: int,
        idle_s: float,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """Use `open`."""
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
    ) -> Self:
        """Connects and looks whether this server may work there. `known`: the server's own migrations by default.
        `changed` is called each time after which `is_available` says something else.

        Raises StoreRefused, saying why: a setting is wrong, the role could look past row level security, or the schema
        is not one that this server knows how to use. When nobody answers: StoreUnavailable, or with `must_answer` False
        a store that is away, and is asked again until it answers.
        """
        database = cls(url, read_migrations() if known is None else known, connections, idle_s, changed)
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
        """Cuts every connection; what runs fails."""
        self._closed = True
        if self._probing is not None:
            self._probing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._probing
        self._connections.close()

    def is_available(self) -> bool:
        """Whether the store answered when it was asked last."""
        return not (self._closed or self._is_away())

    def _is_away(self) -> bool:
        """Somebody is asking it again."""
        return self._probing is not None and not self._probing.done()

    @contextlib.asynccontextmanager
    async def transaction(
        self,
        scope: Scope | None,
        *,
        reads_only: bool = False,
        in_turn: tuple[str, ...] = (),
        within_s: float = TRANSACTION_S,
    ) -> AsyncIterator[Transaction]:
        """A transaction on the rows of `scope`; with None on envelopes, until it enters a scope.

        Committed, and durable, when the block ends; an error undoes all of it. `in_turn`: transactions that name the
        same here take turns, each from its beginning until it is durable. Raises StoreUnavailable (whether it was
        committed is not known), StoreFull, and NotPermitted for a tenant that the role is not bound to, besides what
        the block raises.
        """
        if self._closed or self._is_away():
            why = "it cannot be used as it is; the log says why" if self._refused else "it did not answer"
            raise StoreUnavailable(store="postgres", reason=f"{why}; it is being asked again")
        async with self._translated(), asyncio.timeout(2 * _TAKE_S + within_s), self._connection() as connection:
            facts = await self._facts_for(scope, connection)
            await connection.execute(_begin(scope, facts, reads_only=reads_only, in_turn=in_turn, within_s=within_s))
            yield Transaction(connection, facts.reach)
            if await connection.execute("COMMIT") != "COMMIT":
                raise StoreUnavailable(store="postgres", reason="it was rolled back")
        self._failures = 0

    async def _facts_for(self, scope: Scope | None, connection: asyncpg.Connection) -> PostgresFacts:
        """What is known of the server, looked at again for a tenant that may have been bound meanwhile. Raises
        NotPermitted when the role does not reach it."""
        if scope is not None and not self._standing.reach.includes(scope.tenant_id):
            self._standing = replace(self._standing, reach=await reach_of(connection))
            if not self._standing.reach.includes(scope.tenant_id):
                raise not_bound()
        return self._standing

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection, which goes back only when it is known to be in order."""
        connection = await self._connections.take()
        try:
            yield connection
        except (SidemirrorError, asyncpg.PostgresError) as exc:
            if not connection.is_closed() and connection.is_in_transaction():
                await self._roll_back(connection)
            if meaning_of(exc) is PostgresFailureKind.UNBOUND:
                # What the role reaches has changed: the next connection is asked for it anew.
                self._connections.discard(connection)
                self._connections.discard_idle()
            else:
                self._settle(connection)
            raise
        except BaseException:
            # Cancelled, out of time, cut: a statement may still be on its way.
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
        """A connection that may be used. Raises StoreUnavailable, saying what to change."""
        try:
            connection = await connect(self._url, within_s)
            try:
                self._standing = await admit(connection, self._known)
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

    # --- while it is away --------------------------------------------------------------------------------------------

    def _failed(self, failure: SidemirrorError, *, hangs: bool) -> None:
        """Nobody answered. `hangs`: nor will those who have been asked already."""
        self._failures += 1
        if self._failures >= _AWAY_AFTER:
            self._away(failure, hangs=hangs)

    def _away(self, failure: SidemirrorError, *, hangs: bool = False) -> None:
        """From now on it is asked by nobody but `_probe`."""
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
        """Asks until it answers. Says why it cannot be used each time that this changes."""
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
    scope: Scope | None, facts: PostgresFacts, *, reads_only: bool, in_turn: tuple[str, ...], within_s: float
) -> str:
    """What begins a transaction, as one message: several statements in one round trip, which can hold no bound values.
    Nothing that a caller chose stands in it as it is: texts come as hexadecimal digits, which the policies read back
    (migrations/0001_scopes.sql), the rest is numbers, and roles as Postgres has quoted them."""
    within_ms = int(within_s * 1000)
    statements = [
        f"BEGIN ISOLATION LEVEL READ COMMITTED {'READ ONLY' if reads_only else 'READ WRITE'}",
        # A stopped or cut-off sidecar must not hold others up.
        f"SET LOCAL idle_in_transaction_session_timeout = {within_ms}",
        f"SET LOCAL statement_timeout = {within_ms}",
        f"SET LOCAL lock_timeout = {within_ms}",
    ]
    if not facts.commit_waits:
        statements.append("SET LOCAL synchronous_commit = on")
    if scope is not None:
        statements += _scope_settings(scope, facts.reach)
    if in_turn:
        statements.append(f"SELECT pg_catalog.pg_advisory_xact_lock({_lock_of(in_turn)})")
    return "; ".join(statements)


def _scope_settings(scope: Scope, reach: Reach) -> list[str]:
    """Raises NotPermitted for a tenant whose role is not known."""
    settings = [
        f"SET LOCAL sidemirror.tenant_id = '{scope.tenant_id.encode().hex()}'",
        f"SET LOCAL sidemirror.project_id = '{scope.project_id.encode().hex()}'",
    ]
    if reach.roles:
        if scope.tenant_id not in reach.roles:
            raise not_bound()
        settings.append(f"SET LOCAL ROLE {reach.roles[scope.tenant_id]}")
    return settings


def _lock_of(names: tuple[str, ...]) -> int:
    """The number of the lock of these names. Others with the same one would only wait for each other."""
    name = "\0".join(("sidemirror", *names)).encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big", signed=True)
