"""The port `GoalReflections` on SQLite, and how what is old goes."""

import sqlite3
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import goal_reflections as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.goal_reflections import DAY, ONE, OTHER, T0, reflection

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteGoalReflections(database))


async def test_deletions_that_are_thirty_days_old_go_with_later_ones(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        reflections = SqliteGoalReflections(database)
        for number in range(10):
            await reflections.delete(ONE, f"g{number}", T0 + number)
        await reflections.delete(OTHER, "other", T0)
        for number in range(3):
            await reflections.delete(ONE, f"new{number}", T0 + 30 * DAY + 9)

        def left(connection: sqlite3.Connection) -> list[str]:
            return [goal_id for (goal_id,) in connection.execute("SELECT goal_id FROM goal_deletions ORDER BY goal_id")]

        assert database.read(left) == ["g9", "new0", "new1", "new2", "other"]


async def test_what_is_thirty_days_old_goes_with_later_puts(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        reflections = SqliteGoalReflections(database)
        for number in range(10):
            await reflections.put(ONE, reflection(f"r{number}", f"g{number}", objective=f"task {number}"), T0)
        await reflections.put(OTHER, reflection("other"), T0)
        for number in range(3):
            late_us = T0 + 30 * DAY + number + 1
            await reflections.put(ONE, reflection(f"new{number}", "new", late_us, objective="new task"), late_us)

        def left(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
            kept = [goal for (goal,) in connection.execute("SELECT goal_id FROM goal_reflections ORDER BY created_us")]
            words = [word for (word,) in connection.execute("SELECT DISTINCT word FROM goal_words ORDER BY word")]
            return kept, words

        assert database.read(left) == (["g", "new", "new", "new"], ["new", "price", "research", "task"])


async def test_words_of_a_trimmed_reflection_go_when_it_is_erased(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        reflections = SqliteGoalReflections(database)
        for number, text in enumerate(("plums", "pears", "pears", "pears")):
            await reflections.put(ONE, reflection(f"r{number}", "g", T0 + number, objective=text), T0)
        assert not await reflections.remove(ONE, "g", "r0", T0)
        assert database.read(lambda connection: connection.execute("SELECT word FROM goal_words").fetchall()) == [
            ("pear",)
        ]
