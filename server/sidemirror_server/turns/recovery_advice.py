"""Tells an agent, at a failing call, what repaired such a failure before.

The conductor asks after each event. The counts are read and the receipt is kept beside the turn; the advice is recorded
as soon as both are there. A turn is told once of each kind of failure. Where nothing is told, the turn's record has
why.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from sidemirror_server.memory.finding.context import FailedCall
from sidemirror_server.memory.recoveries.deciding import FailedAttempt
from sidemirror_server.memory.recoveries.finding import FoundAdvice, RecoveryFinder, receipt_id_of
from sidemirror_server.memory.recoveries.sentences import said_of_repeats
from sidemirror_server.memory.recoveries.trail import Failure
from sidemirror_server.thinking.detectors import Detection, Pattern
from sidemirror_server.thinking.levels import ThinkLevel
from sidemirror_server.thinking.record import Advised, Directive
from sidemirror_server.trace.event import Event, TurnFinished
from sidemirror_server.trace.receipts import ShownIn
from sidemirror_server.turns.calls import TurnCalls
from sidemirror_server.turns.lessons import FailureLessons, Lessons
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.block import BlockLesson, ContextBlock
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreUnavailable
from sidemirror_server.vocabulary.giving_way import Awaited
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, new_id
from sidemirror_server.vocabulary.scope import whose
from sidemirror_server.vocabulary.silence import Silence, SilenceReason

_log = logging.getLogger(__name__)


def _level(error: SidemirrorError) -> int:
    """An outage of the store has a warning of its own, and no line of each turn."""
    return logging.DEBUG if isinstance(error, StoreUnavailable) else logging.INFO


class RecoveryAdvice:
    """Looks up recoveries for the turns in memory."""

    def __init__(
        self,
        finder: RecoveryFinder,
        lessons: Lessons,
        recorder: Recorder,
        clock: Clock,
        awaited: Awaited,
        turn_ended: Callable[[], None] = lambda: None,
    ) -> None:
        """`awaited` is told of failing calls. `turn_ended` is called when an agent has finished a turn: there may be
        something to learn."""
        self._awaited = awaited
        self._turn_ended = turn_ended
        self._finder = finder
        self._counting: set[asyncio.Task[None]] = set()
        self._lessons = lessons
        self._recorder = recorder
        self._clock = clock

    def follow(self, turn: LiveTurn) -> None:
        """Follows the calls of a turn that has no entries in memory yet."""
        turn.calls = TurnCalls()

    def look(self, turn: LiveTurn, event: Event) -> None:
        """Starts a look-up if this event, the turn's latest, is a failing call of which the turn was not told, unless
        nobody hears of it: the turn is made of spans, or its agent shows no advice."""
        if isinstance(event.what, TurnFinished):
            self._turn_ended()
        if turn.state.from_spans or turn.state.without_advice:
            return
        calls = turn.calls
        if calls is None or calls.failed is None or not turn.accepts:
            return
        self._awaited.call_failed()
        # What a nudge may say of the next such failure.
        counting = asyncio.create_task(self._count(turn, calls, calls.failed.signature))
        self._counting.add(counting)
        counting.add_done_callback(self._counting.discard)
        if calls.failed.signature in calls.told:
            return
        calls.told.add(calls.failed.signature)
        turn.looked_up()
        directive_id = DirectiveId(new_id(self._clock.now_us()))
        task = asyncio.create_task(self._tell(turn, directive_id, calls.failed, calls.looked_up, event.event_id))
        turn.telling[directive_id] = task
        task.add_done_callback(lambda done: _done(turn, directive_id, done))

    def nudge(self, turn: LiveTurn, finding: Detection) -> str:
        """The message of a finding at the turn's latest event. It says of a repeated call that such calls hardly ever
        worked, where that is so."""
        failed = None if turn.calls is None else turn.calls.failed
        if turn.calls is None or failed is None or finding.pattern is not Pattern.REPEATED_CALL:
            return finding.message
        repeats = turn.calls.repeats.get(failed.signature)
        return finding.message if repeats is None else f"{finding.message} {said_of_repeats(repeats)}"

    async def _count(self, turn: LiveTurn, calls: TurnCalls, signature: str) -> None:
        calls.repeats.pop(signature, None)
        try:
            repeats = await self._finder.repeats(turn.scope, signature)
        except SidemirrorError as error:
            told = {**whose(turn.scope), "turn_id": turn.state.turn_id, "reason": str(error)}
            _log.log(_level(error), "repeats_not_counted", extra=told)
            return
        if repeats is not None:
            calls.repeats[signature] = repeats

    async def _tell(
        self,
        turn: LiveTurn,
        directive_id: DirectiveId,
        failed: Failure,
        looked_up: tuple[str, ...],
        event_id: EventId,
    ) -> None:
        state = turn.state
        asked = FailedAttempt(
            *(failed.signature, failed.is_json, looked_up, state.turn_id, state.session_id),
            label=failed.label,
            dialect=failed.dialect,
            has_shell=state.config.has_shell,
            values=failed.values,
        )
        receipt_id = receipt_id_of(turn.scope, state.turn_id, failed.signature)
        try:
            found = partial(self._about, turn, event_id) if _thinks(turn) or state.config.has_shell else None
            # What is delivered after an outage has ended by now: it is no try of an agent that was told.
            advice = await self._finder.find(
                *(turn.scope, asked, receipt_id, found, ShownIn.ADVICE), is_over=lambda: not turn.accepts
            )
        except SidemirrorError as error:
            # The agent goes on without advice.
            told = {**whose(turn.scope), "turn_id": state.turn_id, "reason": str(error)}
            _log.log(_level(error), "recovery_not_found", extra=told)
            advice = FoundAdvice(silence=Silence(SilenceReason.STORE_AWAY))
        if not _hears(turn):
            return  # what would be issued now is shown to nobody
        # In shadow mode the directive is kept and not sent.
        block = advice.kept if advice.kept.items else advice.block
        if not block.items and state.config.has_shell and not _thinks(turn):
            # Nothing else brings them here: no reflection follows.
            block = await self._lessons_alone(turn, directive_id, event_id) or block
        if not _hears(turn) or not (block.items or advice.silence):
            return
        what = Advised(block, failed.signature)
        if not block.items:
            what = Advised(ContextBlock(), failed.signature, advice.silence)
        now_us = self._clock.now_us()
        turn.record(Directive(directive_id, now_us, what, (event_id,), is_shadow=not block.items), now_us)
        self._recorder.submit(turn, gather=True)

    async def _lessons_alone(self, turn: LiveTurn, directive_id: DirectiveId, event_id: EventId) -> ContextBlock | None:
        """The block of the lessons about a failure of which no recovery is told; None if there are none."""
        found = await self._found(turn, _failed_at(turn, event_id))
        return await self._lessons.block_for_failures(
            *(turn.scope, turn.state, directive_id, found), place=ShownIn.ADVICE
        )

    async def _about(self, turn: LiveTurn, event_id: EventId) -> tuple[BlockLesson, ...]:
        """The lessons that compete with what repaired the failure for one block. A turn that thinks gets those of all
        its failures anyway, with its reflection."""
        if not _thinks(turn):
            return (await self._found(turn, _failed_at(turn, event_id))).lessons
        failures = tuple(FailedCall(error.tool, error.text) for error in turn.state.tool_errors)
        # The reflection that follows needs the same ones, and may have begun.
        looking_up = turn.look_up(failures, lambda: self._found(turn, failures))
        return (await asyncio.shield(looking_up)).lessons

    async def _found(self, turn: LiveTurn, failures: tuple[FailedCall, ...]) -> FailureLessons:
        """The lessons about these failures that the turn was not shown."""
        return await self._lessons.for_failures(turn.scope, turn.state, failures, turn.brought)


def _hears(turn: LiveTurn) -> bool:
    """Whether something can still be told in the turn."""
    return turn.accepts and turn.lost is None


def _thinks(turn: LiveTurn) -> bool:
    return turn.state.config.level is not ThinkLevel.OFF


def _failed_at(turn: LiveTurn, event_id: EventId) -> tuple[FailedCall, ...]:
    """The failed call that this event ended."""
    return tuple(FailedCall(one.tool, one.text) for one in turn.state.tool_errors if one.event_id == event_id)


def _done(turn: LiveTurn, directive_id: DirectiveId, task: "asyncio.Task[None]") -> None:
    turn.telling.pop(directive_id, None)
    if not task.cancelled() and task.exception() is not None:
        _log.error("recovery_failed", extra=whose(turn.scope), exc_info=task.exception())
    turn.wake()
