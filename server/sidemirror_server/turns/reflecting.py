"""Reflections of a turn: claims a slot, asks the model beside the stream, and records the result.

Called by `conductor.py` at a decision point or when the agent asks. The claim is recorded before the model is asked.
After a crash, the turn is read back with a claim without a result, which counts as failed (decision 011).
"""

import asyncio
import logging

import msgspec

from sidemirror_server.memory.finding.context import FailedCall
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.profiles import Within
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.record import Directive, Reflection, SlotClaim
from sidemirror_server.thinking.reflect import Extra, ReflectionMaterial, material_of, reflect
from sidemirror_server.thinking.schedule import Reason
from sidemirror_server.thinking.turn import due, elapsed_s, left
from sidemirror_server.turns.lessons import Lessons
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.budget import Claim, claim, model_timeout_s
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, new_id
from sidemirror_server.vocabulary.status import ResultStatus

_log = logging.getLogger(__name__)
NOTHING_MORE = Extra()
# How long a reflection waits for its lessons after its model has answered. Chosen here: many times what a healthy store
# takes, including a sidecar's first search.
_LESSONS_S = 1.0


class _Asked(msgspec.Struct, frozen=True):
    """A reflection's inputs at the time of its claim. `brought`: ids of the lessons that the turn has."""

    material: ReflectionMaterial
    timeout_s: float
    within: Within
    failures: tuple[FailedCall, ...]
    brought: frozenset[str]


class Reflections:
    """Starts and gives up the reflections of all turns."""

    def __init__(
        self, gateway: Gateway, prompts: ReflectionPrompts, recorder: Recorder, lessons: Lessons, clock: Clock
    ) -> None:
        self._gateway = gateway
        self._prompts = prompts
        self._recorder = recorder
        self._lessons = lessons
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
        """Claims a slot and starts a reflection on the turn's state. Else the claim says why, and the id is None.

        Nothing is awaited between the check of the budget and the record of the claim, so that concurrent callers never
        exceed the cap. `extra`: what the agent adds to the turn's state.
        """
        now_us = self._clock.now_us()
        ran_s = elapsed_s(turn.state, now_us)
        claimed = claim(turn.state.budget, turn.state.spent, ran_s)
        if claimed.status is not ResultStatus.OK:
            return claimed, None
        limit_s = turn.state.budget.time_limit_s
        timeout_s = model_timeout_s(None if limit_s is None else limit_s - ran_s, rpc_remaining_s)
        directive_id = directive_id or DirectiveId(new_id(now_us))
        material = material_of(turn.state, extra)
        unspent = left(turn.state, now_us)
        within = Within(unspent.tokens, unspent.usd)
        turn.record(SlotClaim(directive_id, now_us, reasons, caused_by), now_us)
        self._recorder.submit(turn)
        asked = _Asked(material, timeout_s, within, _failures(turn, extra), _brought(turn))
        task = asyncio.create_task(self._run(turn, directive_id, reasons, caused_by, asked))
        turn.tasks[directive_id] = task
        task.add_done_callback(lambda done: self._done(turn, directive_id, done))
        return claimed, directive_id

    def _skip(
        self, turn: LiveTurn, claimed: Claim, reasons: tuple[Reason, ...], caused_by: tuple[EventId, ...]
    ) -> None:
        """Tells the agent why a due reflection was skipped, once in a turn for each status."""
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
        # The lessons are looked up while the model thinks; then the reflection waits at most _LESSONS_S for them.
        lessons = asyncio.create_task(
            self._lessons.for_failures(turn.scope, turn.state, directive_id, asked.failures, asked.brought)
        )
        try:
            reflection = await reflect(
                self._gateway, self._prompts, turn.scope, asked.material, asked.timeout_s, asked.within
            )
            await asyncio.wait([lessons], timeout=_LESSONS_S)
            if lessons.done():
                reflection = msgspec.structs.replace(reflection, lessons=lessons.result())
        finally:
            lessons.cancel()
        self._record(turn, directive_id, reflection, reasons, caused_by)
        # A call that failed while the model was thinking could not start a reflection, so this looks again.
        self.look(turn)

    def _done(self, turn: LiveTurn, directive_id: DirectiveId, task: asyncio.Task[None]) -> None:
        turn.tasks.pop(directive_id, None)
        if not task.cancelled() and task.exception() is not None:
            # A bug: a failing model gives a status. The failure is recorded, so that the turn does not wait forever.
            _log.error("reflection_failed", exc_info=task.exception())
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
        self._recorder.submit(turn)
        turn.wake()


def _failures(turn: LiveTurn, extra: Extra) -> tuple[FailedCall, ...]:
    """The failed calls that the turn knows, then those that the agent adds; the newest last."""
    known = [FailedCall(error.tool, error.text) for error in turn.state.tool_errors]
    return (*known, *(FailedCall(result.tool, result.text) for result in extra.results if result.failed))


def _brought(turn: LiveTurn) -> frozenset[str]:
    """Ids of the lessons that earlier reflections of the turn brought."""
    said = (item.directive.what for item in turn.said)
    blocks = (one.lessons for one in said if isinstance(one, Reflection) and one.lessons is not None)
    return frozenset(item.id for block in blocks for item in block.items)
