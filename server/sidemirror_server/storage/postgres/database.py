"""The shared store: transactions on Postgres for its adapters, and detection of a store that is away.

An adapter uses only transactions:

    async with database.transaction(scope) as transaction:
        rows = await transaction.fetch(statement, *values)

Row level security limits the transaction to rows of that scope, whatever its statements say. A login that is bound to
no tenant takes the tenant's role for the length of the transaction (docs/postgres-tenants.md). Session settings are
local to the transaction (SET LOCAL) and set in the round trip that begins it. The next transaction on a connection may
belong to another scope, and a pooler such as PgBouncer may run each transaction on another connection. Only where no
pooler stands between do a few statements stay prepared (`Transaction.fetch`).

A background task probes a store that is away every half second. Calls are refused at once until the store answers. A
server can start while the store is away, and uses it once it answers.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Self

import asyncpg
from msgspec.structs import replace

from sidemirror_server.storage.postgres.admission import PostgresFacts, admit, database_time, reach_of
from sidemirror_server.storage.postgres.connections import Connections
from sidemirror_server.storage.postgres.failures import (
    LOST_STATEMENT,
    PostgresFailureKind,
    connect_failure,
    meaning_of,
    not_bound,
    place_of,
    store_failure,
)
from sidemirror_server.storage.postgres.migrate import (
    DRIVER_ERRORS,
    PostgresMigration,
    StoreConnection,
    connect,
    read_migrations,
    refused,
)
from sidemirror_server.storage.postgres.transactions import LogUse, Transaction, begin
from sidemirror_server.storage.sql import ids_of
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.store_clock import StoreClock

_log = logging.getLogger(__name__)

# Chosen here: small, because hundreds of sidecars share a server. The calls of one agent rarely need more at once, and
# an append of the recorder carries the waiting entries of all turns of a project.
CONNECTIONS = 4
# All idle connections but one close after this time: 200 idle sidecars must fit into 400 connections (decision 038).
_IDLE_S = 30.0
# The last one closes after this time, so that an idle fleet holds none (decision 056). Chosen here: an agent that makes
# a pause does not pay for a new connection.
LAST_IDLE_S = 300.0
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


class PostgresDatabase:
    """One Postgres database, used by a role that owns nothing in it, from one event loop."""

    def __init__(
        self,
        url: str,
        known: Sequence[PostgresMigration],
        connections: int,
        idle_s: float,
        last_idle_s: float,
        changed: Callable[[], None] = lambda: None,
        clock: StoreClock | None = None,
    ) -> None:
        """Callers use `open` instead."""
        # How many transactions that may write have begun: by it a sidecar knows whether it is in use.
        self.writes = 0
        # Follows the database's time, which is measured on each new connection and every minute.
        self.clock = clock or StoreClock(SystemClock())
        self._url = url
        self._known = known
        self._connections = Connections(self._connect, connections, _TAKE_S, idle_s, last_idle_s)
        self._changed = changed
        self._standing = PostgresFacts()
        self._told_of_durability = False
        # Set by the first statement that was prepared and is not there: a pooler that `is_direct` did not notice.
        self._loses_statements = False
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
        last_idle_s: float = LAST_IDLE_S,
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
        known = read_migrations() if known is None else known
        database = cls(url, known, connections, idle_s, last_idle_s, changed, clock)
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

    def rest(self) -> None:
        """Closes idle connections now, except one on which a sidecar listens."""
        self._connections.rest()

    async def announce(self, channel: str) -> None:
        """Notifies all who listen on this channel, without contents. Its transaction is its own, because Postgres
        commits one transaction with a notification at a time. Raises StoreUnavailable."""
        if self._closed or self._is_away():
            raise StoreUnavailable(store="postgres", reason="it did not answer; it is being asked again")
        async with self._translated(), asyncio.timeout(2 * _TAKE_S), self._connection() as connection:
            # A notification that a crash of the server loses is made good by the next look.
            await connection.execute(f"BEGIN; SET LOCAL synchronous_commit = off; NOTIFY {channel}; COMMIT")

    async def listen(self, url: str, channel: str, heard: Callable[[], None]) -> asyncio.Event:
        """Calls `heard` at each notification, on a connection that this pool holds. `url`: an address of this database
        without a pooler between. Returns the event that is set when the connection ends. Raises StoreUnavailable, and
        StoreRefused if there is a pooler."""
        ended = asyncio.Event()
        try:
            async with asyncio.timeout(_TAKE_S):
                connection = await connect(url, _CONNECT_S)
                try:
                    await self._admit(connection)
                    if not self._standing.is_direct:
                        raise refused("the address for listening (SIDEMIRROR_DATABASE_LISTEN_URL) leads to a pooler")
                    await connection.add_listener(channel, lambda *_: heard())
                    connection.add_termination_listener(lambda _: ended.set())
                except BaseException:
                    connection.terminate()
                    raise
        except DRIVER_ERRORS as exc:
            failure = connect_failure(exc)
            if failure is None:
                raise
            raise failure from exc
        self._connections.hold(connection)
        return ended

    def listen_no_more(self) -> None:
        """Ends `listen`."""
        self._connections.let_go()

    def is_available(self) -> bool:
        """False while the store is away, and after `close`."""
        return not (self._closed or self._is_away())

    def counts_apart(self) -> bool:
        """Whether its role is not the operator's, so that a sum over everything is that of the tenant at hand
        (`ledger.sql`, used)."""
        return not self._standing.reach.is_operator

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
        log: LogUse = None,
    ) -> AsyncIterator[Transaction]:
        """A transaction on the rows of `scope`; with None on envelopes, until it enters a scope.

        The transaction is committed and durable when the block ends; an error rolls it back. Transactions with the same
        `in_turn` wait until the one before is durable. One that `erases` in a scope and those that store what derives
        from sources there (`derives`) wait for each other: so what the latter store is found by the former, or they
        see its tombstones. `log`: what it does with the scope's log. Raises StoreUnavailable (the commit may have
        succeeded), StoreFull, NotPermitted for a tenant that the role is not bound to, and the errors of the block.
        """
        if self._closed or self._is_away():
            why = "it cannot be used as it is; the log says why" if self._refused else "it did not answer"
            raise StoreUnavailable(store="postgres", reason=f"{why}; it is being asked again")
        self.writes += not reads_only
        async with self._translated(), asyncio.timeout(2 * _TAKE_S + within_s), self._connection() as connection:
            facts = await self._facts_for(scope, connection)
            sources = "erases" if erases else "derives" if derives else ""
            await connection.execute(
                begin(scope, facts, reads_only=reads_only, in_turn=in_turn, within_s=within_s, sources=sources, log=log)
            )
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
            if isinstance(exc, LOST_STATEMENT):
                self._loses_statements = True
                self._connections.discard(connection)
                self._connections.discard_idle()
            elif meaning_of(exc) is PostgresFailureKind.UNBOUND:
                # The role's tenants have changed; a new connection reads them again.
                self._connections.discard(connection)
                self._connections.discard_idle()
            else:
                self._settle(connection)
            raise
        except AttributeError as error:
            # asyncpg's, of a connection that was closed between two messages of one call.
            was_closed = connection.is_closed()
            self._connections.discard(connection)
            if was_closed:
                raise ConnectionResetError("it was closed while it was used") from error
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
            is_gone = meaning_of(exc) is PostgresFailureKind.AWAY
            if not self._is_away():
                self._tell_failure(failure, is_gone=is_gone)
            if is_gone:
                self._failed(failure, hangs=isinstance(exc, TimeoutError))
            raise failure from exc

    async def _connect(self, within_s: float = _CONNECT_S) -> asyncpg.Connection:
        """A new connection that passed all checks. Raises StoreUnavailable, which says what to change."""
        try:
            connection = await connect(self._url, within_s)
            try:
                await self._admit(connection)
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
                self._tell_failure(failure, is_gone=True)
            self._failed(failure, hangs=isinstance(exc, TimeoutError))
            raise failure from exc
        if not (self._standing.is_durable or self._told_of_durability):
            self._told_of_durability = True
            _log.warning("store_not_durable", extra={"store": "postgres", "reason": "fsync is off"})
        return connection

    async def _admit(self, connection: StoreConnection) -> None:
        self._standing = await admit(connection, self._known, self._measure_time)
        connection.keeps_statements = self._standing.is_direct and not self._loses_statements

    async def _measure_time(self, connection: asyncpg.Connection) -> None:
        asked_s = self.clock.monotonic_s()
        self.clock.measured(await database_time(connection), asked_s)

    # --- while it is away --------------------------------------------------------------------------------------------

    def _tell_failure(self, failure: SidemirrorError, *, is_gone: bool) -> None:
        """Logs why a statement or a connection failed. `is_gone`: `store_away` is the warning."""
        level = logging.INFO if is_gone else logging.WARNING
        _log.log(level, "store_failed", extra={"store": "postgres", "reason": failure.facts["reason"]})

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

    def _log_why(self, failure: SidemirrorError, *, goes_on: bool = False) -> None:
        """Logs why the store is away. `goes_on`: the outage has its warning already."""
        goes_on = goes_on and not self._refused
        self._refused = isinstance(failure, StoreRefused)
        told = {"store": "postgres", "at": place_of(self._url), "reason": failure.facts["reason"]}
        if self._refused:
            _log.error("store_refused", extra=told)
        elif goes_on:
            _log.info("store_still_away", extra=told)
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
                    self._log_why(again, goes_on=True)
                failure = again
            except DRIVER_ERRORS:
                continue
        self._connections.adopt(connection)
        self._failures = 0
        self._refused = False
        self._probing = None
        _log.info("store_back", extra={"store": "postgres"})
        self._changed()
