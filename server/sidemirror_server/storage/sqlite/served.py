"""Runs statements across all scopes that a sidecar serves: once for each entry of `Serves`, with its tenant and
project as parameters (NULL: all). Used by the adapters in this folder."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict, astuple

from sidemirror_server.storage.sql import json_of
from sidemirror_server.vocabulary.scope import Served, Serves


def left_out(but: Sequence[Served]) -> dict[str, str]:
    """The parameter :but of statements that leave these entries out: a JSON list of [tenant, project or null]."""
    return {"but": json_of(map(astuple, but))}


def fetch_served(
    serves: Serves, limit: int, statement: str, values: Mapping[str, Any], connection: sqlite3.Connection
) -> list[tuple[Any, ...]]:
    """At most `limit` rows, in the order of the entries. The statement's :limit is the number of rows still wanted."""
    rows: list[tuple[Any, ...]] = []
    for entry in serves.entries:
        wanted = {**values, **asdict(entry), "limit": limit - len(rows)}
        rows += connection.execute(statement, wanted).fetchall() if len(rows) < limit else ()
    return rows


def remove_served(
    serves: Serves, limit: int, statement: str, values: Mapping[str, Any], connection: sqlite3.Connection
) -> int:
    """Removes rows for all entries, in the order of the entries, at most `limit`; returns how many."""
    removed = 0
    for entry in serves.entries:
        removed += connection.execute(statement, {**values, **asdict(entry), "limit": limit - removed}).rowcount
    return removed
