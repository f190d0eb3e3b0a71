"""Goal reflections in a dictionary. `opened` is the entry point."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from sidemirror_server.assembly.custom_stores import CustomStores
from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.similarity import Goals, most_alike
from sidemirror_server.goals.store import (
    FORGOTTEN_AFTER_US,
    KEPT_FOR_US,
    MOST_PER_GOAL,
    MOST_RECENT_GOALS,
    REFUSED_FOR_US,
)
from sidemirror_server.vocabulary.scope import Scope


class Kept:
    """The reflections of each goal, the newest first; when goals were deleted; and which reflections were removed."""

    def __init__(self) -> None:
        self.goals: dict[tuple[Scope, str], list[GoalReflection]] = {}
        self.deleted: dict[tuple[Scope, str], int] = {}
        self.removed: dict[tuple[Scope, str, str], int] = {}


class DictGoalReflections:
    """The port `GoalReflections`. Nothing is awaited within a verb, so none comes between another's steps."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
        self._forget(now_us)
        goal = (scope, reflection.goal_id)
        deleted_us = self._kept.deleted.get(goal)
        if deleted_us is not None and reflection.created_us <= deleted_us and deleted_us > now_us - REFUSED_FOR_US:
            return False
        known = self._kept.goals.get(goal, [])
        if (*goal, reflection.reflection_id) in self._kept.removed or any(
            one.reflection_id == reflection.reflection_id for one in known
        ):
            return False
        newest = sorted((*known, reflection), key=_newest, reverse=True)[:MOST_PER_GOAL]
        self._kept.goals[goal] = newest
        return reflection in newest

    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]:
        return self._shown((scope, goal_id), now_us)

    async def recent(self, scope: Scope, now_us: int) -> Goals:
        goals = sorted(self._of(scope, now_us), key=lambda goal: (goal[0].created_us, goal[0].goal_id), reverse=True)
        return tuple(goals[:MOST_RECENT_GOALS])

    async def similar(self, scope: Scope, words: frozenset[str], limit: int, now_us: int) -> Goals:
        return most_alike(words, self._of(scope, now_us), limit)

    async def delete(self, scope: Scope, goal_id: str, now_us: int) -> int:
        self._kept.deleted[scope, goal_id] = now_us
        return len(self._kept.goals.pop((scope, goal_id), ()))

    async def remove(self, scope: Scope, goal_id: str, reflection_id: str, now_us: int) -> bool:
        self._kept.removed[scope, goal_id, reflection_id] = now_us
        known = self._kept.goals.get((scope, goal_id), [])
        left = [one for one in known if one.reflection_id != reflection_id]
        self._kept.goals[scope, goal_id] = left
        return len(left) < len(known)

    async def every(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        mine = (known for goal, known in self._kept.goals.items() if goal[0] == scope)
        return tuple((one.goal_id, one.reflection_id) for known in mine for one in known)

    def _shown(self, goal: tuple[Scope, str], now_us: int) -> tuple[GoalReflection, ...]:
        return tuple(one for one in self._kept.goals.get(goal, ()) if one.created_us > now_us - KEPT_FOR_US)

    def _of(self, scope: Scope, now_us: int) -> list[tuple[GoalReflection, ...]]:
        mine = (self._shown(goal, now_us) for goal in self._kept.goals if goal[0] == scope)
        return [goal for goal in mine if goal]

    def _forget(self, now_us: int) -> None:
        """Lets go of what is 30 days old."""
        before_us, kept = now_us - FORGOTTEN_AFTER_US, self._kept
        kept.goals = {
            goal: left
            for goal, known in kept.goals.items()
            if (left := [one for one in known if one.created_us > before_us])
        }
        kept.deleted = {goal: at_us for goal, at_us in kept.deleted.items() if at_us > before_us}
        kept.removed = {one: at_us for one, at_us in kept.removed.items() if at_us > before_us}


def _newest(reflection: GoalReflection) -> tuple[int, str]:
    return reflection.created_us, reflection.reflection_id


@contextlib.asynccontextmanager
async def opened(url: str, main: Mapping[str, Any]) -> AsyncIterator[CustomStores]:
    """A store has an address, and may build on the main store; this one needs neither."""
    del url, main
    ports = {"goal_reflections": DictGoalReflections(Kept())}
    yield CustomStores(ports, "dict", "nothing survives the end of the sidecar", lambda: True)
