"""Brings a Postgres database up to the schema this server knows (`storage/migration.py`), as its owner.

The first line of a migration says whether servers that do not know it go on working with the schema:

    -- compatible: yes

What was applied is recorded with a checksum and that answer. `serve` never changes the schema: it only compares.
"""

import contextlib
import re
import ssl
from collections.abc import Sequence
from pathlib import Path

import asyncpg

from sidemirror_server.storage.migration import Applied, Migration, check_same, missing, read_files, unknown
from sidemirror_server.storage.postgres.failures import connect_failure, store_failure
from sidemirror_server.vocabulary.errors import StoreRefused

MIGRATIONS = Path(__file__).with_name("migrations")

_COMPATIBLE = re.compile(r"-- compatible: (yes|no)\n")
# Any fixed number serves, as long as nobody else uses it: two that migrate at once take turns.
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
# All that asyncpg raises when a server, the network or a statement fails.
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, EOFError)
_RECORDED = "SELECT number, name, checksum, compatible FROM sidemirror.schema_migrations ORDER BY number"
_RECORD = "INSERT INTO sidemirror.schema_migrations VALUES ($1, $2, $3, $4, $5)"
# What is made later is granted too, so that a later migration need not be told the roles again.
_GRANTS = (
    "GRANT USAGE ON SCHEMA sidemirror TO %I",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sidemirror TO %I",
    "REVOKE INSERT, UPDATE, DELETE ON sidemirror.schema_migrations FROM %I",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA sidemirror GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I",
)
_UNFIT = """
SELECT rolsuper OR rolbypassrls OR rolname = current_user FROM pg_catalog.pg_roles WHERE rolname = $1
"""


class PostgresMigration(Migration, frozen=True):
    """One file. `compatible`: servers that do not know it go on working with the schema."""

    compatible: bool


class PostgresApplied(Applied, frozen=True):
    """A migration that a database has. `compatible`: as its file said when it was applied."""

    compatible: bool


def read_migrations(folder: Path = MIGRATIONS) -> tuple[PostgresMigration, ...]:
    """The files of the folder in order. Raises ValueError for a name, a numbering or a first line that is wrong."""
    found = []
    for file in read_files(folder):
        compatible = _COMPATIBLE.match(file.script)
        if compatible is None:
            raise ValueError(f"{file}.sql: begins with '-- compatible: yes' or '-- compatible: no'")
        is_compatible = compatible[1] == "yes"
        found.append(PostgresMigration(file.number, file.name, file.script, file.checksum, is_compatible))
    return tuple(found)


def check_schema(applied: Sequence[PostgresApplied], known: Sequence[PostgresMigration]) -> None:
    """Raises StoreRefused, saying what to do, when a server that knows `known` cannot work with this schema."""
    check_same("postgres", applied, known)
    for lacked in missing(applied, known):
        raise refused(f"migration {lacked} is missing: run `sidemirror migrate`")
    for newer in unknown(applied, known):
        if not newer.compatible:
            raise refused(f"migration {newer} is newer than this server, and says that only newer servers work with it")


async def connect(url: str, within_s: float) -> asyncpg.Connection:
    """A connection whose statements are not kept prepared. Raises StoreRefused when the settings have to change (a URL
    that is none, a wrong password, …), saying which, and what asyncpg raises when nobody answers."""
    try:
        return await asyncpg.connect(
            url, timeout=within_s, statement_cache_size=0, server_settings={"application_name": "sidemirror"}
        )
    except ssl.SSLError:  # one of its kinds is a ValueError
        raise
    except (asyncpg.ClientConfigurationError, ValueError) as exc:
        # Its text may show parts of the URL.
        raise refused(
            "its URL cannot be used: postgresql://role:password@host:port/database is expected, with `/`, `#`, `?`, "
            "`@` and `%` in a password written as %XX"
        ) from exc


async def migrate(
    url: str, grant_to: Sequence[str], now_us: int, known: Sequence[PostgresMigration] | None = None
) -> tuple[str, ...]:
    """Applies what is missing, each file in its own transaction, and lets the roles use what there is; returns the
    migrations applied now, by name. Safe to run twice, and at the same time. Changes nothing when a role cannot be
    granted anything.

    `url`: of the owner. Raises StoreUnavailable (StoreRefused when something has to be changed), saying why.
    """
    known = read_migrations() if known is None else known
    try:
        connection = await connect(url, 10)
    except DRIVER_ERRORS as exc:
        raise (connect_failure(exc) or refused(type(exc).__name__)) from exc
    try:
        for role in grant_to:
            await _check_role(connection, role)
        return await _migrate(connection, grant_to, now_us, known)
    except DRIVER_ERRORS as exc:
        # The owner reads this, of statements that hold nobody's data.
        raise (store_failure(exc) or refused(str(exc))) from exc
    finally:
        # It may be broken, and closing it politely then raises instead of what was wrong.
        with contextlib.suppress(*DRIVER_ERRORS):
            await connection.close(timeout=5)


async def _migrate(
    connection: asyncpg.Connection, grant_to: Sequence[str], now_us: int, known: Sequence[PostgresMigration]
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
    return tuple(applied)


async def _check_role(connection: asyncpg.Connection, role: str) -> None:
    unfit = await connection.fetchval(_UNFIT, role)
    if unfit is None:
        raise refused(f"there is no role {role!r}: CREATE ROLE it first, with LOGIN and nothing else")
    if unfit:
        raise refused(f"role {role!r} could look past row level security: it owns the schema, or is allowed to")


async def _grant(connection: asyncpg.Connection, role: str) -> None:
    for grant in _GRANTS:
        await connection.execute(await connection.fetchval("SELECT format($1, $2::text)", grant, role))


def refused(reason: str) -> StoreRefused:
    """The store is there and must not be used as it is."""
    return StoreRefused(store="postgres", reason=reason)
