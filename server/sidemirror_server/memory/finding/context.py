"""Finds the lessons that fit a task, as a block with a receipt, and the lessons that fit a failed call.

Lessons about a failure of the task come first, by its signature. Lessons for a tool or a kind of error of the task
follow, then similar ones. A lesson is left out if it applies to other tools or errors only, if its `not_when` describes
the task, or if another lesson supersedes it.
"""

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence

import msgspec

from sidemirror_server.memory.finding.fits import (
    OF_SHELL,
    SILENCED,
    Applies,
    Candidate,
    ContextTask,
    candidate_of,
    chosen,
    fit_of,
    held_in_quarantine,
    is_excluded,
)
from sidemirror_server.memory.finding.ranking import Ranked
from sidemirror_server.memory.finding.recall import Question, Recall
from sidemirror_server.memory.finding.search import Filter, MemorySearch
from sidemirror_server.memory.finding.worth_telling import is_about, names_missing, says_nothing_at_failure
from sidemirror_server.memory.kin.graph import FAN_OUT, MemoryGraph
from sidemirror_server.memory.kin.links import Node, NodeKind, node_of
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.kin.superseding import hidden, newer_than
from sidemirror_server.memory.record import LinkKind, MemoryKind, MemoryRecord, MemoryState
from sidemirror_server.memory.trials.evidence import Arm
from sidemirror_server.memory.trials.holdout import (
    HELD_BACK,
    NOTHING_DECIDED,
    Decided,
    decided,
    drawn,
    held_of,
    without,
)
from sidemirror_server.memory.trials.trials import Trials
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import Advice, AdviceKind
from sidemirror_server.trace.failure import category_of
from sidemirror_server.trace.receipts import Fit, Receipt, ReceiptKind, Receipts, ShownIn, receipt_items
from sidemirror_server.vocabulary.arbiter import AS_DESIGNED, HEADING, Offers, Telling, arbitrated
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson, ContextBlock, Omitted, has_no_room
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import NotPermitted, StoreFull, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.ids import derived_id
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.silence import SilenceReason
from sidemirror_server.vocabulary.telling import says_no_lesson, without_references
from sidemirror_server.vocabulary.terms import telling_terms

_KINDS = frozenset(kind.value for kind in MemoryKind)
# How many of a turn's receipts are read, from the first on. Chosen here: more blocks than a turn requests.
_MOST_RECEIPTS = 200
DEFAULT_ITEMS = 5
# How many candidates are read for each item of a block. Chosen here: some may not apply, or may repeat another lesson.
_CANDIDATES = 4
# Contract: Receipt.omitted has at most 20.
_MOST_OMITTED = 20
# How long an answer without lessons waits until it is noted. Chosen here: a commit of a disk that is not slow.
_NOTE_S = 0.1


class FailedCall(msgspec.Struct, frozen=True):
    """A failed call: its tool, and its error text."""

    tool: str
    text: str


class Fitting(msgspec.Struct, frozen=True):
    """Lessons that fit a task, the best first, and lessons that were found and left out. `strategy_of`: by the id of
    each strategy among them, the id of its reflection. `fits`: by its id, by what each lesson fits. `knows_any`: the
    scope has, or had, a memory at all. `is_off`: a policy turns lessons off."""

    lessons: tuple[BlockLesson, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    strategy_of: dict[str, str] = {}
    fits: dict[str, Fit] = {}
    knows_any: bool = True
    is_off: bool = False


class MemoryContext:
    """Makes blocks of the memories that fit."""

    def __init__(
        self,
        recall: Recall,
        search: MemorySearch,
        graph: MemoryGraph,
        receipts: Receipts,
        trials: Trials,
        policies: PoliciesInForce,
        clock: Clock,
        telling: Telling = AS_DESIGNED,
    ) -> None:
        self._telling = telling
        self._policies = policies
        self._recall = recall
        self._search = search
        self._graph = graph
        self._receipts = receipts
        self._trials = trials
        self._clock = clock

    async def build(
        self,
        scope: Scope,
        task: ContextTask,
        receipt_id: str,
        max_items: int,
        max_tokens: int,
        holdout_fraction: float = 0.0,
    ) -> ContextBlock:
        """The block, with a durable receipt; an empty block without one if nothing fits, which is noted of a turn. Each
        lesson of the finished block is held back for `holdout_fraction` of the receipts. Nothing takes its place, so
        that both arms are comparable. A turn's first receipt decides for the whole turn. `max_tokens` 0: as many as at
        a turn's start. Raises what the store raises."""
        found = await self.fitting(scope, task, max_items)
        block = arbitrated(
            Offers(memory=found.lessons), max_items, max_tokens or self._telling.start_tokens, receipt_id
        )
        before = await self.decided(scope, task.turn_id, receipt_id) if block.items else NOTHING_DECIDED
        # In shadow mode everything is held back.
        fraction = 1.0 if self._telling.is_shadow else holdout_fraction
        trials = drawn(block, found.strategy_of, receipt_id, fraction, before)
        held = (
            *held_of((item.id for item in block.items), found.strategy_of, before),
            *(trial.memory_id for trial in trials if trial.arm is Arm.HELD_BACK),
        )
        if self._telling.is_shadow:
            held = tuple(item.id for item in block.items)
        shown = without(block, HEADING, found.lessons, held, receipt_id) if held else block
        shown = msgspec.structs.replace(shown, omitted=(*found.omitted, *shown.omitted))
        left_out = (*found.omitted, *block.omitted)[:_MOST_OMITTED] if task.turn_id else ()
        if not block.items:
            await self._note_nothing(scope, task, found, left_out)
            return shown
        receipt = Receipt(
            *(receipt_id, ReceiptKind.MEMORY, self._clock.now_us()),
            # The words that matched are contents: without a turn and a session no erasure would find them.
            items=receipt_items(shown.items, found.fits, with_words=bool(task.turn_id or task.session_id)),
            held_back=held,
            turn_id=task.turn_id,
            session_id=task.session_id,
            place=ShownIn.MEMORY_CONTEXT,
            omitted=left_out,
        )
        await self._trials.issue(scope, receipt, trials)
        return shown

    async def _note_nothing(
        self, scope: Scope, task: ContextTask, found: Fitting, left_out: tuple[Omitted, ...]
    ) -> None:
        """Keeps that a turn's agent asked and was given nothing, once for each reason. The answer waits for it for a
        moment, and does not depend on it."""
        if not task.turn_id:
            return
        silence = SilenceReason.OFF_BY_POLICY if found.is_off else why_none(left_out, knows_any=found.knows_any)
        receipt = Receipt(
            # A turn has few of them: those that decide what it is told must be among its first ones.
            derived_id(scope, "nothing recalled", f"{task.turn_id}\0{silence}"),
            *(ReceiptKind.MEMORY, self._clock.now_us()),
            turn_id=task.turn_id,
            session_id=task.session_id,
            place=ShownIn.MEMORY_CONTEXT,
            omitted=left_out,
            silence=silence,
        )
        with contextlib.suppress(StoreUnavailable, StoreFull, WrongState, NotPermitted, TimeoutError):
            async with asyncio.timeout(_NOTE_S):
                await self._receipts.issue(scope, receipt)

    async def fitting(self, scope: Scope, task: ContextTask, max_items: int, meaning_s: float | None = None) -> Fitting:
        """The lessons that could be shown, here or in a caller's own block; none while a policy turns lessons off.
        `meaning_s`: how long to wait for the task's vector, in place of the default. Raises what the store raises."""
        advice = await self._policies.advice(scope)
        if not advice.gives(AdviceKind.LESSONS):
            return Fitting(is_off=True)
        if await self._recall.has_none(scope):
            return Fitting(knows_any=False)  # saves the start of a search process
        candidates = await self._candidates(scope, task, max_items * _CANDIDATES, meaning_s)
        kept, omitted = chosen(candidates, task, advice)
        if not kept:
            omitted = (*omitted, *await self._quarantined(scope, task, max_items * _CANDIDATES, advice))
        of = {one.memory.memory_id: one.memory.strategy_of for one in kept if one.memory.strategy_of}
        fits = {one.memory.memory_id: fit_of(one, task) for one in kept}
        return Fitting(tuple(_lesson(one) for one in kept), omitted, of, fits)

    async def _quarantined(self, scope: Scope, task: ContextTask, limit: int, advice: Advice) -> tuple[Omitted, ...]:
        """The lessons that would fit, were they not in quarantine. They are named where nothing else fits: whoever asks
        why nothing was told has to learn of them. By words alone, since the task's vector would be waited for again."""
        if not await self._recall.has_any(scope, MemoryState.QUARANTINED):
            return ()
        candidates = await self._candidates(scope, task, limit, 0.0, MemoryState.QUARANTINED)
        fitting, _ = chosen(candidates, task, advice)
        return tuple(Omitted(one.memory.memory_id, held_in_quarantine(one.memory)) for one in fitting[:DEFAULT_ITEMS])

    async def decided(self, scope: Scope, turn_id: str, but: str = "") -> Decided:
        """The lessons that this turn's blocks have held back or shown so far, ignoring the receipt `but`. Raises what
        the store raises."""
        receipts = await self._receipts.of_turn(scope, turn_id, _MOST_RECEIPTS) if turn_id else ()
        others = [receipt for receipt in receipts if receipt.receipt_id != but]
        held = {memory_id for receipt in others for memory_id in receipt.held_back}
        shown = {item.id for receipt in others for item in receipt.items if item.kind in _KINDS}
        if not held and not shown:
            return NOTHING_DECIDED
        if self._telling.is_shadow:
            # Only kept: what would be told later in the turn does not change by it.
            held, shown = set(), held | shown
        records = await self._recall.records(scope, sorted(held | shown))
        return decided(held, shown, {one: memory.strategy_of for one, memory in records.items() if memory.strategy_of})

    async def answering(
        self,
        scope: Scope,
        failures: Sequence[FailedCall],
        task: str,
        turn_id: str = "",
        but: Collection[str] = (),
        *,
        has_shell: bool = False,
    ) -> tuple[BlockLesson, ...]:
        """The lessons for a turn's failed calls, the best first: about the same failure, or this kind of error of this
        tool and about this error. Leaves out the memories `but`, those that the turn holds back, those that a policy
        silences, and with a shell those that no person reviewed. Raises what the store raises."""
        advice = await self._policies.advice(scope)
        if not advice.gives(AdviceKind.LESSONS) or await self._recall.has_none(scope):
            return ()
        signed = [(failure, error_signature(failure.tool, failure.text)) for failure in failures]
        categories = tuple(category_of(failure.text, failure.tool).value for failure in failures)
        calls = {(failure.tool, category) for failure, category in zip(failures, categories, strict=True)}
        told = ContextTask(
            "\n".join((task, *(failure.text for failure in failures))),
            tools=tuple(dict.fromkeys(failure.tool for failure in failures if failure.tool)),
            signatures=tuple(dict.fromkeys(signature for _, signature in signed if signature)),
        )
        found = await self._applying(scope, told, _CANDIDATES * len(failures))
        superseded = await self._superseded(scope, {memory.memory_id: memory for memory in found})
        of = {memory.memory_id: memory.strategy_of for memory in found if memory.strategy_of}
        before = await self.decided(scope, turn_id) if found else NOTHING_DECIDED
        left_out = {*but, *superseded, *held_of((memory.memory_id for memory in found), of, before)}
        asked = telling_terms(told.task)
        errors = tuple(failure.text for failure in failures)
        naming = {memory.memory_id for memory in found if names_missing(memory, errors)}
        fitting = [
            one
            for one in (candidate_of(memory, None, told, calls) for memory in found if memory.memory_id not in left_out)
            if advice.shows(one.memory.memory_id, one.memory.strategy_of, *one.memory.derived_from)
            if _is_for(one, errors, naming) and not is_excluded(one.memory, asked)
            if one.memory.is_reviewed or not has_shell
            if not says_nothing_at_failure(one.memory, errors)
            if not says_no_lesson(one.memory.content)
        ]
        # Strategies come before reflections.
        fitting.sort(key=lambda one: (-one.applies, one.memory.kind is MemoryKind.REFLECTION, -one.memory.importance))
        return tuple(_lesson(one) for one in fitting)

    async def _applying(
        self, scope: Scope, task: ContextTask, limit: int, state: MemoryState = MemoryState.ACTIVE
    ) -> list[MemoryRecord]:
        """The memories that name a tool or error of the task, or are about one of its failures."""
        named, alike = await asyncio.gather(
            self._search.labelled(scope, task.tools, task.error_categories, Filter(states=(state,)), limit),
            self._of_failures(scope, task.signatures),
        )
        ids = [*alike, *(facts.memory_id for facts in named)]
        records = await self._recall.records(scope, list(dict.fromkeys(ids)))
        return [memory for memory in records.values() if memory.state is state]

    async def _of_failures(self, scope: Scope, signatures: Sequence[str]) -> list[str]:
        """The ids of the reflections on these failures and of their strategies."""
        if not signatures:
            return []
        keys = tuple(Node(NodeKind.SIGNATURE, signature).key for signature in signatures)
        telling = await self._graph.around(scope, keys, (LinkKind.MENTIONS,), FAN_OUT)
        reflections = tuple(dict.fromkeys(link.source for link in telling))
        if not reflections:
            return []
        strategies = await self._graph.around(scope, reflections, (LinkKind.STRATEGY_OF,), FAN_OUT)
        return [node_of(key).name for key in (*(link.source for link in strategies), *reflections)]

    async def _superseded(self, scope: Scope, records: Mapping[str, MemoryRecord]) -> dict[str, str]:
        """The memories that an active memory supersedes: by the superseded id, the id of the active one."""
        newer = await newer_than(self._graph, scope, records) if records else {}
        if not newer:
            return {}
        read = await self._recall.records(scope, sorted({one for some in newer.values() for one in some}))
        active = {memory_id for memory_id, memory in read.items() if memory.state is MemoryState.ACTIVE}
        return hidden(records, newer, active)

    async def _candidates(
        self,
        scope: Scope,
        task: ContextTask,
        limit: int,
        meaning_s: float | None,
        state: MemoryState = MemoryState.ACTIVE,
    ) -> list[Candidate]:
        """The memories in this state that apply, then the similar ones; both best first."""
        wanted = Filter(states=(state,))
        applying = await self._applying(scope, task, limit, state)
        found: Sequence[Ranked] = ()
        if task.task.strip():
            found = await self._recall.ranked(scope, Question(task.task, limit, wanted, meaning_s=meaning_s))
        alike = {one.facts.memory_id: one for one in found[:limit]}
        known = {memory.memory_id: memory for memory in applying}
        others = await self._recall.records(scope, [memory_id for memory_id in alike if memory_id not in known])
        records = {**known, **others}
        superseded = await self._superseded(scope, records)
        candidates = [
            candidate_of(memory, alike.get(one), task, newer=superseded.get(one, "")) for one, memory in records.items()
        ]
        # Memories that apply come first; within both groups the most similar come first.
        return sorted(candidates, key=lambda one: (-one.applies, -one.score, -one.memory.importance))


def _is_for(one: Candidate, errors: Sequence[str], naming: Collection[str]) -> bool:
    """Whether a lesson is about one of these errors. `naming`: the memories that name what is missing: one that is for
    the tool, and came of no failure, is told there with its strategy."""
    if one.applies is Applies.TO_THE_FAILURE:
        return True
    if one.applies is Applies.TO_THE_CALL:
        return is_about(one.memory, errors)
    is_by_hand = one.applies is Applies.IN_PART and not one.memory.error_signature
    return is_by_hand and (one.memory.memory_id in naming or one.memory.strategy_of in naming)


def why_none(omitted: Sequence[Omitted], *, knows_any: bool) -> SilenceReason:
    """Why a block has no lesson, though the stores were read. `knows_any`: there is, or was, a memory."""
    reasons = {one.reason for one in omitted}
    if not knows_any and not reasons:
        return SilenceReason.NOTHING_KNOWN
    if HELD_BACK in reasons:
        return SilenceReason.HELD_BACK
    if SILENCED in reasons:
        return SilenceReason.SILENCED
    if OF_SHELL in reasons:
        return SilenceReason.SHELL
    # A block leaves out what fits only where it has no room for it.
    return SilenceReason.NO_ROOM if any(map(has_no_room, reasons)) else SilenceReason.NOTHING_FITS


def _lesson(one: Candidate) -> BlockLesson:
    memory = one.memory
    # Earlier versions of the rules wrote the ids of events into lessons.
    text = without_references(memory.content)
    item = BlockItem(
        *(memory.memory_id, memory.version, memory.kind.value, text, one.score, memory.origin, memory.is_reviewed)
    )
    label = "Strategy" if memory.kind is MemoryKind.STRATEGY else "Reflection"
    return BlockLesson(item, label, says_whose=True)
