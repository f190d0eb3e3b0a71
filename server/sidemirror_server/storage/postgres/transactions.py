"""One transaction of the shared store: what begins it, and the statements that run in it.

`database.py` makes them. Row level security limits a transaction to the rows of its scope, whatever its statements say.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import asyncpg
from msgspec.structs import astuple

from sidemirror_server.storage.postgres.admission import PostgresFacts, Reach
from sidemirror_server.storage.postgres.failures import not_bound
from sidemirror_server.storage.postgres.migrate import StoreConnection
from sidemirror_server.storage.sql import ids_of
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

# How a transaction uses its scope's log. It appends entries, and others may append at the same time; it changes
# entries, and nobody else appends; or it reads the log in the order of positions, as far as it is settled.
LogUse: TypeAlias = Literal["appends", "changes", "reads"] | None


_SETTLED = "SELECT current_setting('sidemirror.last')::bigint, current_setting('sidemirror.settled')::bigint"


class Transaction:
    """Runs statements in one transaction. Values are bound to $1, $2, … in order."""

    def __init__(self, connection: StoreConnection, reach: Reach) -> None:
        self._connection = connection
        self._reach = reach

    async def enter(self, scope: Scope) -> None:
        """Limits the statements that follow to rows of this scope."""
        await self._connection.execute("; ".join(scope_settings(scope, self._reach)))

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

    async def fetch(self, statement: str, *values: Any, often: bool = False) -> list[asyncpg.Record]:
        """All rows. A statement that runs `often` stays prepared on the connection where that is possible: Postgres
        parses it once, and may plan it once. So its plan must not depend on its values."""
        runs = await self._prepared(statement) if often and self._connection.keeps_statements else None
        rows: list[asyncpg.Record] = await (
            self._connection.fetch(statement, *values) if runs is None else runs.fetch(*values)
        )
        return rows

    async def _prepared(self, statement: str) -> Any:
        prepared = self._connection.prepared
        if statement not in prepared:
            # Without a name it would be the one that the next statement replaces.
            prepared[statement] = await self._connection.prepare(statement, name=next(self._connection.names))
        return prepared[statement]

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

    async def settled(self) -> tuple[int, int]:
        """The last position that was given to anybody when a transaction that `reads` the log began, and how far the
        scope's log was settled."""
        ((last, up_to),) = await self.fetch(_SETTLED)
        return last, up_to

    async def change(self, statement: str, *values: Any, often: bool = False) -> int:
        """Runs the statement; returns the number of rows that it changed. `often`: as for `fetch`."""
        if often and self._connection.keeps_statements:
            runs = await self._prepared(statement)
            await runs.fetch(*values)
            told: str = runs.get_statusmsg()
        else:
            told = await self._connection.execute(statement, *values)
        return int(told.rpartition(" ")[2])


def left_out(but: Sequence[Served]) -> tuple[list[str | None], list[str | None]]:
    """The values of a statement that leaves these entries out: their tenants, and their projects (NULL for all)."""
    return [entry.tenant_id for entry in but], [entry.project_id for entry in but]


def begin(
    scope: Scope | None,
    facts: PostgresFacts,
    *,
    reads_only: bool,
    in_turn: tuple[str, ...],
    within_s: float,
    sources: str = "",
    log: LogUse = None,
) -> str:
    """The statements that begin a transaction, as one message and so one round trip. Such a message cannot have bound
    values. Texts of a caller are therefore written in hexadecimal, which the policies decode
    (migrations/0001_scopes.sql). The other values are numbers, and roles quoted by Postgres. `sources`: "derives"
    shares a lock of the scope that "erases" has alone. `log`: what the transaction does with the scope's log. All
    transactions take their locks as they begin, and in one order, so that no two wait for each other."""
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
        statements += scope_settings(scope, facts.reach)
    if in_turn:
        statements.append(f"SELECT pg_catalog.pg_advisory_xact_lock({lock_of(in_turn)})")
    if scope is not None and log is not None:
        statements += _log_statements(scope, log)
    if scope is not None and sources:
        shared = "" if sources == "erases" else "_shared"
        number = lock_of(("erasing", *ids_of(scope)))
        statements.append(f"SELECT pg_catalog.pg_advisory_xact_lock{shared}({number})")
    return "; ".join(statements)


def _log_statements(scope: Scope, log: LogUse) -> list[str]:
    """Appends share the lock that "changes" has alone, and say from which position on they append. A reader learns how
    far the log is settled, before its own statements see the rows (migrations/*_wide_log.sql)."""
    if log == "reads":
        return [f"SELECT sidemirror.settle({key_of(scope)})"]
    shared = "" if log == "changes" else "_shared"
    return [
        f"SELECT pg_catalog.pg_advisory_xact_lock{shared}({log_lock(scope)})",
        f"SELECT sidemirror.appending({key_of(scope)})",
    ]


def log_lock(scope: Scope) -> int:
    """The number of the lock that appends to a scope's log share."""
    return lock_of(("log", *ids_of(scope)))


def key_of(scope: Scope) -> int:
    """The number under which a scope's running appends are found: 32 bits, signed. Scopes that share one only wait for
    each other's appends before they show entries."""
    return lock_of(("appending", *ids_of(scope))) >> 32


def scope_settings(scope: Scope, reach: Reach) -> list[str]:
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


def lock_of(names: tuple[str, ...]) -> int:
    """The number of the advisory lock for these names. A collision would only make transactions wait."""
    name = "\0".join(("sidemirror", *names)).encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big", signed=True)
