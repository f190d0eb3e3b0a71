"""The port `Memories` on SQLite: its clauses and its plans."""

import asyncio
import contextlib
import random
import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror_server.memory.record import Change, Lesson, MemoryKind, MemoryState, Revision
from sidemirror_server.storage.sqlite import memories as adapter
from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.terms import terms_of
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memories as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)
# Statements that only add.
ADDING = ("add", "add_to_scope", "add_facts", "add_label", "add_words", "know", "keep_version", "keep_lesson", "report")


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
    assert of_tables or name in ADDING
    if name == "next_row":  # of all scopes: at the end of the table
        assert of_tables == ["SEARCH memories"]
        return
    if name == "any":  # of all scopes: one row
        assert adapter._SQL[name].endswith("LIMIT 1")
        return
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


# What is kept of lessons, but for the numbers of rows.
_TABLES = (
    "SELECT tenant_id, project_id, memory_id, version, strength, content_terms, task_terms, body FROM memories",
    "SELECT tenant_id, project_id, kind, known_by, memory_id FROM memory_keys",
    "SELECT * FROM memory_lessons",
    "SELECT * FROM memory_links",
    "SELECT tenant_id, project_id, memories, tasks, content_terms, task_terms FROM memory_scopes",
    "SELECT scope_no > 1, memory_id, kind, state, importance, confidence, created_us, terms FROM memory_facts",
    "SELECT facts.memory_id, label FROM memory_labels JOIN memory_facts AS facts USING (row_id)",
    "SELECT term, col, facts.memory_id, offset FROM temp.words JOIN memory_facts AS facts ON facts.row_id = words.doc",
)


async def test_lessons_that_come_together_are_learned_as_one_after_the_other(tmp_path: Path) -> None:
    """New ones and known ones, of two projects, the same ones twice, some whose id is taken. Seen to fail when
    lessons of one group did not count as known for those after them."""
    chance = random.Random(11)
    async with sqlite_database(tmp_path / "together") as many, sqlite_database(tmp_path / "alone") as one:
        together, alone = SqliteMemories(many), SqliteMemories(one)
        for at_us in range(suite.T0, suite.T0 + 40):
            lessons = [(chance.choice((suite.ONE, suite.OTHER)), any_lesson(chance)) for _ in range(8)]
            asked = [together.learn(scope, lesson, at_us) for scope, lesson in lessons]
            learned = await asyncio.gather(*asked, return_exceptions=True)
            for (scope, lesson), what in zip(lessons, learned, strict=True):
                (expected,) = await asyncio.gather(alone.learn(scope, lesson, at_us), return_exceptions=True)
                assert repr(what) == repr(expected)
        assert kept_in(tmp_path / "together") == kept_in(tmp_path / "alone")


def any_lesson(chance: random.Random) -> Lesson:
    """Of a few texts, episodes and ids, so that many are known; without links, which depend on what came before."""
    number = chance.randrange(60)
    draft = suite.memory(
        f"m{chance.randrange(400)}", f"text {number} of the join", text_key=f"k{number}", tags=("a", f"t{number % 3}"),
        episodes=tuple({f"e{chance.randrange(90)}" for _ in range(chance.randrange(3))}),
        task_text=chance.choice(("", "a task", "another")), error_category=chance.choice(("", "timeout")),
        confidence=chance.choice((None, 0.3, 0.9)),
    )  # fmt: skip
    strategy = None
    if chance.random() < 0.5:
        strategy = msgspec.structs.replace(
            draft, memory_id=f"s{chance.randrange(400)}", kind=MemoryKind.STRATEGY, strategy_of=draft.memory_id
        )
    return Lesson(draft, strategy, chance.choice(("", f"l{chance.randrange(100)}")))


def kept_in(folder: Path) -> list[list[Any]]:
    """The rows of all tables, each table's in order."""
    with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, memory_words, 'instance')")
        return [sorted(connection.execute(statement).fetchall(), key=repr) for statement in _TABLES]
