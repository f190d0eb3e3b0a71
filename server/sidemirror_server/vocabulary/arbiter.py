"""One block of what is known from earlier work: what competes for it, in which order, and what it may cost. Pure.

Recoveries, lessons of reflective memory and lessons of goals compete for the same tokens, under one heading and with
one receipt, whoever asks (decision 065). The block is data to append behind a prompt; it changes nothing in it.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

import msgspec

from sidemirror_server.vocabulary.block import BlockLesson, ContextBlock, Omitted, render

HEADING = "LESSONS FROM EARLIER WORK"
# The heading where something is told that is from no earlier work.
OF_FAILURE = "ABOUT THIS FAILURE"
# The most lessons at a failing call. Chosen here: what repaired it, and the best lesson, or two lessons.
FAILURE_ITEMS = 2
# How many lessons of a plan come from goals, unless the turn sets `max_items`. Seed goal-reflection, "Limits".
GOAL_ITEMS = 2
# Why a lesson is left out in shadow mode.
SHADOW = "shadow mode: it is kept, and not told"


class Telling(msgspec.Struct, frozen=True):
    """How advice is told. `failure_tokens`, `start_tokens`: the most tokens of a block at a failing call, and at a
    turn's start. Defaults: design, section 17. `is_shadow`: nothing is told, and what would have been told is kept
    (decision 066). `has_starters`: the starter pack of recoveries is told too."""

    failure_tokens: int = 200
    start_tokens: int = 400
    is_shadow: bool = False
    has_starters: bool = True


AS_DESIGNED = Telling()


class Offers(msgspec.Struct, frozen=True):
    """What competes for a block, each the best first. `recoveries`: what repaired this failure. `failure`: lessons
    about it. `goal`: the goal's own lessons; `alike`: those of similar goals. `memory`: lessons that fit the task."""

    recoveries: Sequence[BlockLesson] = ()
    failure: Sequence[BlockLesson] = ()
    goal: Sequence[BlockLesson] = ()
    memory: Sequence[BlockLesson] = ()
    alike: Sequence[BlockLesson] = ()


def arbitrated(
    offers: Offers,
    max_items: int,
    max_tokens: int,
    receipt_id: str,
    goal_items: int = GOAL_ITEMS,
    heading: str = HEADING,
) -> ContextBlock:
    """The block: what was counted goes before what was written, what is about this failure or goal before what is
    alike, and lessons of memory alternate with those of similar goals. `goal_items`: how many may come from goals."""
    goal, alike = offers.goal[:goal_items], offers.alike[: max(0, goal_items - len(offers.goal[:goal_items]))]
    beyond = (*offers.goal[len(goal) :], *offers.alike[len(alike) :])
    left = tuple(Omitted(one.item.id, f"there is room for {goal_items} items of goals") for one in beyond)
    # A goal's lesson may be a memory too; it is shown as the goal's.
    said = {one.item.text for one in (*offers.goal, *offers.alike)}
    memory = [one for one in offers.memory if one.item.text not in said]
    lessons = (*offers.recoveries, *offers.failure, *goal, *_by_turns(memory, alike))
    block = render(heading, lessons, max_items, max_tokens, receipt_id)
    return msgspec.structs.replace(block, omitted=(*left, *block.omitted))


def shadowed(block: ContextBlock) -> ContextBlock:
    """The block as it is shown in shadow mode: without a text, its items among those left out."""
    left = tuple(Omitted(item.id, SHADOW) for item in block.items)
    return ContextBlock(receipt_id=block.receipt_id, omitted=(*left, *block.omitted))


def _by_turns(*each: Sequence[BlockLesson]) -> Iterator[BlockLesson]:
    return (one for one in chain.from_iterable(zip_longest(*each)) if one is not None)
