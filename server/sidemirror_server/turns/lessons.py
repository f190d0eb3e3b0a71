"""Blocks of lessons for a turn. The plan's block has lessons of goals and of reflective memory. The block for failed
calls has only the latter. Each block has one receipt."""

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from typing import TypeVar

import msgspec

from sidemirror_server.goals.context import GoalContexts, GoalLessons
from sidemirror_server.memory.finding.context import DEFAULT_ITEMS, FailedCall, Fitting, MemoryContext, why_none
from sidemirror_server.memory.finding.fits import ContextTask
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.trials.holdout import HELD_BACK, held_of
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import Advice, AdviceKind
from sidemirror_server.thinking.record import SeenError
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import ContextWish, TurnStarted
from sidemirror_server.trace.receipts import Receipt, ReceiptKind, Receipts, ShownIn, receipt_items
from sidemirror_server.vocabulary.arbiter import AS_DESIGNED, FAILURE_ITEMS, GOAL_ITEMS, Offers, Telling, arbitrated
from sidemirror_server.vocabulary.block import BlockLesson, ContextBlock, Omitted
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.ids import DirectiveId, TurnId, derived_id
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.silence import SilenceReason

# How long the start of a turn waits for the policy and then for the lessons of goals and memory, which are read
# concurrently; and then for the receipt.
# Chosen here: many times what a healthy store takes, including a sidecar's first search.
_READ_S = 1.0
_KEEP_S = 0.5
# How much of _READ_S the task's embedding may take; without it, lessons are found by words. Chosen here: half.
_MEANING_S = 0.5

# For how many of a turn's last failures lessons are looked up. Chosen here: as many as a reflection is about.
_MOST_FAILURES = 3

# The turn goes on without a block: the store is away or slow, or an erasure has taken a lesson or the turn itself.
_WITHOUT = (StoreUnavailable, StoreFull, TimeoutError, WrongState)

_T = TypeVar("_T")

_OFF = "a policy turns lessons off: none from earlier work"
_NONE = "the store is away: no lessons from earlier work"
_NO_GOALS = "the store of goal reflections is away: no lessons from earlier goals"
_NO_MEMORY = "reflective memory did not answer in time: none of its lessons"


class StartLessons(msgspec.Struct, frozen=True):
    """What the plan of a turn gets. `block`: None if the turn did not ask for it, if a policy turns lessons off, or if
    nothing could be read in time. `silence`: why there is no lesson; None if there is one."""

    block: ContextBlock | None = None
    warnings: tuple[str, ...] = ()
    silence: SilenceReason | None = None


class FailureLessons(msgspec.Struct, frozen=True):
    """Lessons for failed calls, the best first. `advice`: what policies withheld when they were found; None if the
    store was away."""

    lessons: tuple[BlockLesson, ...] = ()
    advice: Advice | None = None


class Lessons:
    """Finds lessons for turns."""

    def __init__(
        self,
        goals: GoalContexts,
        memory: MemoryContext | None,
        receipts: Receipts,
        policies: PoliciesInForce,
        clock: Clock,
        telling: Telling = AS_DESIGNED,
    ) -> None:
        """`memory` None: reflective memory is turned off."""
        self._telling = telling
        self._policies = policies
        self._goals = goals
        self._memory = memory
        self._receipts = receipts
        self._clock = clock

    async def for_turn(
        self,
        scope: Scope,
        turn_id: TurnId,
        started: TurnStarted,
        wish: ContextWish | None,
        failed: Sequence[SeenError] = (),
        *,
        has_shell: bool = False,
    ) -> StartLessons:
        """The block that `wish` asks for, and warnings for the turn's plan. `failed`: failures left over from the
        session's last turn. `has_shell`: only lessons that a person reviewed. Raises nothing but cancellation."""
        if wish is None:
            return StartLessons(silence=SilenceReason.NOT_ASKED)
        ends_s = asyncio.get_running_loop().time() + _READ_S
        advice = await _in_time(self._policies.advice(scope), ends_s)
        if advice is not None and not advice.gives(AdviceKind.LESSONS):
            return StartLessons(None, (_OFF,), SilenceReason.OFF_BY_POLICY)
        receipt = Receipt(
            derived_id(scope, "context of turn", turn_id),
            *(ReceiptKind.TURN, self._clock.now_us()),
            turn_id=turn_id,
            session_id=started.session_id,
            goal_id=wish.goal_id,
            place=ShownIn.PLAN,
        )
        task = wish.task or started.task
        goals, memory = await asyncio.gather(
            # A goal's lessons are not reviewed.
            _none()
            if has_shell
            else _in_time(self._goals.lessons(*(scope, wish.goal_id, task, receipt.time_us)), ends_s),
            self._of_memory(
                *(scope, wish),
                ContextTask(
                    *(task, wish.tools),
                    turn_id=turn_id,
                    signatures=_signatures(failed),
                    has_shell=has_shell,
                ),
                ends_s,
            ),
        )
        if goals is None and (memory is None or self._memory is None):
            return StartLessons(None, (_NONE,), SilenceReason.STORE_AWAY)
        warnings = (*((_NO_GOALS,) if goals is None else ()), *((_NO_MEMORY,) if memory is None else ()))
        found, fitting = goals or GoalLessons(), memory or Fitting()
        offers = Offers(goal=found.own, alike=found.alike, memory=fitting.lessons)
        most = wish.max_items or DEFAULT_ITEMS
        of_goals = wish.max_items or GOAL_ITEMS
        block = arbitrated(offers, most, self._telling.start_tokens, receipt.receipt_id, of_goals)
        block = msgspec.structs.replace(block, omitted=(*fitting.omitted, *block.omitted))
        if block.items:
            try:
                async with asyncio.timeout(_KEEP_S):
                    items = receipt_items(block.items, fitting.fits)
                    await self._receipts.issue(scope, msgspec.structs.replace(receipt, items=items))
            except _WITHOUT:
                return StartLessons(None, (_NONE,), SilenceReason.STORE_AWAY)
            return StartLessons(block, warnings)
        if warnings:
            return StartLessons(block, warnings, SilenceReason.STORE_AWAY)
        if self._memory is None:
            return StartLessons(block, warnings, SilenceReason.OFF_BY_SETTING)
        return StartLessons(block, warnings, why_none(block.omitted, knows_any=fitting.knows_any))

    async def for_failures(
        self, scope: Scope, turn: TurnState, failures: Sequence[FailedCall], but: Collection[str]
    ) -> FailureLessons:
        """Lessons of reflective memory for a turn's failed calls, without the memories in `but`. None if there are
        none, or if the store is away or slow. Raises nothing but cancellation."""
        if self._memory is None or not failures:
            return FailureLessons()
        advice = await _in_time(self._policies.advice(scope))
        found = await _in_time(
            self._memory.answering(
                *(scope, failures[-_MOST_FAILURES:], turn.question, turn.turn_id, but), has_shell=turn.config.has_shell
            )
        )
        return FailureLessons(found or (), advice)

    async def block_for_failures(
        self,
        scope: Scope,
        turn: TurnState,
        directive_id: DirectiveId,
        found: FailureLessons,
        place: ShownIn = ShownIn.REFLECTION,
    ) -> ContextBlock | None:
        """The block of the lessons that `for_failures` found, possibly long ago; issues its receipt. None if there are
        none, if a policy has changed what advice is given since, or if the store is away or slow. `place`: where it is
        shown. Raises nothing but cancellation."""
        receipt_id = derived_id(scope, "lessons of reflection", directive_id)
        offers = Offers(failure=found.lessons)
        block = arbitrated(offers, FAILURE_ITEMS, self._telling.failure_tokens, receipt_id)
        if not block.items:
            return None
        advice = await _in_time(self._policies.advice(scope))
        if advice is None or advice != found.advice:
            return None
        receipt = Receipt(
            *(receipt_id, ReceiptKind.TURN, self._clock.now_us(), receipt_items(block.items)),
            turn_id=turn.turn_id,
            session_id=turn.session_id,
            place=place,
        )
        if await _in_time(self._receipts.issue(scope, receipt)) is None:
            return None
        return block

    async def _of_memory(self, scope: Scope, wish: ContextWish, task: ContextTask, ends_s: float) -> Fitting | None:
        if self._memory is None or not (task.task.strip() or task.tools or task.signatures):
            return Fitting()
        fitting = self._not_held_back(self._memory, scope, task, wish.max_items or DEFAULT_ITEMS)
        return await _in_time(fitting, ends_s)

    async def _not_held_back(self, memory: MemoryContext, scope: Scope, task: ContextTask, max_items: int) -> Fitting:
        """The lessons that fit the task, without those that earlier blocks of the turn held back."""
        found = await memory.fitting(scope, task, max_items, meaning_s=_MEANING_S)
        if not found.lessons:
            return found
        before = await memory.decided(scope, task.turn_id)
        held = held_of((lesson.item.id for lesson in found.lessons), found.strategy_of, before)
        return msgspec.structs.replace(
            found,
            lessons=tuple(lesson for lesson in found.lessons if lesson.item.id not in held),
            omitted=(*found.omitted, *(Omitted(memory_id, HELD_BACK) for memory_id in held)),
        )


async def _none() -> GoalLessons:
    return GoalLessons()


def _signatures(failed: Sequence[SeenError]) -> tuple[str, ...]:
    found = (error_signature(error.tool, error.text) for error in failed[-_MOST_FAILURES:])
    return tuple(dict.fromkeys(signature for signature in found if signature))


async def _in_time(reading: Awaitable[_T], ends_s: float | None = None) -> _T | None:
    """The result of `reading`; None when the store is away or too slow, or what it is for was erased. `ends_s`: when
    its time is over, on the loop's clock; None: in `_READ_S`."""
    if ends_s is None:
        ends_s = asyncio.get_running_loop().time() + _READ_S
    try:
        async with asyncio.timeout_at(ends_s):
            return await reading
    except _WITHOUT:
        return None
