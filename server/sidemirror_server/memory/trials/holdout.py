"""Holds lessons back from a block, to learn what happens without them. Pure.

Called by `finding/context.py` after it has chosen the lessons of a block. A turn is one task, even with several blocks.
A lesson held back once stays out of the whole turn, and a lesson shown once is not drawn again. Otherwise an agent
could see a lesson in a task that counts as a task without it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from sidemirror_server.memory.trials.evidence import Arm, is_held_back
from sidemirror_server.memory.trials.trials import Trial
from sidemirror_server.vocabulary.block import BlockLesson, ContextBlock, Omitted, render

HELD_BACK = "it is held back this time, to learn what happens without it"


class Decided(msgspec.Struct, frozen=True):
    """The lessons that earlier blocks of a turn held back or showed. A lesson is named by its own memory id and by that
    of its reflection."""

    held_back: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()


NOTHING_DECIDED = Decided()


def decided(held_back: Collection[str], shown: Collection[str], strategy_of: Mapping[str, str]) -> Decided:
    """The lessons of these memory ids from receipts. `strategy_of`: see `drawn`."""
    return Decided(_with_lessons(held_back, strategy_of), _with_lessons(shown, strategy_of))


def _with_lessons(memory_ids: Collection[str], strategy_of: Mapping[str, str]) -> frozenset[str]:
    return frozenset((*memory_ids, *(strategy_of[one] for one in memory_ids if one in strategy_of)))


def held_of(memory_ids: Iterable[str], strategy_of: Mapping[str, str], before: Decided) -> tuple[str, ...]:
    """The memories among these that the turn already holds back."""
    return tuple(one for one in memory_ids if not before.held_back.isdisjoint((one, strategy_of.get(one, one))))


def drawn(
    block: ContextBlock,
    strategy_of: Mapping[str, str],
    receipt_id: str,
    fraction: float,
    before: Decided = NOTHING_DECIDED,
) -> tuple[Trial, ...]:
    """Draws a trial for each item of a block: shown or held back. There is none if `fraction` is 0, or for a lesson
    decided `before` in the turn. A reflection and its strategy share one draw, because each would mask the other's
    effect. `strategy_of`: by the id of a strategy, the id of its reflection."""
    if not fraction:
        return ()
    known = before.held_back | before.shown
    return tuple(
        Trial(
            *(item.id, item.version),
            Arm.HELD_BACK if is_held_back(receipt_id, strategy_of.get(item.id, item.id), fraction) else Arm.SHOWN,
            fraction,
        )
        for item in block.items
        if known.isdisjoint((item.id, strategy_of.get(item.id, item.id)))
    )


def without(
    block: ContextBlock, heading: str, lessons: Sequence[BlockLesson], held: Collection[str], receipt_id: str
) -> ContextBlock:
    """The block made of `lessons`, rendered again without the `held` ones. It has a receipt even if no lesson is
    left."""
    left = {item.id for item in block.items} - set(held)
    rest = render(heading, [one for one in lessons if one.item.id in left], len(left), block.token_count, receipt_id)
    omitted = (*block.omitted, *(Omitted(memory_id, HELD_BACK) for memory_id in held))
    return msgspec.structs.replace(rest, receipt_id=receipt_id, omitted=omitted)
