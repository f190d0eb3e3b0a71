"""Goal reflections in Postgres. Changes to one goal's reflections are serialised: two concurrent puts would not see
each other's reflection, and could exceed the limit for a goal."""

from pathlib import Path

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
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sources import bury, erased
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("goal_reflections.sql"))
_EVER = -(2**63)


class PostgresGoalReflections:
    """The port `GoalReflections` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
        place = (*ids_of(scope), reflection.goal_id)
        created_us = reflection.created_us
        values = (
            *(created_us, reflection.reflection_id, reflection.objective, reflection.insight, reflection.importance),
            *(reflection.goal_state.value, reflection.origin.value),
        )
        words = sorted(words_of(reflection.objective))  # sorted to avoid deadlocks
        in_turn = _turn(scope, reflection.goal_id)
        async with self._database.transaction(scope, in_turn=in_turn, derives=True) as transaction:
            if await erased(transaction, scope, (key(SourceKind.GOAL_REFLECTION, reflection.reflection_id),)):
                return False
            if await transaction.first(_SQL["refused"], *place, created_us, now_us - REFUSED_FOR_US):
                return False
            if await transaction.change(_SQL["put"], *place, *values) == 0:
                return False
            await transaction.change(_SQL["trim"], *place, MOST_PER_GOAL)
            if not await transaction.first(_SQL["has"], *place, reflection.reflection_id):
                return False
            await transaction.change(_SQL["name_words"], *place, created_us, words)
            await _forget(transaction, scope, now_us - FORGOTTEN_AFTER_US)
        return True

    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]:
        async with self._database.transaction(scope, reads_only=True) as transaction:
            found = await _of_goals(transaction, scope, [goal_id], now_us)
        return found[0] if found else ()

    async def recent(self, scope: Scope, now_us: int) -> Goals:
        # A goal has at most MOST_PER_GOAL reflections, so this many reflections cover enough goals.
        wanted = (now_us - KEPT_FOR_US, MOST_PER_GOAL * MOST_RECENT_GOALS)
        async with self._database.transaction(scope, reads_only=True) as transaction:
            newest = dict.fromkeys(row[0] for row in await transaction.fetch(_SQL["newest"], *ids_of(scope), *wanted))
            return await _of_goals(transaction, scope, list(newest)[:MOST_RECENT_GOALS], now_us)

    async def similar(self, scope: Scope, words: frozenset[str], limit: int, now_us: int) -> Goals:
        async with self._database.transaction(scope, reads_only=True) as transaction:
            rows = await transaction.fetch(_SQL["with_words"], *ids_of(scope), sorted(words), CANDIDATES)
            found = await _of_goals(transaction, scope, [row[0] for row in rows], now_us)
        return most_alike(words, found, limit)

    async def delete(self, scope: Scope, goal_id: str, now_us: int) -> int:
        place = (*ids_of(scope), goal_id)
        async with self._database.transaction(scope, in_turn=_turn(scope, goal_id)) as transaction:
            old = (now_us - FORGOTTEN_AFTER_US, FORGOTTEN_AT_ONCE)
            await transaction.change(_SQL["forget_deletions"], *ids_of(scope), *old)
            await transaction.change(_SQL["deleted"], *place, now_us)
            await transaction.change(_SQL["delete_words"], *place)
            return await transaction.change(_SQL["delete"], *place)

    async def remove(self, scope: Scope, goal_id: str, reflection_id: str, now_us: int) -> bool:
        place = (*ids_of(scope), goal_id)
        async with self._database.transaction(scope, in_turn=_turn(scope, goal_id)) as transaction:
            await bury(transaction, scope, (key(SourceKind.GOAL_REFLECTION, reflection_id),), now_us)
            was_there = await transaction.change(_SQL["remove"], *place, reflection_id) > 0
            # Also when it was trimmed away before: the index still has its words.
            await transaction.change(_SQL["delete_words"], *place)
            for row in await transaction.fetch(_SQL["of_goals"], *ids_of(scope), [goal_id], _EVER):
                left = reflection_of(*row)
                words = sorted(words_of(left.objective))
                await transaction.change(_SQL["name_words"], *place, left.created_us, words)
        return was_there

    async def every(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        rows = await self._database.fetch(scope, _SQL["every"])
        return tuple((goal_id, reflection_id) for goal_id, reflection_id in rows)


async def _forget(transaction: Transaction, scope: Scope, before_us: int) -> None:
    """Removes some of the expired reflections."""
    for row in await transaction.fetch(_SQL["oldest"], *ids_of(scope), before_us, FORGOTTEN_AT_ONCE):
        place = (*ids_of(scope), row[0])
        await transaction.change(_SQL["forget"], *place, before_us)
        if not await transaction.fetch(_SQL["of_goals"], *ids_of(scope), [row[0]], _EVER):
            await transaction.change(_SQL["delete_words"], *place)


async def _of_goals(transaction: Transaction, scope: Scope, goal_ids: list[str], now_us: int) -> Goals:
    rows = await transaction.fetch(_SQL["of_goals"], *ids_of(scope), goal_ids, now_us - KEPT_FOR_US)
    return by_goal(goal_ids, (reflection_of(*row) for row in rows))


def _turn(scope: Scope, goal_id: str) -> tuple[str, ...]:
    return ("goal", *ids_of(scope), goal_id)
