"""The port `Requests` on SQLite."""

from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.requests import SqliteRequests
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import requests as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteRequests(database))
