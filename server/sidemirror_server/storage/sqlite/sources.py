"""What records came from, in SQLite. Used by the adapters that store derived records, in the record's transaction."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import asdict

from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.trace.erasure import ERASED, LASTING, Tombstone, digest_of, is_erased
from sidemirror_server.trace.sources import parsed
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("sources.sql"))


def note_sources(connection: sqlite3.Connection, scope: Scope, record: str, sources: Iterable[str]) -> None:
    """Notes the sources of a record (keys of `trace/sources.py`)."""
    values = {**columns_of(scope), "record": record}
    connection.executemany(_SQL["add"], [{**values, "source": source} for source in sources])


def erased_us(connection: sqlite3.Connection, scope: Scope, name: str) -> int | None:
    """The time of a key's tombstone; None without one."""
    wanted = {
        **columns_of(scope),
        "kind": parsed(name)[0].value,
        "digest": digest_of(scope, name),
    }
    row = connection.execute(_SQL["erased"], wanted).fetchone()
    return None if row is None else int(row[0])


def erased_of(connection: sqlite3.Connection, scope: Scope, names: Iterable[str]) -> dict[str, int]:
    """The times of the tombstones of these keys, of those that have one."""
    found = {name: erased_us(connection, scope, name) for name in names}
    return {name: at_us for name, at_us in found.items() if at_us is not None}


def bury(connection: sqlite3.Connection, scope: Scope, name: str, now_us: int) -> None:
    """Leaves the tombstone of a record, if its kind has one."""
    kind, _ = parsed(name)
    if kind in LASTING:
        bury_digest(connection, scope, Tombstone(kind, digest_of(scope, name), now_us))


def bury_digest(connection: sqlite3.Connection, scope: Scope, tombstone: Tombstone) -> None:
    """Keeps a tombstone."""
    values = {**columns_of(scope), **asdict(tombstone)}
    connection.execute(_SQL["bury"], {**values, "kind": tombstone.kind.value})


def is_any_erased(connection: sqlite3.Connection, scope: Scope, sources: Iterable[str], heard_us: int) -> bool:
    """Whether one of the sources, heard at `heard_us`, was erased since."""
    return any(is_erased(erased_us(connection, scope, source), source, heard_us) for source in sources)


def refuse_erased(connection: sqlite3.Connection, scope: Scope, sources: Iterable[str], heard_us: int) -> None:
    """Raises WrongState if one of the sources, heard at `heard_us`, was erased since."""
    for source in sources:
        if is_erased(erased_us(connection, scope, source), source, heard_us):
            kind, record_id = parsed(source)
            raise WrongState(kind.value, record_id, ERASED)
