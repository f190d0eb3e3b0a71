"""The port `MemorySearch` on SQLite: its clauses."""

from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memory_search as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: suite.Stores(SqliteMemories(database), SqliteMemorySearch(database)))
