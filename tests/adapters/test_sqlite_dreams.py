"""The ports `Dreams` and `Pruning` on SQLite: their clauses, and their plans."""

import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite import dreams as dreams_adapter
from sidemirror_server.storage.sqlite import pruning as pruning_adapter
from sidemirror_server.storage.sqlite.dreams import SqliteDreams
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from sidemirror_server.storage.sqlite.pruning import SqlitePruning
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import dreams, pruning
from tests.conformance.clauses import clauses_of

DREAMS, PRUNING = clauses_of(dreams), clauses_of(pruning)
STATEMENTS = {**dreams_adapter._SQL, **{f"pruning {name}": text for name, text in pruning_adapter._SQL.items()}}
# Across scopes, by an index of times; `waiting` reads the projects.
ACROSS = ("waiting", "pruning old_memories", "pruning old_turns", "pruning crowded", "pruning surplus")


@pytest.mark.parametrize("clause", DREAMS)
async def test_dreams(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await DREAMS[clause](lambda: dreams.Stores(SqliteMemories(database), SqliteDreams(database)))


@pytest.mark.parametrize("clause", PRUNING)
async def test_pruning(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await PRUNING[clause](
            lambda: pruning.Stores(
                SqliteMemories(database),
                SqliteTurnLog(database),
                SqliteSessions(database),
                SqlitePruning(database),
                SqliteTrials(database),
            )
        )


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_goes_beyond_its_scope_or_scans_a_table(name: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, read_migrations(), 0)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {STATEMENTS[name]}", defaultdict(lambda: None))]
    connection.close()
    of_tables = [step for step in plan if step.startswith(("SEARCH", "SCAN")) and "wanted" not in step]
    if name in ACROSS:
        of_tables = [step for step in of_tables if step != "SCAN memories USING INDEX memories_unimportant"]
        assert not any("memories" in step or "turns" in step for step in of_tables if step.startswith("SCAN"))
        assert not any("unread" in step for step in of_tables if step.startswith("SCAN"))
        return
    assert all(step.startswith("SEARCH") and "tenant_id=? AND project_id=?" in step for step in of_tables)
    assert not any("B-TREE" in step for step in plan), "sorts"
