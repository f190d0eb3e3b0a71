"""Migrates a Postgres database, as its owner, to the schema that this server knows (`storage/migration.py`).

The first line of a migration says whether servers that do not know it can still use the schema:

    -- compatible: yes

The database records each migration with its checksum and this line. `serve` only compares; it never migrates.
"""

import contextlib
import itertools
import re
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncpg

from sidemirror_server.storage.migration import (
    OTHER_SERVER,
    Applied,
    Migration,
    check_same,
    missing,
    read_files,
    unknown,
)
from sidemirror_server.storage.postgres.failures import connect_failure, store_failure
from sidemirror_server.vocabulary.errors import StoreRefused

MIGRATIONS = Path(__file__).with_name("migrations")

_COMPATIBLE = re.compile(r"-- compatible: (yes|no)\n")
# The advisory lock that serialises concurrent migrations: any fixed number that nothing else uses.
_LOCK = 0x5349_4445_4D49_5252
_TABLE = """
CREATE SCHEMA IF NOT EXISTS sidemirror;
CREATE TABLE IF NOT EXISTS sidemirror.schema_migrations (
    number     bigint PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,     -- SHA-256 of the file, hexadecimal
    compatible boolean NOT NULL,  -- with servers that do not know it
    applied_us bigint NOT NULL
)
"""
# All errors that asyncpg raises if a server, the network or a statement fails.
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, EOFError)
_RECORDED = "SELECT number, name, checksum, compatible FROM sidemirror.schema_migrations ORDER BY number"
_RECORD = "INSERT INTO sidemirror.schema_migrations VALUES ($1, $2, $3, $4, $5)"
# The grants include future tables, so that a later migration works without the roles' names.
_GRANTS = (
    "GRANT USAGE ON SCHEMA sidemirror TO %I",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sidemirror TO %I",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA sidemirror GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I",
)
# Tables that every role may read and only the owner may write.
_BINDINGS = "sidemirror.role_tenants"
_OWNERS = ("sidemirror.schema_migrations", _BINDINGS)
_EVERY_TENANT = "*"
_BIND = """
INSERT INTO sidemirror.role_tenants
SELECT oid, $2 FROM pg_catalog.pg_roles WHERE rolname = $1
ON CONFLICT (role) DO UPDATE SET tenant_id = excluded.tenant_id
"""
# Removes bindings of deleted roles, whose oid a new role may get, and the default binding of all roles (oid 0).
_UNBIND = """
DELETE FROM sidemirror.role_tenants
WHERE role::oid NOT IN (SELECT oid FROM pg_catalog.pg_roles)
"""
# Hides the statistics again at each migration, because restoring a database undoes that.
_HIDE = """
SELECT sidemirror.hide_statistics()
WHERE EXISTS (SELECT FROM sidemirror.role_tenants WHERE tenant_id <> '*')
"""
_UNBOUND = """
SELECT role.rolname
FROM pg_catalog.pg_namespace AS home, aclexplode(home.nspacl) AS acl
JOIN pg_catalog.pg_roles AS role ON role.oid = acl.grantee
WHERE home.nspname = 'sidemirror' AND acl.privilege_type = 'USAGE' AND acl.grantee <> home.nspowner
      AND NOT EXISTS (SELECT FROM sidemirror.role_tenants AS bound
                      WHERE bound.role = 0 OR pg_catalog.pg_has_role(role.oid, bound.role, 'MEMBER'))
ORDER BY 1
"""
_BOUND = """
SELECT rolname, tenant_id
FROM sidemirror.role_tenants
JOIN pg_catalog.pg_roles ON pg_roles.oid = role::oid
"""
_MAKES_ROLES = "SELECT rolcreaterole FROM pg_catalog.pg_roles WHERE rolname = $1"
_UNFIT = """
SELECT rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = $1
"""

_AS_OWNER = "connect as the database's owner, and grant to the role of the sidecars"


class StoreConnection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    """A connection with the statements that `Transaction` has prepared on it. `keeps_statements`: they are there in the
    next transaction, since no pooler stands between."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.keeps_statements = False
        self.prepared: dict[str, Any] = {}
        # Counts attempts: one that was cut off may have left its name with Postgres.
        self.names = (f"sidemirror_{number}" for number in itertools.count())


class PostgresMigration(Migration, frozen=True):
    """One file. `compatible`: servers that do not know this migration can still use the schema."""

    compatible: bool


class PostgresApplied(Applied, frozen=True):
    """A migration in a database. `compatible`: what its file said when it was applied."""

    compatible: bool


def read_migrations(folder: Path = MIGRATIONS) -> tuple[PostgresMigration, ...]:
    """The migrations of the folder in order. Raises ValueError for a wrong name, numbering or first line."""
    found = []
    for file in read_files(folder):
        compatible = _COMPATIBLE.match(file.script)
        if compatible is None:
            raise ValueError(f"{file}.sql: begins with '-- compatible: yes' or '-- compatible: no'")
        is_compatible = compatible[1] == "yes"
        found.append(PostgresMigration(file.number, file.name, file.script, file.checksum, is_compatible))
    return tuple(found)


def check_schema(applied: Sequence[PostgresApplied], known: Sequence[PostgresMigration]) -> None:
    """Raises StoreRefused, which says what to do, if a server that knows `known` cannot use this schema."""
    check_same("postgres", applied, known)
    for lacked in missing(applied, known):
        raise refused(f"migration {lacked} is missing", "run `sidemirror migrate`")
    for newer in unknown(applied, known):
        if not newer.compatible:
            cause = f"migration {newer} is newer than this server, and says that only newer servers work with it"
            raise refused(cause, OTHER_SERVER)


async def connect(url: str, within_s: float) -> asyncpg.Connection:
    """A connection that prepares no statements by itself. Its name tells it from servers that this schema turns away
    (migrations/*_wide_log.sql). Raises StoreRefused, with the reason, if a setting is wrong (an invalid URL, a wrong
    password, …), and the errors of asyncpg if the server does not answer."""
    try:
        return await asyncpg.connect(
            url,
            timeout=within_s,
            statement_cache_size=0,
            connection_class=StoreConnection,
            server_settings={"application_name": "sidemirror-wide"},
        )
    except ssl.SSLError:  # some subclasses are ValueErrors
        raise
    except (asyncpg.ClientConfigurationError, ValueError) as exc:
        # The error's text may contain parts of the URL.
        raise refused(
            "its URL cannot be used",
            "postgresql://role:password@host:port/database is expected, with `/`, `#`, `?`, `@` and `%` in a password "
            "written as %XX",
        ) from exc


async def migrate(
    url: str,
    grant_to: Sequence[str],
    now_us: int,
    known: Sequence[PostgresMigration] | None = None,
    *,
    tenants: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Applies the missing migrations, one transaction each, and grants the roles access; returns the names of the
    migrations that it applied. Safe to run twice, and concurrently. Changes nothing if a role is unfit for a grant.

    `url`: the owner's. `tenants`: for each role of `grant_to`, the tenant whose rows it will reach ('*' for every
    tenant). A role that is left out keeps its binding. Raises StoreUnavailable with the reason, StoreRefused if
    something must be changed.
    """
    known, tenants = read_migrations() if known is None else known, tenants or {}
    async with _as_owner(url) as connection:
        for role in grant_to:
            await _check_role(connection, role, tenants.get(role))
        return await _migrate(connection, grant_to, tenants, now_us, known)


async def bindings(url: str) -> dict[str, str]:
    """The tenant that each role is bound to ('*' for every tenant), without the default of all roles. `url`: the
    owner's. Raises the errors of `migrate`."""
    async with _as_owner(url) as connection:
        if not await connection.fetchval("SELECT to_regclass($1)", _BINDINGS):
            return {}
        return dict(await connection.fetch(_BOUND))


async def unbound_roles(url: str) -> tuple[str, ...]:
    """The roles that were granted the schema but see no rows, because they are bound to no tenant. `url`: the owner's.
    Raises the errors of `migrate`."""
    async with _as_owner(url) as connection:
        return tuple(row[0] for row in await connection.fetch(_UNBOUND))


@contextlib.asynccontextmanager
async def _as_owner(url: str) -> AsyncIterator[asyncpg.Connection]:
    try:
        connection = await connect(url, 10)
    except DRIVER_ERRORS as exc:
        raise (connect_failure(exc) or refused(type(exc).__name__)) from exc
    try:
        yield connection
    except asyncpg.InsufficientPrivilegeError as exc:
        raise refused(str(exc), _AS_OWNER) from exc
    except DRIVER_ERRORS as exc:
        # The text is safe to show: the owner's statements contain no user data.
        raise (store_failure(exc) or refused(str(exc))) from exc
    finally:
        # Closing a broken connection raises, and would hide the first error.
        with contextlib.suppress(*DRIVER_ERRORS):
            await connection.close(timeout=5)


async def _migrate(
    connection: asyncpg.Connection,
    grant_to: Sequence[str],
    tenants: Mapping[str, str],
    now_us: int,
    known: Sequence[PostgresMigration],
) -> tuple[str, ...]:
    async with connection.transaction():
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        await connection.execute(_TABLE)
    applied = []
    for migration in known:
        async with connection.transaction():
            await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
            there = [PostgresApplied(*row) for row in await connection.fetch(_RECORDED)]
            check_same("postgres", there, known)
            if missing(there, [migration]):
                await connection.execute(migration.script)
                values = (migration.number, migration.name, migration.checksum, migration.compatible, now_us)
                await connection.execute(_RECORD, *values)
                applied.append(str(migration))
    async with connection.transaction():
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        for role in grant_to:
            await _grant(connection, role)
        for role, tenant_id in tenants.items():
            await connection.execute(_BIND, role, tenant_id)
        if tenants:
            await connection.execute(_UNBIND)
        if await connection.fetchval("SELECT to_regclass($1)", _BINDINGS):
            await connection.execute(_HIDE)
    return tuple(applied)


async def _check_role(connection: asyncpg.Connection, role: str, tenant_id: str | None) -> None:
    unfit = await connection.fetchval(_UNFIT, role)
    if unfit is None:
        raise refused(f"there is no role {role!r}", "CREATE ROLE it first, with LOGIN and nothing else")
    if role == await connection.fetchval("SELECT current_user"):
        raise refused(f"role {role!r} is the one that migrates, and so owns the schema", _AS_OWNER)
    if unfit:
        raise refused(f"role {role!r} could look past row level security: it is a superuser or has BYPASSRLS")
    if tenant_id not in (None, _EVERY_TENANT) and await connection.fetchval(_MAKES_ROLES, role):
        raise refused(f"role {role!r} may make roles, and so could join another tenant's", "ALTER ROLE it NOCREATEROLE")


async def _grant(connection: asyncpg.Connection, role: str) -> None:
    revokes = [
        f"REVOKE INSERT, UPDATE, DELETE ON {table} FROM %I"
        for table in _OWNERS
        if await connection.fetchval("SELECT to_regclass($1)", table)
    ]
    for statement in (*_GRANTS, *revokes):
        await connection.execute(await connection.fetchval("SELECT format($1, $2::text)", statement, role))


def refused(cause: str, remedy: str = "") -> StoreRefused:
    """The error for a store that answers but must not be used."""
    return StoreRefused(store="postgres", reason=cause, remedy=remedy)
