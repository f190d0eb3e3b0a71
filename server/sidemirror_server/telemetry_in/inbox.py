"""Where spans wait until their turns are complete: durable, in the store that the sidecars share.

An export of spans becomes one note of the journal for each trace, and a job that looks at the trace a while later. Both
are durable before the export is acknowledged, and both are there once, however often the export is repeated
(decision 074).
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from sidemirror_server.telemetry_in.spans import Span, SpanKind
from sidemirror_server.telemetry_in.turn_events import PREFIX, session_id_of, turn_id_of
from sidemirror_server.trace.log import Entry, Journal, Note
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.vocabulary.ids import JobId, derived_id
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import Jobs, NewJob

# The topic of the notes, and the kind of the jobs. Stored; they never change.
TOPIC = "spans"
KIND = "assemble_trace"

_DAY_US = 24 * 3_600 * 1_000_000
# After four times this, notes are forgotten that nothing came of (clause JO4 of the journal): after a day.
KEPT_US = _DAY_US // 4
# Traces whose spans were kept here lately: what lies above an agent is kept only for them. Chosen here: some MiB.
_MOST_TRACES = 10_000
# Notes of one export that are written side by side. Chosen here: they share a commit, and other callers get theirs.
_AT_ONCE = 16
# Limits of one read of the journal.
_PAGE, _PAGE_BYTES = 100, 4 * 1024 * 1024


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """A note: spans of a trace that came together, and the name of the token that sent them. `recorded`: instead, the
    ids of spans whose turns are made."""

    spans: tuple[Span, ...] = ()
    caller: str = ""
    recorded: tuple[str, ...] = ()


class TraceDue(msgspec.Struct, frozen=True):
    """The payload of a job."""

    trace_id: str


piece_in = msgspec.json.Decoder(Piece).decode
trace_in = msgspec.json.Decoder(TraceDue).decode
_encoded = msgspec.json.Encoder(order="deterministic").encode


class SpanInbox:
    """Keeps spans, and the times at which their traces are looked at."""

    def __init__(self, journal: Journal, jobs: Jobs, settle_us: int) -> None:
        self._journal = journal
        self._jobs = jobs
        self._settle_us = settle_us
        self._known: OrderedDict[tuple[Scope, str], None] = OrderedDict()

    async def keep(self, scope: Scope, caller: str, traces: Mapping[str, Sequence[Span]], now_us: int) -> int:
        """Keeps the spans of these traces that belong to an agent's work, and returns how many; they are durable then.
        Raises LimitReached when too many traces wait, and what the store raises."""
        kept = [(trace, of) for trace, spans in traces.items() if (of := self._relevant(scope, trace, spans))]
        for start in range(0, len(kept), _AT_ONCE):
            batch = kept[start : start + _AT_ONCE]
            await asyncio.gather(*(self._keep(scope, caller, trace, of, now_us) for trace, of in batch))
        return sum(len(of) for _, of in kept)

    async def look_at(self, scope: Scope, trace_id: str, at_us: int, now_us: int) -> None:
        """Has the trace looked at, soon after `at_us`. Raises LimitReached, and what the store raises."""
        # One job for all that falls due at nearly the same time.
        slot_us = -(-at_us // self._settle_us) * self._settle_us if self._settle_us else at_us
        job_id = JobId(derived_id(scope, KIND, f"{trace_id}\0{slot_us}"))
        job = NewJob(job_id, KIND, _encoded(TraceDue(trace_id)), run_at_us=slot_us)
        await self._jobs.put(scope, job, now_us)

    async def _keep(self, scope: Scope, caller: str, trace_id: str, spans: Sequence[Span], now_us: int) -> None:
        digest = hashlib.blake2b(_encoded(spans), digest_size=16).hexdigest()
        placed = _placed(spans, now_us)
        note = Note(f"{trace_id}/{digest}", trace_id, now_us, _encoded(Piece(placed, caller)))
        await self._journal.add(scope, TOPIC, note, KEPT_US)
        await self.look_at(scope, trace_id, now_us + self._settle_us, now_us)

    def _relevant(self, scope: Scope, trace_id: str, spans: Sequence[Span]) -> Sequence[Span]:
        """The spans to keep: all of a trace in which an agent works, as far as is known here."""
        key = (scope, trace_id)
        if key not in self._known and all(span.kind is SpanKind.OTHER for span in spans):
            return ()
        self._known[key] = None
        self._known.move_to_end(key)
        if len(self._known) > _MOST_TRACES:
            self._known.popitem(last=False)
        return spans


class WaitingSpans:
    """Spans that wait, for erasures. All of a trace goes: its spans tell of one run, and those that come later bring
    the job again, which finds that the session or turn was erased."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def forget(self, scope: Scope, kind: SourceKind, record_id: str) -> int:
        """Drops the notes of this turn's trace, or of the traces of this session; returns how many. Raises what the
        store raises."""
        if kind not in (SourceKind.TURN, SourceKind.SESSION) or not record_id.startswith(PREFIX):
            return 0
        notes = [note async for note in self._notes(scope)]
        named = {note.group for note in notes if self._is_of(note, kind, record_id)}
        dropped = [await self._journal.drop(scope, TOPIC, note.key) for note in notes if note.group in named]
        return sum(dropped)

    @staticmethod
    def _is_of(note: Entry, kind: SourceKind, record_id: str) -> bool:
        if kind is SourceKind.TURN:
            return record_id.startswith(turn_id_of(note.group, ""))
        own = record_id.startswith(session_id_of(f"{note.group}-"))
        return own or any(
            span.session and session_id_of(span.session) == record_id for span in piece_in(note.body).spans
        )

    async def _notes(self, scope: Scope) -> AsyncIterator[Entry]:
        after = 0
        while entries := await self._journal.tail(scope, TOPIC, None, after, _PAGE, _PAGE_BYTES):
            after = entries[-1].position
            for entry in entries:
                yield entry


def _placed(spans: Sequence[Span], now_us: int) -> tuple[Span, ...]:
    """The spans with times of the last day. A sender's clock may be wrong: then all of them are moved, so that the last
    one ends now; and they may be forged, so that what lies outside of the day even then is brought to its edge."""
    first_us, last_us = min(span.start_us for span in spans), max(span.end_us for span in spans)
    if now_us - _DAY_US <= first_us and last_us <= now_us:
        return tuple(spans)
    by_us = now_us - last_us
    return tuple(
        msgspec.structs.replace(
            span,
            start_us=max(span.start_us + by_us, now_us - _DAY_US),
            end_us=max(span.end_us + by_us, now_us - _DAY_US),
        )
        for span in spans
    )
