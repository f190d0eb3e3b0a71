"""Which lessons of a block are held back from it, to learn what happens without them. Pure.

Called by `finding/context.py` once it is decided what a block would hold. A turn is one task, however many blocks it
asks for: what its first block held back stays away from all of it, and what it was shown is not drawn any more. Else a
lesson would come to a task that counts as one without it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from sidemirror_server.memory.trials.evidence import Arm, is_held_back
from sidemirror_server.memory.trials.trials import Trial
from sidemirror_server.vocabulary.block import BlockLesson, ContextBlock, Omitted, render

HELD_BACK = "it is held back this time, to learn what happens without it"


class Decided(msgspec.Struct, frozen=True):
    """What earlier blocks of a turn came to: the lessons that they held back, and those that they showed. A lesson is
    named by the id of its reflection, and by its own."""

    held_back: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()


NOTHING_DECIDED = Decided()


def decided(held_back: Collection[str], shown: Collection[str], strategy_of: Mapping[str, str]) -> Decided:
    """Of the ids in receipts. `strategy_of`: see `drawn`."""
    return Decided(_with_lessons(held_back, strategy_of), _with_lessons(shown, strategy_of))


def _with_lessons(memory_ids: Collection[str], strategy_of: Mapping[str, str]) -> frozenset[str]:
    return frozenset((*memory_ids, *(strategy_of[one] for one in memory_ids if one in strategy_of)))


def held_of(memory_ids: Iterable[str], strategy_of: Mapping[str, str], before: Decided) -> tuple[str, ...]:
    """Those of these memories that the turn holds back already."""
    return tuple(one for one in memory_ids if not before.held_back.isdisjoint((one, strategy_of.get(one, one))))


def drawn(
    block: ContextBlock,
    strategy_of: Mapping[str, str],
    receipt_id: str,
    fraction: float,
    before: Decided = NOTHING_DECIDED,
) -> tuple[Trial, ...]:
    """What is done with each item of a block; nothing when none is to be held back, and with none of a lesson that the
    turn has decided about `before`. What one episode taught is drawn together: a reflection that says what its strategy
    says would hide what either does. `strategy_of`: the ids of strategies, each with its reflection's."""
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
    """The block without some of its items, of the lessons that it was made of; it has its receipt even when nothing is
    left."""
    left = {item.id for item in block.items} - set(held)
    rest = render(heading, [one for one in lessons if one.item.id in left], len(left), block.token_count, receipt_id)
    omitted = (*block.omitted, *(Omitted(memory_id, HELD_BACK) for memory_id in held))
    return msgspec.structs.replace(rest, receipt_id=receipt_id, omitted=omitted)
