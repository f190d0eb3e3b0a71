"""Records the turns of traces: the handler of the jobs that `inbox.py` puts.

It may run again for the same trace after a crash at any moment, and on another sidecar: ids of turns and events derive
from the spans, and notes are dropped last.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

import msgspec

from sidemirror_server.telemetry_in.assembly import LONGEST_ORPHAN_S, AssembledTurn, Assembly, Waits, assemble
from sidemirror_server.telemetry_in.inbox import (
    KEPT_US,
    MOST_BYTES,
    MOST_SPANS,
    TOPIC,
    Piece,
    SpanInbox,
    note_of_done,
    piece_in,
    placed,
    trace_in,
)
from sidemirror_server.telemetry_in.spans import Span
from sidemirror_server.telemetry_in.turn_events import events_of, is_missing, session_id_of, started_of, turn_id_of
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import Journal
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import (
    AlreadyExists,
    BadInput,
    LimitReached,
    NotFound,
    StoreFull,
    StoreUnavailable,
    WrongState,
)
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.telemetry import SPANS
from sidemirror_server.work.worker import ClaimedJob, NotNow

_log = logging.getLogger(__name__)

# Spans of one trace whose turns were made: with as many, nothing more is made of it. Chosen here: five times what may
# wait, since a program may have one trace for a day.
_MOST_RECORDED = 50_000
# Limits of one read of the journal.
_PAGE, _PAGE_BYTES = 100, 4 * 1024 * 1024
# Events that are recorded before others have their turn, of all traces together. Chosen here: a millisecond or two.
_AT_ONCE = 10


class _Noted(msgspec.Struct):
    """The notes of a trace. `waiting`: those with spans, by their key, and `came_us`: when each of them came.
    `recorded`: the spans of turns that were made, and `wholes`: how many of these turns were of the whole trace.
    `surplus`: by key, how many spans a note has for which there is no room. `has_room`: turns need not be made yet."""

    waiting: dict[str, Piece] = {}
    came_us: dict[str, int] = {}
    recorded: frozenset[str] = frozenset()
    wholes: int = 0
    surplus: dict[str, int] = {}
    has_room: bool = True

    @property
    def latest_us(self) -> int:
        return max(self.came_us.values(), default=0)

    def spans(self) -> list[Span]:
        """The spans that wait, with times that are believed."""
        return placed((self.came_us[key], piece.spans) for key, piece in self.waiting.items())


class TraceRecorder:
    """Makes turns of the spans that wait, and records them."""

    def __init__(
        self,
        journal: Journal,
        inbox: SpanInbox,
        conductor: Conductor,
        recorder: Recorder,
        clock: Clock,
        settle_us: int,
        abandon_us: int,
        events_per_turn: int,
    ) -> None:
        self._journal = journal
        self._inbox = inbox
        self._conductor = conductor
        self._recorder = recorder
        self._clock = clock
        self._waits = Waits(settle_us, max(settle_us, int(LONGEST_ORPHAN_S * 1e6)), max(settle_us, abandon_us))
        self._events_per_turn = events_per_turn
        # Traces that are recorded side by side would each hold up the loop between two looks at its callers.
        self._recording = asyncio.Lock()

    async def handle(self, task: ClaimedJob) -> bytes | None:
        """Looks at the job's trace. Raises NotNow while the store is away."""
        scope, trace_id = task.job.scope, trace_in(task.job.payload).trace_id
        try:
            await self._look(scope, trace_id)
        except (StoreUnavailable, StoreFull) as error:
            raise NotNow(str(error)) from error
        except LimitReached as error:
            if not error.passes:
                raise
            raise NotNow(str(error)) from error
        return None

    async def _look(self, scope: Scope, trace_id: str) -> None:
        noted = await self._notes(scope, trace_id)
        await self._drop_surplus(scope, trace_id, noted.surplus)
        if not noted.waiting:
            return
        quiet_us = max(0, self._clock.now_us() - noted.latest_us)
        if not noted.has_room:
            quiet_us = max(quiet_us, self._waits.abandon_us)
        found = await self._assembled(noted, quiet_us)
        if (found.again_us or 0) > self._waits.orphan_us and await self._inbox.are_many(scope):
            # Traces whose top never comes must not keep out those of others.
            found = await self._assembled(noted, max(quiet_us, self._waits.abandon_us))
        callers = {span.span_id: piece.caller for piece in noted.waiting.values() for span in piece.spans}
        for turn in found.turns:
            await self._record(scope, trace_id, turn, callers)
        if found.late:
            SPANS.add(found.late, {"became": "late"})
        await self._put_away(scope, trace_id, noted, found)
        if found.again_us is not None:
            await self._inbox.look_again(scope, trace_id, noted.latest_us + found.again_us, self._clock.now_us())

    async def _assembled(self, noted: _Noted, quiet_us: int) -> Assembly:
        return await asyncio.to_thread(
            lambda: assemble(noted.spans(), noted.recorded, quiet_us, self._waits, noted.wholes)
        )

    async def _notes(self, scope: Scope, trace_id: str) -> _Noted:
        """What is noted of a trace, within the bounds: MOST_SPANS and MOST_BYTES wait, and _MOST_RECORDED are done. A
        span counts each time that it was sent."""
        found = _Noted()
        recorded: set[str] = set()
        count = size_bytes = after = 0
        while entries := await self._journal.tail(scope, TOPIC, trace_id, after, _PAGE, _PAGE_BYTES):
            after = entries[-1].position
            for entry in entries:
                piece = piece_in(entry.body)
                recorded.update(piece.recorded)
                found.wholes = max(found.wholes, piece.wholes)
                if piece.spans and not found.has_room:
                    found.surplus[entry.key] = len(piece.spans)
                elif piece.spans:
                    found.waiting[entry.key], found.came_us[entry.key] = piece, entry.at_us
                    count, size_bytes = count + len(piece.spans), size_bytes + len(entry.body)
                    found.has_room = count < MOST_SPANS and size_bytes < MOST_BYTES
        if len(recorded) >= _MOST_RECORDED:
            found.surplus |= {key: len(piece.spans) for key, piece in found.waiting.items()}
            found.waiting = {}
        found.recorded = frozenset(recorded)
        return found

    async def _drop_surplus(self, scope: Scope, trace_id: str, surplus: Mapping[str, int]) -> None:
        if count := sum(surplus.values()):
            self._tell_dropped(scope, trace_id, count)
        for key in surplus:
            await self._journal.drop(scope, TOPIC, key)

    def _tell_dropped(self, scope: Scope, trace_id: str, count: int) -> None:
        SPANS.add(count, {"became": "dropped"})
        if self._inbox.is_first_drop(scope, trace_id, self._clock.now_us()):
            _log.warning("spans_dropped", extra={**whose(scope), "trace_id": trace_id, "count": count})

    async def _put_away(self, scope: Scope, trace_id: str, noted: _Noted, found: Assembly) -> None:
        """Notes the spans that are done, then drops the notes that hold no others."""
        waiting, recorded, taken = noted.waiting, noted.recorded, found.taken
        if fresh := taken - recorded:
            note = note_of_done(trace_id, fresh, self._clock.now_us(), found.wholes)
            await self._journal.add(scope, TOPIC, note, KEPT_US)
        done = recorded | taken
        for key, piece in waiting.items():
            if all(span.span_id in done for span in piece.spans):
                await self._journal.drop(scope, TOPIC, key)

    async def _record(self, scope: Scope, trace_id: str, assembled: AssembledTurn, callers: dict[str, str]) -> None:
        """Records a turn; one that is refused, because its session was erased or its id is taken, is left out."""
        turn_id = turn_id_of(trace_id, assembled.top)
        session_id = session_id_of(assembled.session or f"{trace_id}-{assembled.top}")
        spans = (*assembled.calls, *assembled.answers)
        caller = callers.get(next((span.span_id for span in spans), ""), "")
        try:
            turn = await self._started(scope, turn_id, assembled, session_id, caller)
            is_over = not turn.accepts
            if not is_over:
                await self._report(turn, events_of(assembled, self._events_per_turn - 1))
            await self._recorder.wait_durable(turn, turn.state.last_sequence)
        except (AlreadyExists, BadInput, NotFound, WrongState) as error:
            SPANS.add(len(spans), {"became": "refused"})
            _log.warning("spans_refused", extra={**whose(scope), "trace_id": trace_id, "error": type(error).__name__})
            return
        if missing := sum(is_missing(turn.seen, span) for span in spans):
            # A sidecar that was killed had recorded the turn, or the turn has too many events.
            if is_over:
                SPANS.add(missing, {"became": "late"})
            else:
                self._tell_dropped(scope, trace_id, missing)

    async def _started(
        self, scope: Scope, turn_id: TurnId, assembled: AssembledTurn, session_id: str, caller: str
    ) -> LiveTurn:
        """The turn, begun now or by a sidecar that was killed since: then it stays in its session, whatever spans have
        come meanwhile. Raises AlreadyExists, BadInput, WrongState, LimitReached, and what the store raises."""
        event, started = started_of(assembled, session_id, caller)
        try:
            return await self._conductor.start(scope, turn_id, event, started, is_new=False, wait_for_store=True)
        except BadInput:
            known = await self._conductor.take_up(scope, turn_id)
            event, started = started_of(assembled, known.state.session_id, caller)
            return await self._conductor.start(scope, turn_id, event, started, is_new=False, wait_for_store=True)

    async def _report(self, turn: LiveTurn, events: Sequence[Event]) -> None:
        for start in range(0, len(events), _AT_ONCE):
            batch = events[start : start + _AT_ONCE]
            async with self._recording:
                try:
                    await self._conductor.take_in(turn, batch)
                except LimitReached as error:
                    if error.passes:
                        raise
                    # The turn is full; its end is always taken.
                    await self._conductor.take_in(turn, events[-1:])
                    return
                await asyncio.sleep(0)
