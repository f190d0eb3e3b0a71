"""The suite of `GoalReflections` can fail on SQLite and on Postgres: statements that are spoilt fail the clause they
are about. On Redis: `test_broken_redis.py`."""

import asyncio
import sqlite3
from pathlib import Path

import asyncpg
import pytest

from sidemirror_server.goals.store import KEPT_FOR_US
from sidemirror_server.storage.postgres import goal_reflections as postgres
from sidemirror_server.storage.postgres.goal_reflections import PostgresGoalReflections
from sidemirror_server.storage.sqlite import goal_reflections as sqlite
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import goal_reflections as suite
from tests.conformance.clauses import clauses_of
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ANY_PROJECT = "tenant_id = :tenant_id AND :project_id IS NOT NULL"

# (clause that must notice, statement, a piece of it, what stands there instead)
ON_SQLITE = [
    ("GR1", "put", "DO NOTHING", "DO UPDATE SET insight = excluded.insight"),
    ("GR2", "trim", "OFFSET :most - 1", "OFFSET :most"),
    ("GR2", "trim", "created_us DESC, reflection_id DESC", "created_us DESC, reflection_id"),
    ("GR2", "has", "reflection_id = :reflection_id", ":reflection_id IS NOT NULL"),
    ("GR2", "of_goal", "ORDER BY created_us DESC, reflection_id DESC", "ORDER BY created_us DESC, reflection_id"),
    ("GR3", "newest", "created_us DESC, goal_id DESC", "created_us, goal_id"),
    ("GR4", "of_goal", "created_us > :since_us", "created_us >= :since_us"),
    ("GR4", "newest", "created_us > :since_us", "created_us > :since_us + 1"),
    ("GR6", "refused", ":created_us <= deleted_us", ":created_us < deleted_us"),
    ("GR6", "delete_words", "goal_id = :goal_id", ":goal_id IS NOT NULL"),
    ("GR6", "delete", "goal_id = :goal_id", ":goal_id IS NOT NULL"),
    ("GR7", "with_words", "LIMIT :limit", "LIMIT 3"),
    ("GR7", "name_words", "value", "upper(value)"),
    ("GR9", "of_goal", ITS_SCOPE, ANY_PROJECT),
    ("GR9", "delete", ITS_SCOPE, ANY_PROJECT),
    ("GR10", "of_goal", "goal_id = :goal_id", "goal_id LIKE :goal_id"),
    ("GR11", "remove", "reflection_id = :reflection_id", "reflection_id <> :reflection_id"),
    ("GR12", "every", ITS_SCOPE, ANY_PROJECT),
]  # fmt: skip
KEY = "tenant_id, project_id, goal_id, reflection_id"
ON_POSTGRES = [
    ("GR1", "put", "DO NOTHING", f"({KEY}) DO UPDATE SET insight = excluded.insight"),
    ("GR2", "trim", "OFFSET $4 - 1", "OFFSET $4"),
    ("GR2", "of_goals", "ORDER BY created_us DESC, reflection_id DESC", "ORDER BY created_us DESC, reflection_id"),
    ("GR3", "newest", "created_us DESC, goal_id DESC", "created_us, goal_id"),
    ("GR4", "of_goals", "created_us > $4", "created_us >= $4"),
    ("GR6", "refused", "$4 <= deleted_us", "$4 < deleted_us"),
    ("GR6", "delete", "goal_id = $3", "$3::text IS NOT NULL"),
    ("GR7", "name_words", "$3, $4::bigint FROM", "'x' || $3, $4::bigint FROM"),
    ("GR10", "delete", "goal_id = $3", "goal_id LIKE replace($3, '*', '%')"),
    ("GR11", "remove", "reflection_id = $4", "reflection_id <> $4"),
    ("GR12", "every", "goal_id, reflection_id", "reflection_id, goal_id"),
]  # fmt: skip
MISTAKES = (TypeError, AttributeError, NameError, sqlite3.Error, asyncpg.PostgresError, asyncpg.InterfaceError)


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), ON_SQLITE)
async def test_broken_statement_is_noticed_on_sqlite(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in sqlite._SQL[name]
    monkeypatch.setattr(sqlite, "_SQL", {**sqlite._SQL, name: sqlite._SQL[name].replace(piece, instead)})
    async with sqlite_database(tmp_path) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: SqliteGoalReflections(database))
    assert not isinstance(caught.value, MISTAKES), "the broken adapter does not even run"


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), ON_POSTGRES)
async def test_broken_statement_is_noticed_on_postgres(
    clause: str, name: str, piece: str, instead: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in postgres._SQL[name]
    monkeypatch.setattr(postgres, "_SQL", {**postgres._SQL, name: postgres._SQL[name].replace(piece, instead)})
    async with databases.opened() as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: PostgresGoalReflections(database))
    assert not isinstance(caught.value, MISTAKES), "the broken adapter does not even run"


async def most_of_a_goal(databases: Databases) -> int:
    """Eight put a reflection of one goal at once, thirty times: the most that a goal had afterwards."""
    async with databases.opened(connections=8) as database:
        reflections = PostgresGoalReflections(database)
        for number in range(30):
            made = [suite.reflection(f"r{place}", f"g{number}", suite.T0 + place) for place in range(8)]
            await asyncio.gather(*(reflections.put(suite.ONE, one, suite.T0) for one in made))
        return max([len(await reflections.of_goal(suite.ONE, f"g{number}", suite.T0)) for number in range(30)])


async def test_writers_on_postgres_take_turns(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await most_of_a_goal(databases) == 3
    monkeypatch.setattr(postgres, "_turn", lambda scope, goal_id: ())
    assert await most_of_a_goal(databases) > 3


async def test_forgetting_too_soon_is_noticed(
    tmp_path: Path, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock of whoever puts, right after what it no longer shows."""
    for adapter in (sqlite, postgres):
        monkeypatch.setattr(adapter, "FORGOTTEN_AFTER_US", KEPT_FOR_US)
    async with sqlite_database(tmp_path) as database:
        with pytest.raises(AssertionError):
            await CLAUSES["GR5"](lambda: SqliteGoalReflections(database))
    async with databases.opened() as shared:
        with pytest.raises(AssertionError):
            await CLAUSES["GR5"](lambda: PostgresGoalReflections(shared))


def test_every_clause_is_seen_to_fail() -> None:
    assert {*(clause for clause, *_ in ON_SQLITE), "GR5", "GR8"} == set(CLAUSES)
