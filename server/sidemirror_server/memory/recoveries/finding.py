"""Finds the recovery to tell when a call fails, as a block with a receipt and a trial.

`turns/recovery_advice.py` asks within a turn, `rpc/memory/find_recoveries.py` for anyone. The counts of a signature are
folded from its rows when it is asked for, and held for a while; what is learned here is used at once.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

import msgspec

from sidemirror_server.memory.recoveries.deciding import (
    Counted,
    FailedAttempt,
    count,
    decided,
    names_nothing,
    of_recovery,
)
from sidemirror_server.memory.recoveries.moves import SILENT_FRACTION, Tally, is_silent
from sidemirror_server.memory.recoveries.observation import Move, Observation
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.memory.trials.evidence import Arm
from sidemirror_server.memory.trials.holdout import HELD_BACK
from sidemirror_server.memory.trials.trials import Trial, Trials
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import AdviceKind
from sidemirror_server.trace.receipts import RECOVERY_ITEM, Receipt, ReceiptKind, ShownIn, receipt_items
from sidemirror_server.vocabulary.arbiter import (
    AS_DESIGNED,
    FAILURE_ITEMS,
    HEADING,
    OF_FAILURE,
    Offers,
    Telling,
    arbitrated,
    shadowed,
)
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson, ContextBlock, Omitted
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.ids import derived_id
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.silence import Silence, SilenceReason

_log = logging.getLogger(__name__)

# How long the counts of a signature are used. Chosen here: a loop of failing calls reads them once a second; what
# another sidecar has learned, or an erasure has removed, is noticed by then.
FRESH_S = 1.0
# How long what may be told is told on while it is counted anew. Chosen here: the most that a policy may take to hold.
_STALE_S = 10.0
# The most signatures whose counts are held. Chosen here: some MiB; beyond it they are read again.
_MOST_HELD = 10_000
# So many rows are counted at once; more are counted on a thread. Chosen here: a third of a millisecond.
_AT_ONCE_ROWS = 300


def receipt_id_of(scope: Scope, turn_id: str, signature: str) -> str:
    """The id of the receipt for what a turn is told of a signature: one, however often the call fails."""
    return derived_id(scope, "recovery in turn", f"{turn_id}\0{signature}")


class FoundAdvice(msgspec.Struct, frozen=True):
    """`block`: to show. `kept`: what would have been shown in shadow mode, for the record alone. `silence`: why there
    is nothing to show; None if there is, or if the failure has no signature."""

    block: ContextBlock = ContextBlock()
    kept: ContextBlock = ContextBlock()
    silence: Silence | None = None


class RecoveryFinder:
    """Finds recoveries."""

    def __init__(
        self,
        store: Observations,
        trials: Trials,
        policies: PoliciesInForce,
        clock: Clock,
        telling: Telling = AS_DESIGNED,
    ) -> None:
        self._telling = telling
        self._store = store
        self._trials = trials
        self._policies = policies
        self._clock = clock
        self._held: dict[tuple[Scope, str], tuple[float, Counted]] = {}
        self._reading: dict[tuple[Scope, str], asyncio.Task[Counted]] = {}
        # The last read of each signature that is under way. What was read before something was learned is not held.
        self._last_read: dict[tuple[Scope, str], object] = {}

    async def find(
        self,
        scope: Scope,
        failed: FailedAttempt,
        receipt_id: str,
        lessons: Callable[[], Awaitable[Sequence[BlockLesson]]] | None = None,
        place: ShownIn = ShownIn.RECOVERIES,
        is_over: Callable[[], bool] = lambda: False,
    ) -> FoundAdvice:
        """The block to show, with a durable receipt and a trial. Empty if no recovery may be told, or if the turn was
        told of this signature. A recovery that is held back this time is named in `omitted`; in shadow mode it always
        is. `lessons`: looks up the lessons about the failure, which compete for the same block; asked only where there
        is one. `place`: where the block will be shown. `is_over`: nobody hears of it any more.
        Raises what the store raises."""
        if not failed.signature:
            return FoundAdvice()
        advice = await self._policies.advice(scope)
        if not advice.gives(AdviceKind.RECOVERIES):
            return FoundAdvice(silence=Silence(SilenceReason.OFF_BY_POLICY))
        known = await self._known(scope, failed.signature)
        decision = decided(known, failed, advice, self._telling)
        recovery, text = decision.recovery, decision.text
        if recovery is None or not text:
            return FoundAdvice(silence=decision.silence)
        is_safe = not recovery.from_spans or names_nothing(recovery.move)
        is_shadow = self._telling.is_shadow
        silent = is_shadow or is_silent(receipt_id, recovery)
        # The sentence is fixed; the names in it are of tools and arguments, as agents, or spans, call them.
        origin = Origin.TOOL if recovery.from_spans else Origin.AGENT
        item = BlockItem(recovery.recovery_id, 1, RECOVERY_ITEM, text, recovery.low, origin, is_safe=is_safe)
        about = () if lessons is None else await lessons()
        offers = Offers(() if silent and not is_shadow else (BlockLesson(item),), about)
        # The starter pack is from no earlier work.
        heading = OF_FAILURE if known.recovery is None else HEADING
        block = arbitrated(offers, FAILURE_ITEMS, self._telling.failure_tokens, receipt_id, heading=heading)
        kept = block if is_shadow else ContextBlock()
        if silent:
            left = block.omitted if is_shadow else (Omitted(recovery.recovery_id, HELD_BACK), *block.omitted)
            block = msgspec.structs.replace(block, receipt_id=receipt_id, omitted=left)
        if is_over():
            return FoundAdvice()
        receipt = Receipt(
            # A lesson that is only kept stands in the receipt too: by it, an erasure finds the turn that has its text.
            *(receipt_id, ReceiptKind.MEMORY, self._clock.now_us()),
            items=receipt_items([one for one in block.items if not silent or one.kind != RECOVERY_ITEM]),
            held_back=(recovery.recovery_id,) if silent else (),
            turn_id=failed.turn_id,
            session_id=failed.session_id,
            place=place,
        )
        fraction = 1.0 if is_shadow else SILENT_FRACTION
        trial = Trial(recovery.recovery_id, 1, Arm.HELD_BACK if silent else Arm.SHOWN, fraction)
        if await self._trials.issue(scope, receipt, (trial,)) != receipt:
            return FoundAdvice(silence=of_recovery(recovery, SilenceReason.TOLD_ALREADY))
        if is_shadow:
            return FoundAdvice(shadowed(block), kept, of_recovery(recovery, SilenceReason.SHADOW))
        why = SilenceReason.HELD_BACK if silent else SilenceReason.NO_ROOM
        return FoundAdvice(block, silence=None if block.items else of_recovery(recovery, why))

    @property
    def telling(self) -> Telling:
        """How advice is told."""
        return self._telling

    async def repeats(self, scope: Scope, signature: str) -> Tally | None:
        """How often a call that failed like this worked when it was sent again unchanged, if it hardly ever did; None
        otherwise, and while a policy turns recoveries off. Raises what the store raises."""
        advice = await self._policies.advice(scope)
        if not signature or not advice.gives(AdviceKind.RECOVERIES):
            return None
        return (await self._known(scope, signature)).repeats

    async def learned(self, scope: Scope, signatures: Iterable[str]) -> None:
        """There are new observations of these signatures. Those that are in use are counted anew. Raises what the store
        raises."""
        for signature in signatures:
            self._reading.pop((scope, signature), None)
            self._last_read.pop((scope, signature), None)
            held = self._held.get((scope, signature))
            if held is not None and held[1].recovery is not None:
                await self._read(scope, signature)
            else:
                self._held.pop((scope, signature), None)

    def told_as(self, scope: Scope, signature: str, recovery: str) -> Move | None:
        """The move with this recovery's id, if it is what is told of the signature as far as memory knows."""
        _, known = self._held.get((scope, signature), (0.0, _NOTHING))
        return next((one.move for one in known.recoveries if one.recovery_id == recovery), None)

    async def _known(self, scope: Scope, signature: str) -> Counted:
        """What may be told, from memory where it is known there. A recovery may be told on while it is counted anew.
        Where there was none, the store is asked: the missing try may have come."""
        read_s, known = self._held.get((scope, signature), (-math.inf, _NOTHING))
        age_s = self._clock.monotonic_s() - read_s
        if age_s <= FRESH_S:
            return known
        reading = self._reading.get((scope, signature)) or self._begin_reading(scope, signature)
        if known.recovery is None or age_s > _STALE_S:
            # Others wait for the same read.
            return await asyncio.shield(reading)
        return known

    def _begin_reading(self, scope: Scope, signature: str) -> "asyncio.Task[Counted]":
        reading = asyncio.create_task(self._read(scope, signature))
        self._reading[scope, signature] = reading
        reading.add_done_callback(lambda done: self._has_read(scope, signature, done))
        return reading

    async def _read(self, scope: Scope, signature: str) -> Counted:
        this, now_s = object(), self._clock.monotonic_s()
        self._last_read[scope, signature] = this
        try:
            known = await _counted(signature, await self._store.of_signature(scope, signature))
            if len(self._held) >= _MOST_HELD:
                self._held.clear()
            if self._last_read.get((scope, signature)) is this:
                self._held[scope, signature] = (now_s, known)
            return known
        finally:
            if self._last_read.get((scope, signature)) is this:
                del self._last_read[scope, signature]

    def _has_read(self, scope: Scope, signature: str, done: "asyncio.Task[Counted]") -> None:
        if self._reading.get((scope, signature)) is done:
            del self._reading[scope, signature]
        if done.cancelled() or (error := done.exception()) is None:
            return
        if isinstance(error, SidemirrorError):
            _log.info("recoveries_not_read", extra={**whose(scope), "reason": str(error)})
        else:  # a bug
            _log.error("recoveries_not_read", extra=whose(scope), exc_info=error)


_NOTHING = Counted()


async def _counted(signature: str, rows: Collection[Observation]) -> Counted:
    if len(rows) <= _AT_ONCE_ROWS:
        return count(signature, rows)
    return await asyncio.to_thread(count, signature, rows)
