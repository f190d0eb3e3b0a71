"""Finds the recovery to tell when a call fails, as a block with a receipt and a trial.

`turns/recovery_advice.py` asks within a turn, `rpc/memory/find_recoveries.py` for anyone. The counts of a signature are
folded from its rows when it is asked for, and are used for a few seconds; what is learned here is used at once.
"""

import asyncio
from collections.abc import Collection, Iterable

import msgspec

from sidemirror_server.memory.recoveries.moves import SILENT_FRACTION, Recovery, is_silent, recovery_of
from sidemirror_server.memory.recoveries.observation import MoveKind, Observation
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.memory.recoveries.sentences import said
from sidemirror_server.memory.trials.evidence import Arm
from sidemirror_server.memory.trials.holdout import HELD_BACK
from sidemirror_server.memory.trials.trials import Trial, Trials
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import AdviceKind
from sidemirror_server.trace.receipts import RECOVERY_ITEM, Receipt, ReceiptKind, Receipts, receipt_items
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson, ContextBlock, Omitted, render
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import derived_id
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

HEADING = "EARLIER TRIES AFTER THIS FAILURE"
# How long the counts of a signature are used. Chosen here: a loop of failing calls reads them once a second; what
# another sidecar has learned, or an erasure has removed, is noticed by then.
FRESH_S = 1.0
# The most signatures whose counts are held. Chosen here: some MiB; beyond it they are read again.
_MOST_HELD = 10_000
# So many rows are counted at once; more are counted on a thread. Chosen here: some milliseconds.
_AT_ONCE_ROWS = 100
# Only calls with JSON arguments have an argument to change, or another tool to go on with.
_OF_JSON = frozenset((MoveKind.CHANGED, MoveKind.WENT_ON))


class FailedAttempt(msgspec.Struct, frozen=True):
    """A call that failed. `is_json`: its arguments are JSON. `looked_up`: the labels of the look-ups that the turn has
    done (`trail.py`). `turn_id`, `session_id`: empty outside a turn."""

    signature: str
    is_json: bool
    looked_up: tuple[str, ...] = ()
    turn_id: str = ""
    session_id: str = ""


def receipt_id_of(scope: Scope, turn_id: str, signature: str) -> str:
    """The id of the receipt for what a turn is told of a signature: one, however often the call fails."""
    return derived_id(scope, "recovery in turn", f"{turn_id}\0{signature}")


class RecoveryFinder:
    """Finds recoveries."""

    def __init__(
        self, store: Observations, receipts: Receipts, trials: Trials, policies: PoliciesInForce, clock: Clock
    ) -> None:
        self._store = store
        self._receipts = receipts
        self._trials = trials
        self._policies = policies
        self._clock = clock
        self._held: dict[tuple[Scope, str], tuple[float, Recovery | None]] = {}
        # How often something was learned here: what was read before is not held after.
        self._lessons = 0

    async def find(self, scope: Scope, failed: FailedAttempt, receipt_id: str) -> ContextBlock:
        """The block to show, with a durable receipt and a trial. Empty if nothing may be told, or if the turn was told
        of this signature. A recovery that is held back this time is named in `omitted`. Raises what the store
        raises."""
        advice = await self._policies.advice(scope)
        if not failed.signature or not advice.gives(AdviceKind.RECOVERIES):
            return ContextBlock()
        recovery = await self._recovery(scope, failed.signature)
        if recovery is None or not advice.shows(recovery.recovery_id):
            return ContextBlock()
        sentence = said(recovery, failed.looked_up)
        if sentence is None or (recovery.move.kind in _OF_JSON and not failed.is_json):
            return ContextBlock()
        silent = is_silent(receipt_id, recovery)
        if silent:
            block = ContextBlock(receipt_id=receipt_id, omitted=(Omitted(recovery.recovery_id, HELD_BACK),))
        else:
            # The sentence is fixed; the names in it are of tools and arguments, as agents call them.
            item = BlockItem(recovery.recovery_id, 1, RECOVERY_ITEM, sentence.text, recovery.low, Origin.AGENT)
            block = render(HEADING, [BlockLesson(item)], 1, receipt_id=receipt_id)
        now_us = self._clock.now_us()
        receipt = Receipt(
            *(receipt_id, ReceiptKind.MEMORY, now_us, receipt_items(block.items)),
            held_back=(recovery.recovery_id,) if silent else (),
            turn_id=failed.turn_id,
            session_id=failed.session_id,
        )
        if await self._receipts.issue(scope, receipt) != receipt:
            return ContextBlock()
        trial = Trial(recovery.recovery_id, 1, Arm.HELD_BACK if silent else Arm.SHOWN, SILENT_FRACTION)
        await self._trials.assign(scope, receipt_id, (trial,), now_us)
        return block

    def learned(self, scope: Scope, signatures: Iterable[str]) -> None:
        """There are new observations of these signatures."""
        self._lessons += 1
        for signature in signatures:
            self._held.pop((scope, signature), None)

    async def _recovery(self, scope: Scope, signature: str) -> Recovery | None:
        now_s = self._clock.monotonic_s()
        read_s, recovery = self._held.get((scope, signature), (None, None))
        if read_s is not None and now_s - read_s <= FRESH_S:
            return recovery
        lessons = self._lessons
        recovery = await _counted(signature, await self._store.of_signature(scope, signature))
        if len(self._held) >= _MOST_HELD:
            self._held.clear()
        if lessons == self._lessons:
            self._held[scope, signature] = (now_s, recovery)
        return recovery


async def _counted(signature: str, rows: Collection[Observation]) -> Recovery | None:
    if len(rows) <= _AT_ONCE_ROWS:
        return recovery_of(signature, rows)
    return await asyncio.to_thread(recovery_of, signature, rows)
