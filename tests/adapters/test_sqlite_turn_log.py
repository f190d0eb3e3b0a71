"""The ports `TurnLog` and `Log` on SQLite."""

from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import turn_log as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.turn_log import Stores

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: Stores(SqliteTurnLog(database), SqliteSessions(database)))
