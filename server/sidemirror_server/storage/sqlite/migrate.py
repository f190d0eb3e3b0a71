"""Brings a database file up to the schema this server knows (`storage/migration.py`).

What was applied is recorded with a checksum, so that a file that was edited later is noticed instead of giving two
servers two schemas.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sidemirror_server.storage.migration import Applied, Migration, check_same, missing, read_files, unknown
from sidemirror_server.vocabulary.errors import StoreRefused

MIGRATIONS = Path(__file__).with_name("migrations")

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL,  -- SHA-256 of the file, hexadecimal
    applied_us INTEGER NOT NULL
) STRICT
"""
_APPLIED = "SELECT number, name, checksum FROM schema_migrations ORDER BY number"


def read_migrations() -> tuple[Migration, ...]:
    """The migrations of this server, in order."""
    return read_files(MIGRATIONS)


def applied_in(connection: sqlite3.Connection) -> list[Applied]:
    """The migrations that the database has, in order."""
    return [Applied(*row) for row in connection.execute(_APPLIED)]


def migrate(connection: sqlite3.Connection, known: Sequence[Migration], now_us: int) -> tuple[int, ...]:
    """Applies what is missing, each file in its own transaction; returns the numbers applied now.

    Raises StoreRefused, having changed nothing, when the database is newer than this server or was made by files
    that differ from the known ones.
    """
    connection.execute(_TABLE)
    applied = applied_in(connection)
    check_applied(applied, known)
    added = missing(applied, known)
    for migration in added:
        _apply(connection, migration, now_us)
    return tuple(migration.number for migration in added)


def check_applied(applied: Sequence[Applied], known: Sequence[Migration]) -> None:
    """Raises StoreRefused when what was applied is not what is known, or is more."""
    check_same("sqlite", applied, known)
    for newer in unknown(applied, known):
        reason = f"migration {newer} is newer than this server, which knows {len(known)}"
        raise StoreRefused(store="sqlite", reason=reason)


def _apply(connection: sqlite3.Connection, migration: Migration, now_us: int) -> None:
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{migration.script}")
        connection.execute(
            "INSERT INTO schema_migrations VALUES (?, ?, ?, ?)",
            (migration.number, migration.name, migration.checksum, now_us),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
