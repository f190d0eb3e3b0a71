"""Where spans wait until their turns are complete: durable, in the store that the sidecars share.

An export of spans becomes one note of the journal for each trace, and a job that looks at the trace a while later. Both
are durable before the export is acknowledged, and both are there once, however often the export is repeated
(decision 074).
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from sidemirror_server.telemetry_in.spans import Span, SpanKind
from sidemirror_server.telemetry_in.turn_events import PREFIX, session_id_of, turn_id_of
from sidemirror_server.trace.log import Entry, Journal, Note
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.vocabulary.ids import JobId, derived_id
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.work.queue import Jobs, NewJob

_log = logging.getLogger(__name__)

# The topic of the notes, and the kind of the jobs. Stored; they never change.
TOPIC = "spans"
KIND = "assemble_trace"

_DAY_US = 24 * 3_600 * 1_000_000
# After four times this, notes are forgotten that nothing came of (clause JO4 of the journal): after a day.
KEPT_US = _DAY_US // 4
# Traces whose spans were kept here lately: what lies above an agent is kept only for them. Chosen here: some MiB.
_MOST_TRACES = 10_000
# What is kept of one trace within a minute, and what turns are made of at once: spans, and bytes of their notes. Chosen
# here: as many spans as a turn may have events, with texts of 6 KB each; a look at a trace reads all of it.
MOST_SPANS, MOST_BYTES = 10_000, 64 * 1024 * 1024
_MINUTE_US = 60_000_000
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


class Kept(msgspec.Struct, frozen=True):
    """Of an export: how many spans are kept, and how many were dropped because their trace has too many."""

    kept: int
    dropped: int


class _Lately(msgspec.Struct):
    """What was kept of a trace since a time."""

    since_us: int
    spans: int = 0
    size_bytes: int = 0
    is_told: bool = False


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
        self._known: OrderedDict[tuple[Scope, str], _Lately] = OrderedDict()

    async def keep(self, scope: Scope, caller: str, traces: Mapping[str, Sequence[Span]], now_us: int) -> Kept:
        """Keeps the spans of these traces that belong to an agent's work; they are durable then. Of one trace there are
        MOST_SPANS and MOST_BYTES in a minute. Raises LimitReached when too many traces wait, and what the store
        raises."""
        kept: list[tuple[str, Sequence[Span], _Lately]] = []
        dropped = 0
        for trace, spans in traces.items():
            if (lately := self._lately(scope, trace, spans, now_us)) is not None:
                fitting = _fitting(scope, trace, spans, lately)
                dropped += len(spans) - len(fitting)
                if fitting:
                    kept.append((trace, fitting, lately))
        for start in range(0, len(kept), _AT_ONCE):
            batch = kept[start : start + _AT_ONCE]
            await asyncio.gather(*(self._keep(scope, caller, *one, now_us) for one in batch))
        return Kept(sum(len(fitting) for _, fitting, _ in kept), dropped)

    async def look_at(self, scope: Scope, trace_id: str, at_us: int, now_us: int) -> None:
        """Has the trace looked at, soon after `at_us`. Raises LimitReached, and what the store raises."""
        # One job for all that falls due at nearly the same time.
        slot_us = -(-at_us // self._settle_us) * self._settle_us if self._settle_us else at_us
        job_id = JobId(derived_id(scope, KIND, f"{trace_id}\0{slot_us}"))
        job = NewJob(job_id, KIND, _encoded(TraceDue(trace_id)), run_at_us=slot_us)
        await self._jobs.put(scope, job, now_us)

    def is_first_drop(self, scope: Scope, trace_id: str, now_us: int) -> bool:
        """Whether nothing was said in this minute of dropped spans of the trace; then it counts as said."""
        lately = self._in_minute(scope, trace_id, now_us)
        was_told, lately.is_told = lately.is_told, True
        return not was_told

    async def _keep(
        self, scope: Scope, caller: str, trace_id: str, spans: Sequence[Span], lately: _Lately, now_us: int
    ) -> None:
        digest = hashlib.blake2b(_encoded(spans), digest_size=16).hexdigest()
        placed = _placed(spans, now_us)
        note = Note(f"{trace_id}/{digest}", trace_id, now_us, _encoded(Piece(placed, caller)))
        lately.size_bytes += len(note.body)
        await self._journal.add(scope, TOPIC, note, KEPT_US)
        await self.look_at(scope, trace_id, now_us + self._settle_us, now_us)

    def _lately(self, scope: Scope, trace_id: str, spans: Sequence[Span], now_us: int) -> _Lately | None:
        """What was kept of the trace in this minute; None if no agent works in it, as far as is known here."""
        if (scope, trace_id) not in self._known and all(span.kind is SpanKind.OTHER for span in spans):
            return None
        return self._in_minute(scope, trace_id, now_us)

    def _in_minute(self, scope: Scope, trace_id: str, now_us: int) -> _Lately:
        key = (scope, trace_id)
        known = self._known.get(key)
        if known is None or now_us - known.since_us > _MINUTE_US:
            known = self._known[key] = _Lately(now_us)
        self._known.move_to_end(key)
        if len(self._known) > _MOST_TRACES:
            self._known.popitem(last=False)
        return known


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
        groups: dict[str, str] = {}
        named: set[str] = set()
        async for note in self._notes(scope):
            groups[note.key] = note.group
            if note.group not in named and self._is_of(note, kind, record_id):
                named.add(note.group)
        return sum([await self._journal.drop(scope, TOPIC, key) for key, group in groups.items() if group in named])

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


def _fitting(scope: Scope, trace_id: str, spans: Sequence[Span], lately: _Lately) -> Sequence[Span]:
    """The spans for which there is room; the first that lack it are a warning."""
    room = MOST_SPANS - lately.spans if lately.size_bytes < MOST_BYTES else 0
    fitting = spans[: max(0, room)]
    lately.spans += len(fitting)
    if len(fitting) < len(spans) and not lately.is_told:
        lately.is_told = True
        told = {**whose(scope), "trace_id": trace_id, "most": MOST_SPANS, "most_bytes": MOST_BYTES}
        _log.warning("spans_dropped", extra=told)
    return fitting


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
