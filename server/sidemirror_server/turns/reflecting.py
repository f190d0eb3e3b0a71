"""Reflections of a turn: claims a slot, asks the model in a task of its own, and records the result.

Called by `conductor.py` at a decision point or when the agent asks. The claim is recorded before the model is asked.
After a crash, a claim without a result counts as a failed reflection (decision 011).
"""

import asyncio
import logging
from collections.abc import Iterable

import msgspec

from sidemirror_server.memory.finding.context import FailedCall
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.profiles import Within
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.record import Directive, Reflection, SlotClaim
from sidemirror_server.thinking.reflect import Extra, ReflectionMaterial, material_of, reflect
from sidemirror_server.thinking.schedule import Reason
from sidemirror_server.thinking.turn import due, elapsed_s, left
from sidemirror_server.turns.lessons import FailureLessons, Lessons
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.retired import RetiredWords, repeats_retired
from sidemirror_server.vocabulary.block import BlockItem, ContextBlock, one_line, text_hash
from sidemirror_server.vocabulary.budget import ANSWER_S, Claim, claim, model_timeout_s
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, new_id
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.status import ResultStatus

_log = logging.getLogger(__name__)
NOTHING_MORE = Extra()
# The detail of a reflection on a failure that was repaired while it was made.
WORKED_SINCE = "the same call has worked since"
# How long a reflection waits for its lessons after its model has answered. Chosen here: many times what a healthy store
# takes, including a sidecar's first search.
_LESSONS_S = 1.0
# Where the agent's host has a shell no model is asked: its words would not be told (decision 064).
_OF_SHELL = Reflection(ResultStatus.NOTHING, "the host has a shell: it is told no model's words")


class _Asked(msgspec.Struct, frozen=True):
    """A reflection's inputs at the time of its claim. `wanted_at_s`: when the caller needs the reflection, on the
    monotonic clock; None if nobody waits. `lessons`: the look-up of those about its failures."""

    material: ReflectionMaterial
    timeout_s: float
    wanted_at_s: float | None
    within: Within
    lessons: asyncio.Task[FailureLessons]


class Reflections:
    """Starts and cancels the reflections of all turns."""

    def __init__(
        self,
        gateway: Gateway,
        prompts: ReflectionPrompts,
        recorder: Recorder,
        lessons: Lessons,
        retired: RetiredWords,
        clock: Clock,
    ) -> None:
        self._gateway = gateway
        self._prompts = prompts
        self._recorder = recorder
        self._lessons = lessons
        self._retired = retired
        self._clock = clock

    def look(self, turn: LiveTurn, event_id: EventId | None = None) -> None:
        """Starts a reflection if one is due in the turn's present state. `event_id`: the event that made it due."""
        decided = due(turn.state)
        if decided is None:
            return
        causes = [error.event_id for error in turn.state.tool_errors]
        if event_id is not None:
            causes.append(event_id)
        caused_by = tuple(dict.fromkeys(causes))
        claimed, directive_id = self.begin(turn, decided.matches, caused_by)
        if directive_id is None:
            self._skip(turn, claimed, decided.matches, caused_by)

    def begin(
        self,
        turn: LiveTurn,
        reasons: tuple[Reason, ...],
        caused_by: tuple[EventId, ...],
        *,
        directive_id: DirectiveId | None = None,
        extra: Extra = NOTHING_MORE,
        rpc_remaining_s: float | None = None,
    ) -> tuple[Claim, DirectiveId | None]:
        """Claims a slot and starts a reflection on the turn's state. A refused claim says why, and the id is None.

        No `await` comes between the budget check and the record of the claim, so that concurrent callers never exceed
        the cap. `extra`: the agent's additions to the turn's state. `rpc_remaining_s`: the waiting call's remaining
        time; the reflection is ready before the call's end.
        """
        now_us = self._clock.now_us()
        ran_s = elapsed_s(turn.state, now_us)
        claimed = claim(turn.state.budget, turn.state.spent, ran_s)
        if claimed.status is not ResultStatus.OK:
            return claimed, None
        limit_s = turn.state.budget.time_limit_s
        within_s = None if rpc_remaining_s is None else max(0.0, rpc_remaining_s - ANSWER_S)
        timeout_s = model_timeout_s(None if limit_s is None else limit_s - ran_s, within_s)
        wanted_at_s = None if within_s is None else self._clock.monotonic_s() + within_s
        directive_id = directive_id or DirectiveId(new_id(now_us))
        material = material_of(turn.state, extra)
        unspent = left(turn.state, now_us)
        within = Within(unspent.tokens, unspent.usd)
        turn.record(SlotClaim(directive_id, now_us, reasons, caused_by), now_us)
        self._recorder.submit(turn, gather=True)
        failures = _failures(turn, extra)
        lessons = turn.look_up(
            failures, lambda: self._lessons.for_failures(turn.scope, turn.state, failures, turn.brought)
        )
        asked = _Asked(material, timeout_s, wanted_at_s, within, lessons)
        task = asyncio.create_task(self._run(turn, directive_id, reasons, caused_by, asked))
        turn.tasks[directive_id] = task
        task.add_done_callback(lambda done: self._done(turn, directive_id, done))
        return claimed, directive_id

    def _skip(
        self, turn: LiveTurn, claimed: Claim, reasons: tuple[Reason, ...], caused_by: tuple[EventId, ...]
    ) -> None:
        """Tells the agent why a due reflection was skipped; once per turn and status."""
        if claimed.status not in turn.state.skips_told:
            reflection = Reflection(claimed.status, claimed.detail)
            self._record(turn, DirectiveId(new_id(self._clock.now_us())), reflection, reasons, caused_by)

    def give_up(self, turn: LiveTurn, reason: str) -> None:
        """Cancels all tasks of the turn. Records every reflection without a result as failed, including those that a
        crash left."""
        for task in turn.tasks.values():
            task.cancel()
        turn.tasks.clear()
        for directive_id, (_, claimed) in tuple(turn.state.claims.items()):
            if not claimed.critique:
                failed = Reflection(ResultStatus.FAILED_MODEL, reason)
                self._record(turn, directive_id, failed, claimed.reasons, claimed.caused_by)

    async def _run(
        self,
        turn: LiveTurn,
        directive_id: DirectiveId,
        reasons: tuple[Reason, ...],
        caused_by: tuple[EventId, ...],
        asked: _Asked,
    ) -> None:
        # The lessons are looked up while the model thinks; then the reflection waits for them, at most _LESSONS_S.
        found = asyncio.create_task(self._found(turn, asked.lessons))
        lessons: asyncio.Task[ContextBlock | None] | None = None
        try:
            reflection = _OF_SHELL
            if not turn.state.config.has_shell:
                reflection = await reflect(
                    self._gateway, self._prompts, turn.scope, asked.material, asked.timeout_s, asked.within
                )
                reflection = await not_retired(self._retired, turn.scope, reflection)
            lessons = asyncio.create_task(self._block(turn, directive_id, found))
            await asyncio.wait([lessons], timeout=self._patience_s(asked.wanted_at_s))
            if directive_id in turn.state.withdrawn:
                reflection = Reflection(ResultStatus.NOTHING, WORKED_SINCE, usage=reflection.usage)
            else:
                block = lessons.result() if lessons.done() else None
                # In shadow mode the block is kept.
                told = () if block is None or turn.state.is_shadow else block.items
                reflection = _with(_not_told(reflection, (*turn.told_at_failures, *told)), block)
        finally:
            found.cancel()
            if lessons is not None:
                lessons.cancel()
        self._record(turn, directive_id, reflection, reasons, caused_by)
        # A call that failed while the model was thinking could not start a reflection, so the schedule is asked again.
        self.look(turn)

    async def _found(self, turn: LiveTurn, looking_up: "asyncio.Task[FailureLessons]") -> FailureLessons:
        """The lessons about its failures that the turn was not told. What is being told at a failing call goes first:
        its block has lessons too, of the same look-up."""
        if turn.telling:
            await asyncio.wait(tuple(turn.telling.values()), timeout=_LESSONS_S)
        found = await asyncio.shield(looking_up)
        turn.looked_up(looking_up)
        brought = turn.brought
        rest = tuple(lesson for lesson in found.lessons if lesson.item.id not in brought)
        return msgspec.structs.replace(found, lessons=rest)

    async def _block(
        self, turn: LiveTurn, directive_id: DirectiveId, finding: "asyncio.Task[FailureLessons]"
    ) -> ContextBlock | None:
        """The block of the lessons found. The policy is looked at again: the model may have taken longer than a change
        of policy may take to hold."""
        return await self._lessons.block_for_failures(turn.scope, turn.state, directive_id, await finding)

    def _patience_s(self, wanted_at_s: float | None) -> float:
        """How long a finished reflection waits for its lessons."""
        if wanted_at_s is None:
            return _LESSONS_S
        return max(0.0, min(_LESSONS_S, wanted_at_s - self._clock.monotonic_s()))

    def _done(self, turn: LiveTurn, directive_id: DirectiveId, task: asyncio.Task[None]) -> None:
        turn.tasks.pop(directive_id, None)
        if not task.cancelled() and task.exception() is not None:
            # A bug (a failing model gives a status). The failure is recorded, so that the turn does not wait forever.
            _log.error("reflection_failed", extra=whose(turn.scope), exc_info=task.exception())
            claimed = turn.state.claims.get(directive_id)
            if claimed is not None:
                failed = Reflection(ResultStatus.FAILED_MODEL, "the server failed to make this reflection")
                self._record(turn, directive_id, failed, claimed[1].reasons, claimed[1].caused_by)
        turn.wake()

    def _record(
        self,
        turn: LiveTurn,
        directive_id: DirectiveId,
        reflection: Reflection,
        reasons: tuple[Reason, ...],
        caused_by: tuple[EventId, ...],
    ) -> None:
        now_us = self._clock.now_us()
        turn.record(Directive(directive_id, now_us, reflection, caused_by, reasons), now_us)
        turn.wake()  # before the writer, which may take the loop for a moment
        self._recorder.submit(turn, gather=True)


async def not_retired(retired: RetiredWords, scope: Scope, reflection: Reflection) -> Reflection:
    """The reflection, without its words where they say what a retired lesson says; its status is NOTHING then. Raises
    nothing but cancellation."""
    said = await retired.saying(scope, tuple(filter(None, (reflection.suggested_action, reflection.reflection))))
    if not said:
        return reflection
    detail, cited = repeats_retired(next(iter(said.values()))), reflection.cited_event_ids
    return Reflection(ResultStatus.NOTHING, detail, usage=reflection.usage, cited_event_ids=cited)


def _not_told(reflection: Reflection, items: Iterable[BlockItem]) -> Reflection:
    """The reflection without an action that one of these lessons tells in the same words."""
    if not reflection.suggested_action:
        return reflection
    action = text_hash(one_line(reflection.suggested_action))
    if all(text_hash(item.text) != action for item in items):
        return reflection
    return msgspec.structs.replace(reflection, suggested_action=None)


def _with(reflection: Reflection, lessons: ContextBlock | None) -> Reflection:
    """The reflection with its lessons. One that had nothing to say is OK with them: they say something."""
    status = reflection.status
    if lessons is not None and status is ResultStatus.NOTHING:
        return Reflection(ResultStatus.OK, reflection="", usage=reflection.usage, lessons=lessons)
    return msgspec.structs.replace(reflection, lessons=lessons)


def _failures(turn: LiveTurn, extra: Extra) -> tuple[FailedCall, ...]:
    """The failed calls in the turn's state, then those that the agent adds; the newest last."""
    known = [FailedCall(error.tool, error.text) for error in turn.state.tool_errors]
    return (*known, *(FailedCall(result.tool, result.text) for result in extra.results if result.failed))
