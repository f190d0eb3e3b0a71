"""The `[PAST REFLECTIONS]` block: lessons of earlier goals for a present goal or task."""

from collections.abc import Iterable

import msgspec

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.retired import Retired
from sidemirror_server.goals.similarity import CANDIDATES
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.goals.words import likeness, words_of
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import AdviceKind
from sidemirror_server.trace.receipts import GOAL_ITEM, Receipt, ReceiptKind, Receipts, ShownIn, receipt_items
from sidemirror_server.vocabulary.arbiter import AS_DESIGNED, Telling, shadowed
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson, ContextBlock, render
from sidemirror_server.vocabulary.corpus import Corpus
from sidemirror_server.vocabulary.scope import Scope

# Seed goal-reflection, "Context Injection" and "Limits".
HEADING = "PAST REFLECTIONS"
MAX_ITEMS = 2
ITEM_KIND = GOAL_ITEM
# How many similar goals are considered. Chosen here: a block has no room for more of their reflections.
_SIMILAR_GOALS = 5
# How many words a similar goal must share. Chosen here: one shared word says little, unless the goal has only one.
_SHARED_WORDS = 2
# A goal is similar if it is at least this close to the task, where the closest has 1. Chosen here, as for memories.
_FITS_RATIO = 0.5


class GoalLessons(msgspec.Struct, frozen=True):
    """Lessons for a block, the best first. `own`: the goal's; `alike`: those of similar or recent goals."""

    own: tuple[BlockLesson, ...] = ()
    alike: tuple[BlockLesson, ...] = ()


class GoalContexts:
    """Makes blocks, and issues a receipt for each that is not empty."""

    def __init__(
        self,
        reflections: GoalReflections,
        receipts: Receipts,
        policies: PoliciesInForce,
        retired: Retired,
        telling: Telling = AS_DESIGNED,
    ) -> None:
        self._telling = telling
        self._reflections = reflections
        self._policies = policies
        self._receipts = receipts
        self._retired = retired

    async def build(
        self, scope: Scope, goal_id: str, task: str, max_items: int, receipt_id: str, now_us: int
    ) -> ContextBlock:
        """The block for a goal or a task, or for the recent goals if both are empty. `max_items` 0 means 2. Raises
        StoreUnavailable, StoreFull.

        In shadow mode the block has no text, and names the lessons as left out."""
        found = await self.lessons(scope, goal_id, task, now_us)
        block = render(HEADING, (*found.own, *found.alike), max_items or MAX_ITEMS, receipt_id=receipt_id)
        if self._telling.is_shadow:
            return shadowed(msgspec.structs.replace(block, receipt_id=""))
        if block.items:
            items = receipt_items(block.items)
            receipt = Receipt(
                *(receipt_id, ReceiptKind.GOAL, now_us, items), goal_id=goal_id, place=ShownIn.GOAL_CONTEXT
            )
            await self._receipts.issue(scope, receipt)
        return block

    async def lessons(self, scope: Scope, goal_id: str, task: str, now_us: int) -> GoalLessons:
        """The lessons that `build` shows, for a block with other lessons too. None while a policy turns lessons off,
        none that a policy silences, and none that says what a retired lesson says, as far as the store tells in time.
        Raises StoreUnavailable, StoreFull."""
        advice = await self._policies.advice(scope)
        if not advice.gives(AdviceKind.LESSONS):
            return GoalLessons()
        own: list[BlockLesson] = []
        alike: list[BlockLesson] = []
        if goal_id:
            found = await self._reflections.of_goal(scope, goal_id, now_us)
            own = [_lesson(reflection, 1.0) for reflection in by_importance(found)]
        if task:
            alike = await self._similar(scope, goal_id, task, now_us)
        if not (goal_id or task):
            recent = [each for goal in await self._reflections.recent(scope, now_us) for each in goal]
            alike = [_lesson(reflection, reflection.importance) for reflection in by_importance(recent)]
        retired = await self._retired(scope, [one.item.text for one in (*own, *alike)])

        def told(found: list[BlockLesson]) -> tuple[BlockLesson, ...]:
            return tuple(one for one in found if advice.shows(one.item.id) and one.item.text not in retired)

        return GoalLessons(told(own), told(alike))

    async def _similar(self, scope: Scope, goal_id: str, task: str, now_us: int) -> list[BlockLesson]:
        """The lessons of the goals that are closest to the task, by the rule that memories are searched by. The store
        says which goals share words with it."""
        asked = words_of(task)
        goals = [
            goal
            for goal in await self._reflections.similar(scope, asked, CANDIDATES, now_us)
            if goal[0].goal_id != goal_id and _shares_enough(asked, words_of(goal[0].objective))
        ]
        close = Corpus([goal[0].objective for goal in goals]).search(task)
        # A word that differs in its accents is the same to the store, and not to the search.
        alike = [likeness(asked, words_of(goal[0].objective)) for goal in goals]
        places = sorted(range(len(goals)), key=lambda place: -max(close[place].closeness, alike[place]))
        found: dict[GoalReflection, float] = {}
        for place in places[:_SIMILAR_GOALS]:
            if max(close[place].closeness, alike[place]) >= _FITS_RATIO:
                found.update(dict.fromkeys(goals[place], alike[place]))
        return [_lesson(reflection, found[reflection]) for reflection in by_importance(found)]


def _shares_enough(asked: frozenset[str], words: frozenset[str]) -> bool:
    return len(asked & words) >= min(_SHARED_WORDS, len(words))


def by_importance(reflections: Iterable[GoalReflection]) -> list[GoalReflection]:
    """The reflections, the most important first, then the newest."""
    return sorted(reflections, key=lambda one: (one.importance, one.created_us, one.reflection_id), reverse=True)


def _lesson(reflection: GoalReflection, score: float) -> BlockLesson:
    item = BlockItem(reflection.reflection_id, 1, ITEM_KIND, reflection.insight, score, reflection.origin)
    # An entry that another program wrote to a shared Redis may have no objective.
    return BlockLesson(item, f"Goal: {reflection.objective or reflection.goal_id}")
