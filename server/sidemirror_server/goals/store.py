"""The port behind goal reflections. Adapters: `storage/*/goal_reflections.py`.

Numbers: seed goal-reflection, "Limits".
"""

from typing import Protocol

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.vocabulary.scope import Scope

MOST_PER_GOAL = 3
MOST_RECENT_GOALS = 10
KEPT_FOR_US = 7 * 24 * 3600 * 1_000_000
# The age at which stores without expiry remove a reflection. Chosen here: far over 7 days, in case a clock is wrong.
FORGOTTEN_AFTER_US = 30 * 24 * 3600 * 1_000_000
# How long `put` refuses deleted reflections. Chosen here: longer than any job that is publishing at the deletion.
REFUSED_FOR_US = 3600 * 1_000_000
# For stores without expiry: how many expired goals one `put` removes, and how many expired deletions one `delete`
# removes. Chosen here: more than each call adds.
FORGOTTEN_AT_ONCE = 4


class GoalReflections(Protocol):
    """Keeps the newest reflections of each goal. Reflections are ordered by creation time, then by id.

    GR1  `put` keeps a reflection and returns True. A second `put` with its id, whatever the content, returns False and
         changes nothing that is shown.
    GR2  Each goal keeps its 3 newest reflections, whatever the order of the puts; `put` of an older one returns False.
         `of_goal` returns them, newest first.
    GR3  `recent` returns the reflections of the 10 goals with the newest reflections, by goal, newest goal first. If
         two goals have the same time, the greater id comes first.
    GR4  A reflection that is 7 days old at `now_us` is not shown. A reflection created after `now_us` is shown.
    GR5  No call removes a reflection younger than 30 days by the call's clock, so a clock that runs days ahead for a
         while loses nothing.
    GR6  `delete` removes a goal's reflections and returns how many there were. For an hour, `put` then refuses (returns
         False) reflections of the goal created until `now_us`; it stores newer ones.
    GR7  `similar` returns the reflections of goals whose objectives share words with `words`, by goal, the most alike
         first (`words.likeness` with the newest objective), then the newest; at most `limit` goals.
    GR8  Concurrent puts lose nothing and list no goal twice among the recent ones.
    GR9  Scopes are isolated.
    GR10 Ids are compared exactly: separators, patterns, escapes and case are characters like any other.
    GR11 `remove` removes one reflection of a goal, with the words that only its objective has, and returns whether it
         was there; the others stay. `put` refuses it (returns False) from then on, for an hour at least.
    GR12 `every` returns the goal and the id of each reflection that is stored, in any order, also of those that are not
         shown any more.
    Raises StoreUnavailable (the call may or may not have taken effect), StoreFull (it has not).
    """

    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool: ...

    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]: ...

    async def recent(self, scope: Scope, now_us: int) -> tuple[tuple[GoalReflection, ...], ...]: ...

    async def similar(
        self, scope: Scope, words: frozenset[str], limit: int, now_us: int
    ) -> tuple[tuple[GoalReflection, ...], ...]: ...

    async def delete(self, scope: Scope, goal_id: str, now_us: int) -> int: ...

    async def remove(self, scope: Scope, goal_id: str, reflection_id: str, now_us: int) -> bool: ...

    async def every(self, scope: Scope) -> tuple[tuple[str, str], ...]: ...
