"""Brings a database file up to the schema this server knows: numbered SQL files, each applied once.

`migrations/NNNN_name.sql`, numbered from 0001 without gaps. What was applied is recorded with a checksum, so that a
file that was edited later is noticed instead of giving two servers two schemas.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from sidemirror_server.vocabulary.errors import StoreRefused

MIGRATIONS = Path(__file__).with_name("migrations")

_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL,  -- SHA-256 of the file, hexadecimal
    applied_us INTEGER NOT NULL
) STRICT
"""


class SqliteMigration(msgspec.Struct, frozen=True):
    """One numbered file."""

    number: int
    name: str
    script: str
    checksum: str


def read_migrations(folder: Path = MIGRATIONS) -> tuple[SqliteMigration, ...]:
    """The files of the folder in order. Raises ValueError for a file name or a numbering that is out of order."""
    found = []
    for number, path in enumerate(sorted(folder.glob("*.sql")), start=1):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None or int(match[1]) != number:
            raise ValueError(f"{path.name}: migration {number:04d}_….sql is expected here")
        content = path.read_bytes()
        found.append(SqliteMigration(number, match[2], content.decode("utf-8"), hashlib.sha256(content).hexdigest()))
    return tuple(found)


def migrate(connection: sqlite3.Connection, known: tuple[SqliteMigration, ...], now_us: int) -> tuple[int, ...]:
    """Applies what is missing, each file in its own transaction; returns the numbers applied now.

    Raises StoreRefused, having changed nothing, when the database is newer than this server or was made by files
    that differ from the known ones.
    """
    connection.execute(_TABLE)
    recorded = connection.execute("SELECT number, name, checksum FROM schema_migrations ORDER BY number").fetchall()
    check_applied(recorded, known)
    missing = known[len(recorded) :]
    for migration in missing:
        _apply(connection, migration, now_us)
    return tuple(migration.number for migration in missing)


def check_applied(recorded: Iterable[tuple[int, str, str]], known: tuple[SqliteMigration, ...]) -> None:
    """Raises StoreRefused when what was applied (number, name and checksum, in order) is not what is known."""
    for position, (number, name, checksum) in enumerate(recorded):
        if position >= len(known):
            raise _refused(f"migration {number:04d}_{name} is newer than this server, which knows {len(known)}")
        if (number, checksum) != (known[position].number, known[position].checksum):
            raise _refused(f"migration {number:04d}_{name} is not the one this server has")


def _apply(connection: sqlite3.Connection, migration: SqliteMigration, now_us: int) -> None:
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


def _refused(reason: str) -> StoreRefused:
    return StoreRefused(store="sqlite", reason=reason)
