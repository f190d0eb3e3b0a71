"""The port `MemoryGraph` on SQLite: its clauses and its plans."""

import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite import memory_graph as adapter
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_graph import SqliteMemoryGraph
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memory_graph as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: suite.Stores(SqliteMemoryGraph(database), SqliteMemories(database)))


@pytest.mark.parametrize("name", adapter._SQL)
def test_no_statement_goes_beyond_its_scope_scans_or_sorts(name: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, read_migrations(), 0)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {adapter._SQL[name]}", defaultdict(lambda: None))]
    connection.close()
    # Besides them there are the rows of a parameter, and those that a sub-select has found.
    of_tables = [step for step in plan if "memor" in step or "link" in step]
    assert of_tables or name == "link"
    assert all(step.startswith("SEARCH") and "(tenant_id=? AND project_id=?" in step for step in of_tables), plan
    assert not any("B-TREE" in step or "AUTOMATIC" in step for step in plan), plan
