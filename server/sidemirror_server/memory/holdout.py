"""Which lessons of a block are held back from it, to learn what happens without them. Pure.

Called by `memory/context.py` once it is decided what a block would hold.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from sidemirror_server.memory.evidence import Arm, is_held_back
from sidemirror_server.memory.trials import Trial
from sidemirror_server.vocabulary.block import ContextBlock, Lesson, Omitted, render

HELD_BACK = "it is held back this time, to learn what happens without it"


def drawn(block: ContextBlock, strategy_of: Mapping[str, str], receipt_id: str, fraction: float) -> tuple[Trial, ...]:
    """What is done with each item of a block; nothing when none is to be held back. What one episode taught is drawn
    together: a reflection that says what its strategy says would hide what either does."""
    if not fraction:
        return ()
    return tuple(
        Trial(
            *(item.id, item.version),
            Arm.HELD_BACK if is_held_back(receipt_id, strategy_of.get(item.id, item.id), fraction) else Arm.SHOWN,
            fraction,
        )
        for item in block.items
    )


def without(
    block: ContextBlock, heading: str, lessons: Sequence[Lesson], held: Collection[str], receipt_id: str
) -> ContextBlock:
    """The block without some of its items, of the lessons that it was made of; it has its receipt even when nothing is
    left."""
    left = {item.id for item in block.items} - set(held)
    rest = render(heading, [one for one in lessons if one.item.id in left], len(left), block.token_count, receipt_id)
    omitted = (*block.omitted, *(Omitted(memory_id, HELD_BACK) for memory_id in held))
    return msgspec.structs.replace(rest, receipt_id=receipt_id, omitted=omitted)
