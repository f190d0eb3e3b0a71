"""Checks of a new connection: row level security must bind its role, the server must know the schema, and the role must
reach the rows of a tenant.

Every connection is checked, not only the first: a failover may lead to another database, and a migration may have
been applied in between.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec
from msgspec.structs import replace

from sidemirror_server.storage.postgres.migrate import PostgresApplied, PostgresMigration, check_schema, refused
from sidemirror_server.storage.sql import load_statements
from sidemirror_server.vocabulary.errors import StoreRefused

_SQL = load_statements(Path(__file__).with_name("database.sql"))


class Reach(msgspec.Struct, frozen=True):
    """The tenants whose rows a connection's role reaches (migrations/*_role_tenants.sql). `is_operator`: every tenant.
    `own`: tenants that it is bound to, directly or as a member that inherits. `roles`: by tenant, the role to take for
    it (quoted); empty if the role is bound to a tenant."""

    is_operator: bool = True
    own: tuple[str, ...] = ()
    roles: Mapping[str, str] = msgspec.field(default_factory=dict)

    def includes(self, tenant_id: str) -> bool:
        """Whether the role reaches this tenant's rows."""
        return self.is_operator or tenant_id in self.own or tenant_id in self.roles

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants that it reaches, where these are not all."""
        return self.own or tuple(self.roles)


class PostgresFacts(msgspec.Struct, frozen=True):
    """Facts about a server. `commit_waits`: commits wait for the disk by default; if not, each transaction must ask for
    it. `is_durable`: data on the disk survives a crash of the machine. `has_schema`: our schema is there, and the role
    may use it. `is_direct`: no pooler stands between, so that a prepared statement is there in the next transaction."""

    commit_waits: bool = True
    is_durable: bool = True
    has_schema: bool = True
    is_direct: bool = False
    reach: Reach = Reach()


async def admit(
    connection: asyncpg.Connection,
    known: Sequence[PostgresMigration],
    measure: Callable[[asyncpg.Connection], Awaitable[None]],
) -> PostgresFacts:
    """Checks a connection and returns the facts about its server. `measure` reads its time in the same transaction.

    Raises StoreRefused, saying why, when the connection may not be used.
    """
    # Behind a pooler, statements outside one transaction could reach different server processes.
    await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
    standing, refusals = await look(connection)
    for refusal in refusals:
        raise refusal
    check_schema(await recorded(connection), known)
    reach = await reach_of(connection)
    # A pooler tells each client another process than the one that serves it.
    is_direct = await connection.fetchval(_SQL["process"]) == connection.get_server_pid()
    await measure(connection)
    await connection.execute("COMMIT")
    return replace(standing, reach=reach, is_direct=is_direct)


async def look(connection: asyncpg.Connection) -> tuple[PostgresFacts, tuple[StoreRefused, ...]]:
    """The facts about the server, and why the connection may not be used, the worst first. Does not check the schema's
    version. Runs in the caller's transaction."""
    found = await connection.fetchrow(_SQL["role"])
    standing = PostgresFacts(
        commit_waits=found["synchronous_commit"] != "off",
        is_durable=found["fsync"] == "on",
        has_schema=found["is_migrated"] and found["is_granted"],
    )
    return standing, tuple(_refusals(found))


async def reach_of(connection: asyncpg.Connection) -> Reach:
    """The tenants whose rows the role reaches, after `check_schema`. Raises StoreRefused if there are none."""
    found = await connection.fetchrow(_SQL["reach"])
    own = tuple(found["own"])
    # A role that is bound to a tenant takes no other role.
    roles = {} if own else dict(zip(found["taken"], found["roles"], strict=True))
    if not (found["is_operator"] or own or roles):
        role = await connection.fetchval("SELECT current_user")
        raise refused(
            f"role {role!r} is bound to no tenant, and so sees nothing",
            f"run `sidemirror migrate --grant-to {role} --tenant TENANT` as the owner ('*' for every tenant), or GRANT "
            "it a tenant's role (docs/postgres-tenants.md)",
        )
    return Reach(found["is_operator"], own, roles)


async def recorded(connection: asyncpg.Connection) -> list[PostgresApplied]:
    """The applied migrations, in order."""
    return [PostgresApplied(*row) for row in await connection.fetch(_SQL["migrations"])]


async def database_time(connection: asyncpg.Connection) -> int:
    """The database's time, in microseconds since 1970. Works inside and outside a transaction."""
    now_us: int = await connection.fetchval(_SQL["clock"])
    return now_us


def _refusals(found: asyncpg.Record) -> Iterator[StoreRefused]:
    role = found["role"]
    another = "CREATE ROLE another, with LOGIN and nothing else, and `sidemirror migrate --grant-to` it"
    if found["is_superuser"]:
        yield refused(
            f"role {role!r} is a superuser, or may become one, and row level security would not hold it", another
        )
    if found["bypasses"]:
        yield refused(f"role {role!r} has BYPASSRLS, or may take it, and row level security would not hold it", another)
    if found["owns"]:
        yield refused(f"role {role!r} owns the tables, or may act as their owner", "use one that owns nothing")
    if not found["is_migrated"]:
        yield refused("this database has no schema of ours", "run `sidemirror migrate`")
    elif not found["is_granted"]:
        yield refused(f"role {role!r} may not use the schema", f"run `sidemirror migrate --grant-to {role}`")
    if found["unprotected"]:
        remedy = "as the owner, ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
        yield refused(f"row level security is not in force on {', '.join(found['unprotected'])}", remedy)
