"""Statements that look across scopes, run for what is served: once for each entry, with its tenant and its project,
NULL for all. Used by the adapters of this room."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from sidemirror_server.vocabulary.scope import Serves


def fetch_served(
    serves: Serves, limit: int, statement: str, values: Mapping[str, Any], connection: sqlite3.Connection
) -> list[tuple[Any, ...]]:
    """Rows of what is served, entry by entry, at most `limit`, which the statement takes too."""
    rows: list[tuple[Any, ...]] = []
    for entry in serves.entries:
        wanted = {**values, **asdict(entry), "limit": limit - len(rows)}
        rows += connection.execute(statement, wanted).fetchall() if len(rows) < limit else ()
    return rows


def remove_served(
    serves: Serves, limit: int, statement: str, values: Mapping[str, Any], connection: sqlite3.Connection
) -> int:
    """Removes rows of what is served, entry by entry, at most `limit`; returns how many."""
    removed = 0
    for entry in serves.entries:
        removed += connection.execute(statement, {**values, **asdict(entry), "limit": limit - removed}).rowcount
    return removed
