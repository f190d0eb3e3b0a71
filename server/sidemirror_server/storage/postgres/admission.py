"""What a new connection must show before it is used: a role that row level security holds, a schema that we know, and a
tenant whose rows the role reaches.

Asked of every connection and not only at start: a failover may lead to another database, and a migration may have come
meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec
from msgspec.structs import replace

from sidemirror_server.storage.postgres.migrate import PostgresApplied, PostgresMigration, check_schema, refused
from sidemirror_server.storage.sql import load_statements

_SQL = load_statements(Path(__file__).with_name("database.sql"))


class Reach(msgspec.Struct, frozen=True):
    """Which tenants' rows a connection's role reaches (migrations/*_role_tenants.sql). `is_operator`: every tenant's.
    `own`: the tenants that it is bound to, by itself or as a member that inherits. `roles`: by tenant, the role to take
    for it (quoted); only where the role is bound to no tenant itself."""

    is_operator: bool = True
    own: tuple[str, ...] = ()
    roles: Mapping[str, str] = msgspec.field(default_factory=dict)

    def includes(self, tenant_id: str) -> bool:
        """Whether there is a way to this tenant's rows."""
        return self.is_operator or tenant_id in self.own or tenant_id in self.roles


class PostgresFacts(msgspec.Struct, frozen=True):
    """What is to be known of a server. `commit_waits`: commits wait for the disk by themselves; when not, they must be
    told to. `is_durable`: what has reached the disk outlives a crash of the machine."""

    commit_waits: bool = True
    is_durable: bool = True
    reach: Reach = Reach()


async def admit(connection: asyncpg.Connection, known: Sequence[PostgresMigration]) -> PostgresFacts:
    """What the server is like.

    Raises StoreRefused, saying why, when the connection may not be used.
    """
    # In one transaction: behind a pooler each statement could otherwise reach another server process.
    await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
    standing, reasons = await look(connection)
    for reason in reasons:
        raise refused(reason)
    check_schema(await recorded(connection), known)
    reach = await reach_of(connection)
    await connection.execute("COMMIT")
    return replace(standing, reach=reach)


async def look(connection: asyncpg.Connection) -> tuple[PostgresFacts, tuple[str, ...]]:
    """What the server is like, and every reason but the schema's version why the connection may not be used, the
    gravest first. In the caller's transaction."""
    found = await connection.fetchrow(_SQL["role"])
    standing = PostgresFacts(commit_waits=found["synchronous_commit"] != "off", is_durable=found["fsync"] == "on")
    return standing, tuple(_reasons(found))


async def reach_of(connection: asyncpg.Connection) -> Reach:
    """Which tenants' rows the role reaches, of a schema that was checked. Raises StoreRefused when it is none."""
    found = await connection.fetchrow(_SQL["reach"])
    own = tuple(found["own"])
    # One way to each tenant: a role of its own is not left for another.
    roles = {} if own else dict(zip(found["taken"], found["roles"], strict=True))
    if not (found["is_operator"] or own or roles):
        role = await connection.fetchval("SELECT current_user")
        raise refused(
            f"role {role!r} is bound to no tenant, and so sees nothing: run `sidemirror migrate --grant-to {role} "
            "--tenant TENANT` ('*' for every tenant), or GRANT it a tenant's role"
        )
    return Reach(found["is_operator"], own, roles)


async def recorded(connection: asyncpg.Connection) -> list[PostgresApplied]:
    """The migrations that were applied, in order."""
    return [PostgresApplied(*row) for row in await connection.fetch(_SQL["migrations"])]


def _reasons(found: asyncpg.Record) -> Iterator[str]:
    role = found["role"]
    if found["is_superuser"]:
        yield f"role {role!r} is a superuser, or may become one: row level security would not hold it"
    if found["bypasses"]:
        yield f"role {role!r} has BYPASSRLS, or may take it: row level security would not hold it"
    if found["owns"]:
        yield f"role {role!r} owns the tables, or may act as their owner: use one that owns nothing"
    if not found["is_migrated"]:
        yield "this database has no schema of ours: run `sidemirror migrate`"
    elif not found["is_granted"]:
        yield f"role {role!r} may not use the schema: run `sidemirror migrate --grant-to {role}`"
    if found["unprotected"]:
        yield f"row level security is not in force on {', '.join(found['unprotected'])}"
