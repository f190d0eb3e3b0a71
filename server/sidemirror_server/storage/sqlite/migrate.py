"""Migrates a database file to the schema of this server (`storage/migration.py`).

Each applied migration is recorded with the checksum of its file. A file that was edited later is detected, so that two
servers cannot have different schemas under one number.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sidemirror_server.storage.migration import (
    OTHER_SERVER,
    Applied,
    Migration,
    check_same,
    missing,
    read_files,
    unknown,
)
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
    """The migrations that were applied to the database, in order."""
    return [Applied(*row) for row in connection.execute(_APPLIED)]


def migrate(connection: sqlite3.Connection, known: Sequence[Migration], now_us: int) -> tuple[int, ...]:
    """Applies the missing migrations, one transaction per file; returns their numbers.

    Raises StoreRefused before any change when the database is newer than this server, or when an applied file differs
    from the known one.
    """
    connection.execute(_TABLE)
    applied = applied_in(connection)
    check_applied(applied, known)
    added = missing(applied, known)
    for migration in added:
        _apply(connection, migration, now_us)
    return tuple(migration.number for migration in added)


def check_applied(applied: Sequence[Applied], known: Sequence[Migration]) -> None:
    """Raises StoreRefused when an applied migration differs from the known one, or is unknown."""
    check_same("sqlite", applied, known)
    for newer in unknown(applied, known):
        cause = f"migration {newer} is newer than this server, which knows {len(known)}"
        raise StoreRefused(store="sqlite", reason=cause, remedy=OTHER_SERVER)


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
