"""Goal reflections in SQLite."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sidemirror_server.goals.record import GoalReflection, reflection_of
from sidemirror_server.goals.similarity import CANDIDATES, Goals, by_goal, most_alike
from sidemirror_server.goals.store import (
    FORGOTTEN_AFTER_US,
    FORGOTTEN_AT_ONCE,
    KEPT_FOR_US,
    MOST_PER_GOAL,
    MOST_RECENT_GOALS,
    REFUSED_FOR_US,
)
from sidemirror_server.goals.words import words_of
from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.sources import bury, erased_us
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("goal_reflections.sql"))


class SqliteGoalReflections:
    """The port `GoalReflections` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
        values = {
            **columns_of(scope),
            "goal_id": reflection.goal_id,
            "created_us": reflection.created_us,
            "reflection_id": reflection.reflection_id,
            "objective": reflection.objective,
            "insight": reflection.insight,
            "importance": reflection.importance,
            "goal_state": reflection.goal_state.value,
            "origin": reflection.origin.value,
            "words": json_of(words_of(reflection.objective)),
            "most": MOST_PER_GOAL,
            "refused_since_us": now_us - REFUSED_FOR_US,
        }

        def change(connection: sqlite3.Connection) -> bool:
            erased = erased_us(connection, scope, key(SourceKind.GOAL_REFLECTION, reflection.reflection_id))
            if erased is not None or connection.execute(_SQL["refused"], values).fetchone():
                return False
            if connection.execute(_SQL["put"], values).rowcount == 0:
                return False
            connection.execute(_SQL["trim"], values)
            if not connection.execute(_SQL["has"], values).fetchone():
                return False
            connection.execute(_SQL["name_words"], values)
            _forget(connection, scope, now_us - FORGOTTEN_AFTER_US)
            return True

        return await self._database.write(change)

    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]:
        wanted = {**columns_of(scope), "goal_id": goal_id, "since_us": now_us - KEPT_FOR_US}
        return self._database.read(lambda connection: _reflections(connection.execute(_SQL["of_goal"], wanted)))

    async def recent(self, scope: Scope, now_us: int) -> Goals:
        # A goal has at most MOST_PER_GOAL reflections, so this many rows contain enough goals.
        limit = MOST_PER_GOAL * MOST_RECENT_GOALS
        wanted = {**columns_of(scope), "since_us": now_us - KEPT_FOR_US, "limit": limit}

        def look(connection: sqlite3.Connection) -> Goals:
            newest = dict.fromkeys(goal_id for (goal_id,) in connection.execute(_SQL["newest"], wanted))
            return _of_goals(connection, wanted, list(newest)[:MOST_RECENT_GOALS])

        return self._database.read(look)

    async def similar(self, scope: Scope, words: frozenset[str], limit: int, now_us: int) -> Goals:
        wanted = {
            **columns_of(scope),
            "since_us": now_us - KEPT_FOR_US,
            "words": json_of(words),
            "limit": CANDIDATES,
        }

        def look(connection: sqlite3.Connection) -> Goals:
            found = [goal_id for (goal_id,) in connection.execute(_SQL["with_words"], wanted)]
            return most_alike(words, _of_goals(connection, wanted, found), limit)

        return await self._database.search(look)

    async def delete(self, scope: Scope, goal_id: str, now_us: int) -> int:
        values = {**columns_of(scope), "goal_id": goal_id, "now_us": now_us}

        def change(connection: sqlite3.Connection) -> int:
            before_us = now_us - FORGOTTEN_AFTER_US
            connection.execute(_SQL["forget_deletions"], {**values, "before_us": before_us, "limit": FORGOTTEN_AT_ONCE})
            connection.execute(_SQL["deleted"], values)
            connection.execute(_SQL["delete_words"], values)
            return connection.execute(_SQL["delete"], values).rowcount

        return await self._database.write(change)

    async def remove(self, scope: Scope, goal_id: str, reflection_id: str, now_us: int) -> bool:
        values = {**columns_of(scope), "goal_id": goal_id, "reflection_id": reflection_id, "since_us": -(2**63)}

        def change(connection: sqlite3.Connection) -> bool:
            bury(connection, scope, key(SourceKind.GOAL_REFLECTION, reflection_id), now_us)
            was_there = connection.execute(_SQL["remove"], values).rowcount > 0
            # Also when it was trimmed away before: the index still has its words.
            connection.execute(_SQL["delete_words"], values)
            for left in _reflections(connection.execute(_SQL["of_goal"], values).fetchall()):
                words = json_of(words_of(left.objective))
                connection.execute(_SQL["name_words"], {**values, "words": words, "created_us": left.created_us})
            return was_there

        return await self._database.write(change)

    async def every(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        place = columns_of(scope)
        rows = await self._database.search(lambda connection: connection.execute(_SQL["every"], place).fetchall())
        return tuple((goal_id, reflection_id) for goal_id, reflection_id in rows)


def _forget(connection: sqlite3.Connection, scope: Scope, before_us: int) -> None:
    """Removes some reflections that are too old to be shown, and the words of goals that have none left."""
    wanted = {**columns_of(scope), "before_us": before_us, "limit": FORGOTTEN_AT_ONCE}
    for (goal_id,) in connection.execute(_SQL["oldest"], wanted).fetchall():
        values = {**wanted, "goal_id": goal_id, "since_us": -(2**63)}
        connection.execute(_SQL["forget"], values)
        if not connection.execute(_SQL["of_goal"], values).fetchone():
            connection.execute(_SQL["delete_words"], values)


def _of_goals(connection: sqlite3.Connection, wanted: dict[str, Any], goal_ids: list[str]) -> Goals:
    found: list[GoalReflection] = []
    for goal_id in goal_ids:
        found += _reflections(connection.execute(_SQL["of_goal"], {**wanted, "goal_id": goal_id}))
    return by_goal(goal_ids, found)


def _reflections(rows: Iterable[tuple[Any, ...]]) -> tuple[GoalReflection, ...]:
    return tuple(reflection_of(*row) for row in rows)
