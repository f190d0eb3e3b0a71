"""Records the turns of traces: the handler of the jobs that `inbox.py` puts.

It may run again for the same trace after a crash at any moment, and on another sidecar: ids of turns and events derive
from the spans, and notes are dropped last.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence

import msgspec

from sidemirror_server.telemetry_in.assembly import LONGEST_ORPHAN_S, AssembledTurn, Waits, assemble
from sidemirror_server.telemetry_in.inbox import (
    KEPT_US,
    MOST_BYTES,
    MOST_SPANS,
    TOPIC,
    Piece,
    SpanInbox,
    piece_in,
    trace_in,
)
from sidemirror_server.telemetry_in.turn_events import events_of, session_id_of, started_of, turn_id_of
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import Journal, Note
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import (
    AlreadyExists,
    BadInput,
    LimitReached,
    StoreFull,
    StoreUnavailable,
    WrongState,
)
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
    """The notes of a trace. `waiting`: those with spans, by their key. `recorded`: the spans of turns that were made.
    `surplus`: by key, how many spans a note has for which there is no room. `has_room`: turns need not be made yet."""

    waiting: dict[str, Piece] = {}
    recorded: frozenset[str] = frozenset()
    surplus: dict[str, int] = {}
    latest_us: int = 0
    has_room: bool = True


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
        waiting, recorded = noted.waiting, noted.recorded
        if not waiting:
            return
        spans = [span for piece in waiting.values() for span in piece.spans]
        quiet_us = max(0, self._clock.now_us() - noted.latest_us)
        if not noted.has_room:
            quiet_us = max(quiet_us, self._waits.abandon_us)
        found = await asyncio.to_thread(assemble, spans, recorded, quiet_us, self._waits)
        callers = {span.span_id: piece.caller for piece in waiting.values() for span in piece.spans}
        for turn in found.turns:
            await self._record(scope, trace_id, turn, callers)
        if found.late:
            SPANS.add(found.late, {"became": "late"})
        await self._put_away(scope, trace_id, waiting, recorded, found.taken)
        if found.again_us is not None:
            await self._inbox.look_at(scope, trace_id, noted.latest_us + found.again_us, self._clock.now_us())

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
                if piece.spans and not found.has_room:
                    found.surplus[entry.key] = len(piece.spans)
                elif piece.spans:
                    found.waiting[entry.key] = piece
                    found.latest_us = max(found.latest_us, entry.at_us)
                    count, size_bytes = count + len(piece.spans), size_bytes + len(entry.body)
                    found.has_room = count < MOST_SPANS and size_bytes < MOST_BYTES
        if len(recorded) >= _MOST_RECORDED:
            found.surplus |= {key: len(piece.spans) for key, piece in found.waiting.items()}
            found.waiting = {}
        found.recorded = frozenset(recorded)
        return found

    async def _drop_surplus(self, scope: Scope, trace_id: str, surplus: Mapping[str, int]) -> None:
        if count := sum(surplus.values()):
            SPANS.add(count, {"became": "dropped"})
            if self._inbox.is_first_drop(scope, trace_id, self._clock.now_us()):
                _log.warning("spans_dropped", extra={**whose(scope), "trace_id": trace_id, "count": count})
        for key in surplus:
            await self._journal.drop(scope, TOPIC, key)

    async def _put_away(
        self,
        scope: Scope,
        trace_id: str,
        waiting: Mapping[str, Piece],
        recorded: frozenset[str],
        taken: frozenset[str],
    ) -> None:
        """Notes the spans that are done, then drops the notes that hold no others."""
        if fresh := taken - recorded:
            ids = tuple(sorted(fresh))
            digest = hashlib.blake2b("\0".join(ids).encode(), digest_size=16).hexdigest()
            body = msgspec.json.encode(Piece(recorded=ids))
            note = Note(f"{trace_id}/recorded/{digest}", trace_id, self._clock.now_us(), body)
            await self._journal.add(scope, TOPIC, note, KEPT_US)
        done = recorded | taken
        for key, piece in waiting.items():
            if all(span.span_id in done for span in piece.spans):
                await self._journal.drop(scope, TOPIC, key)

    async def _record(self, scope: Scope, trace_id: str, assembled: AssembledTurn, callers: dict[str, str]) -> None:
        """Records a turn; one that is refused, because its session was erased or its id is taken, is left out."""
        own_id = f"{trace_id}-{assembled.top}"
        session_id = session_id_of(assembled.session or own_id)
        first = next((span.span_id for span in (*assembled.calls, *assembled.answers)), "")
        event, started = started_of(assembled, session_id, callers.get(first, ""))
        count = len(assembled.calls) + len(assembled.answers)
        try:
            turn = await self._conductor.start(
                scope, turn_id_of(trace_id, assembled.top), event, started, is_new=False, wait_for_store=True
            )
            if turn.accepts:
                await self._report(turn, events_of(assembled, self._events_per_turn - 1))
            await self._recorder.wait_durable(turn, turn.state.last_sequence)
        except (AlreadyExists, BadInput, WrongState) as error:
            SPANS.add(count, {"became": "refused"})
            _log.warning("spans_refused", extra={**whose(scope), "trace_id": trace_id, "error": type(error).__name__})

    async def _report(self, turn: LiveTurn, events: Sequence[Event]) -> None:
        for start in range(0, len(events), _AT_ONCE):
            batch = events[start : start + _AT_ONCE]
            async with self._recording:
                try:
                    self._conductor.report(turn, batch)
                except LimitReached as error:
                    if error.passes:
                        raise
                    # The turn is full; its end is always taken.
                    self._conductor.report(turn, events[-1:])
                    return
                await asyncio.sleep(0)
