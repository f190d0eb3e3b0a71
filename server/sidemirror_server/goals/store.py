"""The port behind goal reflections. Adapters: `storage/*/goal_reflections.py`.

Numbers: seed goal-reflection, "Limits".
"""

from typing import Protocol

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.vocabulary.scope import Scope

MOST_PER_GOAL = 3
MOST_RECENT_GOALS = 10
KEPT_FOR_US = 7 * 24 * 3600 * 1_000_000
# Chosen here: stores that do not forget by themselves do so long after anybody is shown it, in case a clock is wrong.
FORGOTTEN_AFTER_US = 30 * 24 * 3600 * 1_000_000
# Chosen here: longer than any publishing that is under way when its goal's reflections are deleted.
REFUSED_FOR_US = 3600 * 1_000_000
# How many old goals a put forgets, and how many old deletions a deletion, in stores that do not forget by themselves.
# Chosen here: more than it adds.
FORGOTTEN_AT_ONCE = 4


class GoalReflections(Protocol):
    """Keeps the newest reflections of each goal. Newer is what was created later, then what has the greater id.

    GR1  `put` keeps a reflection and returns True; of one id the first stays, and another put returns False and changes
         nothing that is shown, whatever it holds.
    GR2  A goal has at most its 3 newest, in whatever order they were put; `put` of one that is older than three others
         returns False. `of_goal` returns them, the newest first.
    GR3  `recent` returns the reflections of the 10 goals with the newest reflections, by goal, the newest goal first;
         of two goals of one time that with the greater id.
    GR4  What is 7 days old at `now_us` is not shown. What a caller's clock has not reached yet is shown.
    GR5  No call forgets what is younger than 30 days by its clock: one that was days ahead for a while has cost
         nothing.
    GR6  `delete` removes a goal's reflections and returns how many there were; those created until `now_us` are
         refused for an hour from then on (`put` returns False), newer ones are kept.
    GR7  `similar` returns the reflections of goals whose objectives share words with `words`, by goal, the most alike
         first (`words.likeness` with the newest objective), then the newest; at most `limit` goals.
    GR8  Concurrent puts lose nothing and leave no goal among the recent ones twice.
    GR9  Scopes never meet.
    GR10 Ids are apart however they are spelt: separators, patterns, escapes and case are characters like any other.
    Raises StoreUnavailable (what was asked may or may not have happened), StoreFull (it has not).
    """

    async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool: ...

    async def of_goal(self, scope: Scope, goal_id: str, now_us: int) -> tuple[GoalReflection, ...]: ...

    async def recent(self, scope: Scope, now_us: int) -> tuple[tuple[GoalReflection, ...], ...]: ...

    async def similar(
        self, scope: Scope, words: frozenset[str], limit: int, now_us: int
    ) -> tuple[tuple[GoalReflection, ...], ...]: ...

    async def delete(self, scope: Scope, goal_id: str, now_us: int) -> int: ...
