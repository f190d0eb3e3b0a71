"""The lessons that a turn's plan brings along, when the turn asks for any: of goals and of reflective memory, in one
block with one receipt."""

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

import msgspec

from sidemirror_server.goals.context import HEADING, GoalContexts, GoalLessons
from sidemirror_server.memory.context import DEFAULT_ITEMS, Fitting, MemoryContext, Task
from sidemirror_server.trace.event import ContextWish, TurnStarted
from sidemirror_server.trace.receipts import Receipt, ReceiptKind, Receipts, receipt_items
from sidemirror_server.vocabulary.block import ContextBlock, Lesson, Omitted, render
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.ids import TurnId, derived_id
from sidemirror_server.vocabulary.scope import Scope

# How many of them are of goals, unless the turn says how many lessons it wants. Seed goal-reflection, "Limits".
GOAL_ITEMS = 2
# How long the start of a turn waits for each of them, all at once, and then for the receipt. Chosen here: many times
# what a healthy store takes, the first search of a sidecar included.
_READ_S = 1.0
_KEEP_S = 0.5
# How long of that it waits for the meaning of its task; words find lessons without it. Chosen here: half of it.
_MEANING_S = 0.5

_T = TypeVar("_T")

_NONE = "the store is away: no lessons from earlier work"
_NO_GOALS = "the store of goal reflections is away: no lessons from earlier goals"
_NO_MEMORY = "reflective memory did not answer in time: none of its lessons"


class Lessons:
    """Looks for what fits a turn."""

    def __init__(self, goals: GoalContexts, memory: MemoryContext | None, receipts: Receipts, clock: Clock) -> None:
        """`memory` None: reflective memory is turned off."""
        self._goals = goals
        self._memory = memory
        self._receipts = receipts
        self._clock = clock

    async def for_turn(
        self, scope: Scope, turn_id: TurnId, started: TurnStarted
    ) -> tuple[ContextBlock | None, tuple[str, ...]]:
        """The block that the turn asked for, and warnings for its plan. None when it asked for none, or when nothing
        could be read in time: a turn starts without lessons then. Raises nothing but cancellation."""
        wish = started.context
        if wish is None:
            return None, ()
        receipt = Receipt(
            derived_id(scope, "context of turn", turn_id),
            *(ReceiptKind.TURN, self._clock.now_us()),
            turn_id=turn_id,
            session_id=started.session_id,
            goal_id=wish.goal_id,
        )
        goals, memory = await asyncio.gather(
            self._of_goals(scope, wish, wish.task or started.task, receipt.time_us),
            self._of_memory(scope, wish, Task(wish.task or started.task)),
        )
        if goals is None and (memory is None or self._memory is None):
            return None, (_NONE,)
        warnings = (*((_NO_GOALS,) if goals is None else ()), *((_NO_MEMORY,) if memory is None else ()))
        block = _joined(goals or GoalLessons(), memory or Fitting(), wish.max_items, receipt.receipt_id)
        if block.items:
            try:
                async with asyncio.timeout(_KEEP_S):
                    await self._receipts.issue(
                        scope, msgspec.structs.replace(receipt, items=receipt_items(block.items))
                    )
            except (StoreUnavailable, StoreFull, TimeoutError):
                return None, (_NONE,)
        return block, warnings

    async def _of_goals(self, scope: Scope, wish: ContextWish, task: str, now_us: int) -> GoalLessons | None:
        return await _in_time(self._goals.lessons(scope, wish.goal_id, task, now_us))

    async def _of_memory(self, scope: Scope, wish: ContextWish, task: Task) -> Fitting | None:
        if self._memory is None or not task.task.strip():
            return Fitting()
        found = self._memory.fitting(scope, task, wish.max_items or DEFAULT_ITEMS, meaning_s=_MEANING_S)
        return await _in_time(found)


async def _in_time(reading: Awaitable[_T]) -> _T | None:
    """What is read; None when the store is away or too slow."""
    try:
        async with asyncio.timeout(_READ_S):
            return await reading
    except (StoreUnavailable, StoreFull, TimeoutError):
        return None


def _joined(goals: GoalLessons, memory: Fitting, max_items: int, receipt_id: str) -> ContextBlock:
    """One block of both: what the goal itself has taught comes first, for it applies whatever it says; then what is
    alike, from memory and from other goals by turns."""
    own, alike, left = goals.own, goals.alike, tuple[Omitted, ...]()
    if not max_items:
        own, alike = own[:GOAL_ITEMS], alike[: max(0, GOAL_ITEMS - len(own))]
        beyond = (*goals.own[len(own) :], *goals.alike[len(alike) :])
        left = tuple(Omitted(one.item.id, f"there is room for {GOAL_ITEMS} items of goals") for one in beyond)
    lessons = (*own, *_by_turns(memory.lessons, alike))
    block = render(HEADING, lessons, max_items or DEFAULT_ITEMS, receipt_id=receipt_id)
    return msgspec.structs.replace(block, omitted=(*memory.omitted, *left, *block.omitted))


def _by_turns(*each: Sequence[Lesson]) -> Iterator[Lesson]:
    return (one for one in chain.from_iterable(zip_longest(*each)) if one is not None)
