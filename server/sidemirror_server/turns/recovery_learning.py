"""Learns from turns that have ended what followed their failing calls.

Runs beside all calls. A turn is unlearned from its end on (`memory/recoveries/observations.py`); it is claimed, read
from the log and folded, and what it taught is kept. A crash leaves it unlearned, so that it is claimed again; keeping
it twice changes nothing. A failure that nothing has followed waits for the session's next turn, an hour at most.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping

import msgspec

from sidemirror_server.memory.recoveries.finding import RecoveryFinder, receipt_id_of
from sidemirror_server.memory.recoveries.observation import NO_ATTEMPT, Move, Observation, Where, follows, recovery_id
from sidemirror_server.memory.recoveries.observations import Observations, UnlearnedTurn
from sidemirror_server.memory.recoveries.sentences import left_to_say
from sidemirror_server.memory.recoveries.starter import move_of
from sidemirror_server.memory.recoveries.trail import (
    Failure,
    Trail,
    apply,
    begin,
    came,
    close,
    end,
    told,
    unadvised,
    waits,
)
from sidemirror_server.memory.trials.trials import Settled, Trials
from sidemirror_server.thinking.record import Advised, Directive, recorded_in
from sidemirror_server.trace.event import NAMELESS, Event, ToolReturned, TurnFinished, TurnStarted
from sidemirror_server.trace.log import HeadKey, TurnHead, TurnLog, TurnStanding
from sidemirror_server.trace.receipts import RECOVERY_ITEM, Receipt, ReceiptItem, Receipts, ShownIn, named_in
from sidemirror_server.vocabulary.block import BlockItem
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.giving_way import Awaited, GivesWay
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import Scope, Serves, whose

_log = logging.getLogger(__name__)

# How long a claimed turn is left to whoever claimed it. Chosen here: as long as jobs are (`assembly/assembled.py`).
LEASE_S = 10.0
# How long a failure waits for the session's next turn. Chosen here: a user who was asked has answered by then.
LATEST_US = 3_600 * 1_000_000
# How often to look for turns that have ended while turns end here. Chosen here: the next session of an agent that fails
# again knows. `assembly/looks.py` says when to look for what other sidecars left behind.
_BUSY_EVERY_S = 0.25
_BUSY_FOR_S = 5.0
# Turns of one claim, and claims after which a turn is given up.
_AT_ONCE = 10
_MOST_ATTEMPTS = 5
# Limits of one read of the log. Chosen here: some milliseconds.
_PAGE = 200
_PAGE_BYTES = 1024 * 1024
# The most observations of a turn, the first ones; the most receipts of a turn that are read, and that its results name.
# Each of these is a read of its own. Chosen here: whoever sends spans may name one in each of 10,000 results.
_MOST_OF_TURN = 200
_MOST_RECEIPTS = 1_000
_MOST_NAMED = 100


class RecoveryLearner:
    """Learns recoveries from the turns of the scopes served."""

    def __init__(
        self,
        log: TurnLog,
        store: Observations,
        receipts: Receipts,
        trials: Trials,
        finder: RecoveryFinder,
        serves: Serves,
        clock: Clock,
        awaited: Awaited,
    ) -> None:
        """`awaited`: whom the learning makes way for."""
        self._log = log
        self._store = store
        self._receipts = receipts
        self._trials = trials
        self._finder = finder
        self._serves = serves
        self._clock = clock
        self._outage = Outage(_log, "recoveries_not_learned", "recoveries_learned_again", clock)
        self._failures = Outage(_log, "turn_not_learned", "turns_learned_again", clock)
        self._ended = asyncio.Event()
        self._busy_until_s = 0.0
        self._gives_way = GivesWay(awaited)

    def turn_ended(self) -> None:
        """A turn has ended in this process."""
        self._busy_until_s = self._clock.monotonic_s() + _BUSY_FOR_S
        self._ended.set()

    async def run(self) -> None:
        """Learns from turns that end in this process, until cancelled."""
        while True:
            try:
                found = await self.learn_due()
            except SidemirrorError as error:
                self._outage.failed({"reason": str(error)})
                found = 0
            else:
                self._outage.worked()
            if found < _AT_ONCE:
                await self._rest()

    async def learn_due(self) -> int:
        """Learns from the turns of one claim; returns how many there were. Raises what the store raises."""
        await self._gives_way()
        now_us = self._clock.now_us()
        due = await self._store.claim(self._serves, now_us, now_us + int(LEASE_S * 1e6), _AT_ONCE)
        learned: dict[Scope, set[str]] = {}
        for turn in due:
            try:
                learned.setdefault(turn.scope, set()).update(await self._learn(turn))
            except SidemirrorError as error:
                # It is due again when the lease has ended.
                told = {**whose(turn.scope), "turn_id": turn.turn_id, "reason": str(error)}
                self._failures.failed(told)
                if turn.attempts >= _MOST_ATTEMPTS:
                    await self._store.keep(turn.scope, turn.turn_id, ())
                    _log.warning("turn_given_up", extra=told)
            else:
                self._failures.worked(whose(turn.scope))
        # Once for all of them: agents that fail at the same thing teach the same signature.
        for scope, signatures in learned.items():
            await self._finder.learned(scope, signatures)
        return len(due)

    async def _rest(self) -> None:
        if self._clock.monotonic_s() < self._busy_until_s:
            await asyncio.sleep(_BUSY_EVERY_S)
            return
        self._ended.clear()
        await self._ended.wait()

    async def look(self) -> bool:
        """Learns from turns that are due, wherever they ended; whether there were any. `run` goes on with the rest.
        Raises what the store raises."""
        found = await self.learn_due()
        if found >= _AT_ONCE:
            self._ended.set()
        return found > 0

    async def _learn(self, turn: UnlearnedTurn) -> set[str]:
        """Keeps what a turn taught; returns the signatures of it."""
        await self._gives_way()
        head = await self._log.head(turn.scope, turn.turn_id)
        if head is None or head.standing is TurnStanding.OPEN:
            await self._store.keep(turn.scope, turn.turn_id, ())
            return set()
        fold = _Fold(turn.scope, self._log, self._store, self._receipts, self._finder, self._gives_way)
        before = await self._before(turn.scope, head)
        if before is not None:
            await fold.turn(before)
        await fold.turn(head)
        if before is not None:
            fold.observations += end(fold.trail, before.turn_id)
        if turn.is_late:
            fold.observations += end(fold.trail)
        found = fold.shadowed()[:_MOST_OF_TURN]
        await self._gives_way()
        again_us = max(head.updated_us, self._clock.now_us()) + LATEST_US if waits(fold.trail) else None
        await self._store.keep(turn.scope, turn.turn_id, found, again_us)
        await self._settle(turn.scope, found, {key: one for key, one in fold.shown.items() if key not in fold.late})
        return {one.signature for one in found}

    async def _before(self, scope: Scope, head: TurnHead) -> TurnHead | None:
        """The turn of the session before this one, if it has ended."""
        earlier = await self._log.heads(scope, head.session_id, None, HeadKey(head.started_us, head.turn_id), 1)
        found = next(iter(earlier), None)
        return None if found is None or found.standing is TurnStanding.OPEN else found

    async def _settle(self, scope: Scope, found: list[Observation], shown: Mapping[str, Receipt]) -> None:
        """The trials of what was shown or held back: whether the next attempt worked, where there was one."""
        first: dict[str, Observation] = {}
        for one in found:
            first.setdefault(receipt_id_of(scope, one.where.turn_id, one.signature), one)
        for receipt_id, one in first.items():
            if receipt_id in shown and one.move.kind not in NO_ATTEMPT:
                trials = await self._trials.of_receipt(scope, receipt_id)
                settled = [Settled(trial, one.worked) for trial in trials]
                await self._trials.settle(scope, receipt_id, settled, shown[receipt_id].time_us)


def _where(scope: Scope, head: TurnHead, started: TurnStarted, recorded_us: int) -> Where:
    """The turn, and who tells of it. Spans that name no conversation are of one identity, whoever sent them."""
    if not started.from_spans:
        return Where(scope, head.turn_id, head.session_id, started.caller or head.session_id)
    conversation = "" if started.own_session else str(head.session_id)
    identity = started.caller or conversation or NAMELESS
    return Where(scope, head.turn_id, head.session_id, identity, conversation, recorded_us)


def _own(one: Observation) -> Observation:
    """The observation. What was done in the place of what the starter pack says is the agent's own doing: it counts
    as a try without advice, or nothing else would be learned of such a failure. What it says may have been done before
    it was told: such a try counts for nothing."""
    if not one.advised or one.followed:
        return one
    said = move_of(one.signature, one.advised)
    return one if said is None or follows(said, one.move) else msgspec.structs.replace(one, advised="")


def _recovery_in(items: Iterable[BlockItem | ReceiptItem]) -> str:
    """The id of the recovery among the items of a block or a receipt; empty if there is none."""
    return next((item.id for item in items if item.kind == RECOVERY_ITEM), "")


class _Fold:
    """Turns of one session, folded in order. `shown`: the receipts of recoveries that the turns were told, or that were
    held back from them, by id. `late`: the ids of those of which an agent was told when it had gone on."""

    def __init__(
        self,
        scope: Scope,
        log: TurnLog,
        store: Observations,
        receipts: Receipts,
        finder: RecoveryFinder,
        gives_way: GivesWay,
    ) -> None:
        self._scope = scope
        self._log = log
        self._store = store
        self._receipts = receipts
        self._finder = finder
        self._gives_way = gives_way
        self.trail = Trail()
        self.observations: list[Observation] = []
        self.shown: dict[str, Receipt] = {}
        self.late: set[str] = set()
        # What the present turn was told, by signature and the id of the recovery: the move that was said, None if the
        # recovery is of another signature.
        self._said: dict[tuple[str, str], Move | None] = {}
        # Of a turn of spans: the receipts of what was asked for its session while it ran, the latest first.
        self._asked: list[Receipt] = []
        # The ids of the recoveries of which the present turn has heard by now, because its agent asked.
        self._heard: list[str] = []
        # The receipts that results of the present turn name, by id; None for one that there is not.
        self._named: dict[str, Receipt | None] = {}
        # The ids of receipts whose advice is in the log.
        self._recorded: set[str] = set()
        # What shadow mode kept, by turn and signature: the id of the recovery, and the tokens of its block.
        self._kept: dict[tuple[str, str], tuple[str, int]] = {}

    async def turn(self, head: TurnHead) -> None:
        """Folds the next turn. Raises what the store raises."""
        receipts = await self._receipts.of_turn(self._scope, head.turn_id, _MOST_RECEIPTS)
        self.shown |= {receipt.receipt_id: receipt for receipt in receipts}
        self._said.clear()
        self._named.clear()
        begin(self.trail, Where(self._scope, head.turn_id, head.session_id, head.session_id))
        after, outcome = 0, ""
        while entries := await self._log.read(self._scope, head.turn_id, after, _PAGE, _PAGE_BYTES):
            after = entries[-1].sequence
            for entry in entries:
                await self._gives_way()
                recorded = recorded_in(entry)
                if isinstance(recorded, Event):
                    outcome = await self._event(head, recorded, outcome, entry.at_us)
                elif isinstance(recorded, Directive) and isinstance(recorded.what, Advised):
                    self._advised(head, recorded, recorded.what)
        for receipt in receipts:
            if receipt.place is ShownIn.ADVICE and receipt.receipt_id not in self._recorded:
                self._came(receipt.receipt_id, _recovery_in(receipt.items), never=True)
        self.observations += close(self.trail, outcome)

    def shadowed(self) -> list[Observation]:
        """The observations. The first one of a turn and a signature for which advice was kept has it."""
        kept, found = dict(self._kept), list[Observation]()
        for one in map(_own, self.observations):
            recovery, tokens = kept.pop((one.where.turn_id, one.signature), ("", 0))
            found.append(msgspec.structs.replace(one, shadow=recovery, shadow_tokens=tokens) if recovery else one)
        return found

    def _advised(self, head: TurnHead, directive: Directive, what: Advised) -> None:
        recovery = _recovery_in(what.block.items)
        if recovery and directive.is_shadow:
            self._kept[head.turn_id, what.signature] = (recovery, what.block.token_count)
        elif recovery:
            self._recorded.add(what.block.receipt_id)
            self._came(what.block.receipt_id, recovery)

    def _came(self, receipt_id: str, recovery: str, *, never: bool = False) -> None:
        if recovery and came(self.trail, recovery, never=never):
            self.late.add(receipt_id)

    async def _event(self, head: TurnHead, event: Event, outcome: str, recorded_us: int) -> str:
        if isinstance(event.what, TurnStarted):
            begin(self.trail, _where(self._scope, head, event.what, recorded_us))
            self._asked, self._heard = await self._asked_in(head, event.what), []
        await self._hear(event.at_us)
        failed = apply(self.trail, event)
        if isinstance(event.what, ToolReturned):
            await self._answered(event.what.content)
        if failed is not None:
            await self._mark(head, failed)
            await self._hear(event.at_us)
        return event.what.outcome if isinstance(event.what, TurnFinished) else outcome

    async def _mark(self, head: TurnHead, failed: Failure) -> None:
        """Marks a failure of whose kind the turn was told."""
        receipt = self.shown.get(receipt_id_of(self._scope, head.turn_id, failed.signature))
        recovery = "" if receipt is None else _recovery_in(receipt.items)
        if recovery:
            await self._tell(failed.failure_id, failed.signature, recovery)

    async def _asked_in(self, head: TurnHead, started: TurnStarted) -> list[Receipt]:
        """What was asked for the session of a turn of spans while it ran. The id of such a turn is not known before it
        is made, so that whoever asks names the conversation."""
        if not started.from_spans:
            return []
        times = (started.began_us, started.ended_us)
        found = await self._receipts.of_session(self._scope, head.session_id, *times, _MOST_RECEIPTS)
        return [one for one in reversed(found) if one.place is ShownIn.RECOVERIES and not one.turn_id]

    async def _hear(self, at_us: int) -> None:
        """Marks the failures that the turn was told of until now, and that its agent has not gone on from."""
        while self._asked and self._asked[-1].time_us <= at_us:
            self._note(self._asked.pop())
        if self._heard:
            await self._tell_all(unadvised(self.trail))

    async def _answered(self, content: str) -> None:
        """Marks the failures of which a call has told the agent, as those of MCP do: their results name the receipt."""
        receipt_id = named_in(content)
        if receipt_id and receipt_id not in self._named and len(self._named) < _MOST_NAMED:
            self._named[receipt_id] = await self._receipts.get(self._scope, receipt_id)
        receipt = self._named.get(receipt_id)
        if receipt is not None:
            self._note(receipt)
            await self._tell_all(unadvised(self.trail, by_call=True))

    def _note(self, receipt: Receipt) -> None:
        recovery = _recovery_in(receipt.items)
        if recovery and recovery not in self._heard:
            self._heard.append(recovery)

    async def _tell_all(self, failures: Iterable[tuple[str, str]]) -> None:
        for failure_id, signature in failures:
            for recovery in self._heard:
                await self._tell(failure_id, signature, recovery)

    async def _tell(self, failure_id: str, signature: str, recovery: str) -> None:
        """Marks a failure with the recovery that it was told, if that is one of its signature."""
        key = (signature, recovery)
        if key not in self._said:
            move = await self._told(signature, recovery)
            self._said[key] = None if move is None else left_to_say(move, self.trail.looked_up)
        if (said := self._said[key]) is not None:
            told(self.trail, failure_id, recovery, said)

    async def _told(self, signature: str, recovery: str) -> Move | None:
        """The move that this recovery is, as it is told now, as it was learned, or of the starter pack."""
        known = self._finder.told_as(self._scope, signature, recovery) or move_of(signature, recovery)
        if known is not None:
            return known
        rows = await self._store.of_signature(self._scope, signature)
        return next((row.move for row in rows if recovery_id(signature, row.move) == recovery), None)
