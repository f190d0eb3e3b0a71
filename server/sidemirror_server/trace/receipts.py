"""Records which lessons were shown to whom: one receipt for every context block that is not empty, and one for each
reason why a turn's agent asked and was given nothing.

Rooms issue a receipt when they hand out a block. The receipt joins a task's outcome to the lessons that the agent saw.
It also identifies our own texts when they come back in a trace. Adapters: `storage/*/receipts.py`.
"""

import enum
import re
from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.vocabulary.block import BlockItem, Omitted, text_hash
from sidemirror_server.vocabulary.scope import Scope, Serves

# How long a receipt is kept. Chosen here: after a month no outcome is expected any more.
KEPT_FOR_US = 30 * 24 * 3600 * 1_000_000


class ReceiptKind(enum.StrEnum):
    """The room that handed out the block. The values are stored and never change."""

    GOAL = "goal"
    MEMORY = "memory"
    TURN = "turn"


class ShownIn(enum.StrEnum):
    """Where a block is shown. The values are stored and never change."""

    # A receipt of before places were kept.
    UNKNOWN = ""
    PLAN = "plan"
    # At a failing call of a turn.
    ADVICE = "advice"
    # With a reflection in mid-turn.
    REFLECTION = "reflection"
    # In the answers of BuildMemoryContext, BuildGoalContext and FindRecoveries.
    MEMORY_CONTEXT = "memory_context"
    GOAL_CONTEXT = "goal_context"
    RECOVERIES = "recoveries"


class FitBy(enum.StrEnum):
    """By what a lesson was found to fit. The values are stored and never change."""

    FAILURE = "failure"
    CALL = "call"
    NAME = "name"
    WORDS = "words"
    MEANING = "meaning"


class Fit(msgspec.Struct, frozen=True):
    """How well a lesson fits a task, 0 to 1, by what, and the terms that both have."""

    score: float
    by: FitBy
    words: tuple[str, ...] = ()


class ReceiptItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item as shown. `text_hash`: `vocabulary.block.text_hash` of its text. `score`, `fit_by`, `words`: as in `Fit`
    when the block was made; None and empty where they are not known. `fit_by` may be of a later version."""

    id: str
    version: int
    kind: str
    text_hash: bytes
    score: float | None = None
    fit_by: str = ""
    words: tuple[str, ...] = ()


class Receipt(msgspec.Struct, frozen=True):
    """The items of one block, in order. `held_back`: ids of fitting items that were left out on purpose, to learn what
    happens without them. `turn_id`, `session_id`, `goal_id`: those that the block was made for, or empty. `omitted`:
    what else was left out, and why, where an agent asked; `silence`: why it was given nothing, a value of
    `SilenceReason` or one of a later version."""

    receipt_id: str
    kind: ReceiptKind
    time_us: int
    items: tuple[ReceiptItem, ...] = ()
    held_back: tuple[str, ...] = ()
    turn_id: str = ""
    session_id: str = ""
    goal_id: str = ""
    place: ShownIn = ShownIn.UNKNOWN
    omitted: tuple[Omitted, ...] = ()
    silence: str = ""


class ReceiptKey(msgspec.Struct, frozen=True):
    """A position in the order of receipts: newest first, then descending id."""

    time_us: int
    receipt_id: str


FIRST_RECEIPT = ReceiptKey(2**63 - 1, "")  # sorts before every receipt


class Receipts(Protocol):
    """Keeps receipts. Each verb is one transaction, durable when it returns.

    RC1  `issue` stores a receipt, unless the id has one already. It returns the stored receipt.
    RC2  `get` returns None for an id that the scope does not have.
    RC3  `shown` returns those of the `hashes` that an item of a receipt in the scope has; `held_back` does not count.
    RC4  `find` returns receipts after the cursor `after`, newest first, at most `limit`, none from before `from_us`.
         Pages stay consistent while receipts are issued.
    RC5  `forget` removes at most `limit` receipts of the scopes served from before `before_us`, oldest first, and
         returns how many. Their items no longer count as shown, unless a later receipt has them too.
    RC6  Scopes are isolated: the same id in two scopes is two receipts.
    RC7  `of_turn` returns a turn's receipts, the oldest first, at most `limit`; none for an empty id.
    RC8  `forget` leaves receipts of scopes that are not served; they do not count towards `limit`.
    RC9  `find` with `lesson_id` returns those that show or hold back this lesson; with `turn_id` (and no lesson), those
         of this turn.
    RC10 A lesson is found by its receipts no more once they are forgotten or erased, or an erasure took it out of them.
    RC11 `of_session` returns a session's receipts of these times, both included, the oldest first, at most `limit`;
         none for an empty id.
    RC12 `of_turns` returns, by turn, what `of_turn` returns for each of these turns that has receipts.
    RC13 What a receipt left out, and why its agent was given nothing, is kept as it was given, also without items. A
         lesson is not found (RC9) by a receipt that left it out.
    The lessons that a new receipt names (`lessons_in`) are noted, so that an erasure finds it (clause ER13). `issue`
    refuses (WrongState) a receipt of an erased turn, and of a session that was erased since its time (ER14); one that
    names an erased lesson raises StoreUnavailable, since a new block is made without it.
    Raises StoreUnavailable, StoreFull.
    """

    async def issue(self, scope: Scope, receipt: Receipt) -> Receipt: ...

    async def get(self, scope: Scope, receipt_id: str) -> Receipt | None: ...

    async def shown(self, scope: Scope, hashes: Collection[bytes]) -> frozenset[bytes]: ...

    async def of_turn(self, scope: Scope, turn_id: str, limit: int) -> tuple[Receipt, ...]: ...

    async def of_session(
        self, scope: Scope, session_id: str, from_us: int, until_us: int, limit: int
    ) -> tuple[Receipt, ...]: ...

    async def of_turns(
        self, scope: Scope, turn_ids: Collection[str], limit: int
    ) -> Mapping[str, tuple[Receipt, ...]]: ...

    async def find(
        self,
        scope: Scope,
        after: ReceiptKey | None,
        limit: int,
        *,
        lesson_id: str = "",
        turn_id: str = "",
        from_us: int = 0,
    ) -> tuple[Receipt, ...]: ...

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int: ...


NO_FITS: Mapping[str, Fit] = {}
# The reason when a lesson of a block was erased while the block was made.
LESSON_ERASED = "a lesson of the block was erased meanwhile: ask again"
# Where a block is shown that an agent asks for by a call of its own: no entry of a turn has it.
RECALLED_IN = frozenset((ShownIn.MEMORY_CONTEXT, ShownIn.GOAL_CONTEXT, ShownIn.RECOVERIES))
# Of these only recoveries are held back.
HOLDS_RECOVERIES = frozenset((ShownIn.ADVICE, ShownIn.RECOVERIES))
# The kinds of items that are a goal's reflection and a recovery; the others are memories. Stored; never changed.
GOAL_ITEM = "goal_reflection"
RECOVERY_ITEM = "recovery"
# How a tool's result names the receipt of what it shows (`http/mcp/tools.py`), so that the turn's record has it.
NAMED = "When the task has ended, call report_outcome with receipt_id {}."
_NAMED = re.compile(r"call report_outcome with receipt_id ([0-9a-f-]{36})\.")


def named_in(text: str) -> str:
    """The id of the receipt that a tool's result names; empty if it names none."""
    found = _NAMED.search(text)
    return "" if found is None else found[1]


def item_key(item: ReceiptItem | BlockItem) -> str:
    """The key of the lesson that an item shows."""
    return key(SourceKind.GOAL_REFLECTION if item.kind == GOAL_ITEM else SourceKind.MEMORY, item.id)


def lessons_in(receipt: Receipt) -> Mapping[str, str]:
    """The ids of the lessons that a receipt names, by their keys: those it shows, and those that were held back or left
    out. Of these no kind is kept: each has the keys of both. A recovery is none: it is counts of many observations, and
    no record."""
    shown = {item_key(item): item.id for item in receipt.items if item.kind != RECOVERY_ITEM}
    held = () if receipt.place in HOLDS_RECOVERIES else receipt.held_back
    of_items = {item.id for item in receipt.items}
    others = {one for one in (*held, *(left.id for left in receipt.omitted)) if one and one not in of_items}
    return shown | {key(kind, one): one for kind in (SourceKind.MEMORY, SourceKind.GOAL_REFLECTION) for one in others}


def without_erased(receipt: Receipt, gone: Collection[str]) -> Receipt:
    """A receipt that does not name these lessons, by their ids."""
    return msgspec.structs.replace(
        receipt,
        items=tuple(item for item in receipt.items if item.id not in gone),
        held_back=tuple(one for one in receipt.held_back if one not in gone),
        omitted=tuple(left for left in receipt.omitted if left.id not in gone),
    )


def made_for(receipt: Receipt) -> tuple[str, ...]:
    """The keys of the turn and the session that a receipt is for."""
    return (*keys(SourceKind.TURN, (receipt.turn_id,)), *keys(SourceKind.SESSION, (receipt.session_id,)))


def receipt_items(
    items: Collection[BlockItem], fits: Mapping[str, Fit] = NO_FITS, *, with_words: bool = True
) -> tuple[ReceiptItem, ...]:
    """A block's items in the form of its receipt. `fits`: by the id of an item, by what it fits. `with_words`: the
    receipt may hold the words that matched, which are contents."""
    return tuple(_item(item, fits.get(item.id), with_words=with_words) for item in items)


def _item(item: BlockItem, fit: Fit | None, *, with_words: bool) -> ReceiptItem:
    shown = ReceiptItem(item.id, item.version, item.kind, text_hash(item.text))
    if fit is None:
        return shown
    words = fit.words if with_words else ()
    return msgspec.structs.replace(shown, score=fit.score, fit_by=fit.by, words=words)


class _Body(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a receipt that the stores do not parse. Field names are part of the stored format."""

    items: tuple[ReceiptItem, ...] = ()
    held_back: tuple[str, ...] = ()
    place: ShownIn = ShownIn.UNKNOWN
    omitted: tuple[Omitted, ...] = ()
    silence: str = ""


_decode = msgspec.json.Decoder(_Body).decode


def receipt_body(receipt: Receipt) -> bytes:
    """A receipt's items, place, and what was not shown, as JSON."""
    body = _Body(receipt.items, receipt.held_back, receipt.place, receipt.omitted, receipt.silence)
    return msgspec.json.encode(body)


def receipt_of(
    receipt_id: str, kind: str, time_us: int, turn_id: str, session_id: str, goal_id: str, body: bytes
) -> Receipt:
    """A receipt from its columns, in their order."""
    kept = _decode(body)
    return Receipt(
        *(receipt_id, ReceiptKind(kind), time_us, kept.items, kept.held_back),
        *(turn_id, session_id, goal_id),
        place=kept.place,
        omitted=kept.omitted,
        silence=kept.silence,
    )
