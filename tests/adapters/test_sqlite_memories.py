"""The port `Memories` on SQLite: its clauses and its plans."""

import sqlite3
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.memory.record import Change, Lesson, MemoryState, Revision
from sidemirror_server.memory.terms import terms_of
from sidemirror_server.storage.sqlite import memories as adapter
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from sidemirror_server.vocabulary.origin import Origin
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memories as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteMemories(database))


@pytest.mark.parametrize("name", adapter._SQL)
def test_no_statement_goes_beyond_its_scope_or_scans_a_table(name: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, read_migrations(), 0)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {adapter._SQL[name]}", defaultdict(lambda: None))]
    connection.close()
    of_tables = [step for step in plan if "memor" in step or "key" in step]
    assert of_tables or name in ("add", "know", "keep_version", "keep_lesson", "report")
    assert all(step.startswith("SEARCH") and "(tenant_id=? AND project_id=?" in step for step in of_tables)
    if name != "known":  # sorts the few memories that say the same
        assert not any("B-TREE" in step for step in plan), "sorts"


async def test_what_is_searched_by_follows_what_is_kept(tmp_path: Path) -> None:
    """The columns beside the JSON say the same as it, after every kind of change."""
    async with sqlite_database(tmp_path) as database:
        memories = SqliteMemories(database)
        await memories.learn(suite.ONE, Lesson(suite.memory("m", "some words", episodes=("e",))), suite.T0)
        draft = suite.memory("x", "better words", confidence=0.9, importance=0.8, tags=("t",), episodes=("e",))
        await memories.learn(suite.ONE, Lesson(msgspec.structs.replace(draft, origin=Origin.TOOL)), suite.T0 + 1)
        revision = Revision(Change.REVIEWED, "r", state=MemoryState.RETIRED, error_category="timeout", confidence=0.1)
        kept = await memories.revise(suite.ONE, "m", revision, suite.T0 + 2)
        names = (
            *("kind", "state", "importance", "confidence", "origin", "error_category", "version", "strength"),
            *("created_us", "updated_us", "content", "task_text"),
        )
        columns = f"SELECT {', '.join(names)}, tags, content_terms, source, layer FROM memories"
        row = database.read(lambda connection: connection.execute(columns).fetchone())
    assert row[: len(names)] == tuple(getattr(kept, name) for name in names)
    assert row[len(names) :] == ('["t"]', terms_of("better words"), "reflection_engine_v2", "rm")
    assert (kept.version, kept.strength, kept.content) == (3, 2, "better words")
