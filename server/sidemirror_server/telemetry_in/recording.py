"""Records the turns of traces: the handler of the jobs that `inbox.py` puts.

It may run again for the same trace after a crash at any moment, and on another sidecar: ids of turns and events derive
from the spans, and notes are dropped last.
"""

import asyncio
import hashlib
import logging
from collections.abc import Sequence

import msgspec

from sidemirror_server.telemetry_in.assembly import LONGEST_ORPHAN_S, AssembledTurn, Waits, assemble
from sidemirror_server.telemetry_in.inbox import KEPT_US, TOPIC, Piece, SpanInbox, piece_in, trace_in
from sidemirror_server.telemetry_in.turn_events import events_of, session_id_of, started_of, turn_id_of
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import Entry, Journal, Note
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

# Spans of one trace that are kept until its turn is complete; with more, turns are made of those that are there. Chosen
# here: as many as a turn may have events.
MOST_SPANS = 10_000
# Limits of one read of the journal.
_PAGE, _PAGE_BYTES = 100, 4 * 1024 * 1024
# Events that are recorded before others have their turn. Chosen here: some milliseconds.
_AT_ONCE = 50


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
        notes = await self._notes(scope, trace_id)
        pieces = [(note, piece_in(note.body)) for note in notes]
        waiting = [(note, piece) for note, piece in pieces if piece.spans]
        if not waiting:
            return
        recorded = frozenset(span_id for _, piece in pieces for span_id in piece.recorded)
        latest_us = max(note.at_us for note, _ in waiting)
        spans = [span for _, piece in waiting for span in piece.spans]
        quiet_us = max(0, self._clock.now_us() - latest_us)
        if len(spans) >= MOST_SPANS:
            quiet_us = max(quiet_us, self._waits.abandon_us)
        found = await asyncio.to_thread(assemble, spans, recorded, quiet_us, self._waits)
        callers = {span.span_id: piece.caller for _, piece in waiting for span in piece.spans}
        for turn in found.turns:
            await self._record(scope, trace_id, turn, callers)
        if found.late:
            SPANS.add(found.late, {"became": "late"})
        await self._put_away(scope, trace_id, waiting, recorded, found.taken)
        if found.again_us is not None:
            await self._inbox.look_at(scope, trace_id, latest_us + found.again_us, self._clock.now_us())

    async def _notes(self, scope: Scope, trace_id: str) -> list[Entry]:
        found: list[Entry] = []
        after = 0
        while entries := await self._journal.tail(scope, TOPIC, trace_id, after, _PAGE, _PAGE_BYTES):
            found += entries
            after = entries[-1].position
        return found

    async def _put_away(
        self,
        scope: Scope,
        trace_id: str,
        waiting: Sequence[tuple[Entry, Piece]],
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
        for entry, piece in waiting:
            if all(span.span_id in done for span in piece.spans):
                await self._journal.drop(scope, TOPIC, entry.key)

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
            try:
                self._conductor.report(turn, batch)
            except LimitReached as error:
                if error.passes:
                    raise
                # The turn is full; its end is always taken.
                self._conductor.report(turn, events[-1:])
                return
            await asyncio.sleep(0)
