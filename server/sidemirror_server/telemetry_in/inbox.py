"""Where spans wait until their turns are complete: durable, in the store that the sidecars share.

An export of spans becomes one note of the journal for each trace, and a job that looks at the trace a while later. Both
are durable before the export is acknowledged, and both are there once, however often the export is repeated
(decision 074).
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from sidemirror_server.telemetry_in.spans import Span, SpanKind
from sidemirror_server.telemetry_in.turn_events import PREFIX, session_id_of, turn_id_of
from sidemirror_server.trace.log import Entry, Journal, Note
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.vocabulary.ids import JobId, derived_id
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.work.bounded_queue import Bounded
from sidemirror_server.work.queue import JobState, NewJob

_log = logging.getLogger(__name__)

# The topic of the notes, and the kind of the jobs. Stored; they never change.
TOPIC = "spans"
KIND = "assemble_trace"

_DAY_US = 24 * 3_600 * 1_000_000
# After four times this, notes are forgotten that nothing came of (clause JO4 of the journal): after a day.
KEPT_US = _DAY_US // 4
# Traces whose spans were kept here lately; of others the journal is asked. Chosen here: some MiB.
_MOST_TRACES = 10_000
# What is kept of one trace within a minute, and what turns are made of at once: spans, and bytes of their notes. Chosen
# here: as many spans as a turn may have events, with texts of 6 KB each; a look at a trace reads all of it.
MOST_SPANS, MOST_BYTES = 10_000, 64 * 1024 * 1024
_MINUTE_US = 60_000_000
# Traces of one export that are looked up or written side by side. Chosen here: they share a commit, and other callers
# get theirs.
_AT_ONCE = 16
# Limits of one read of the journal.
_PAGE, _PAGE_BYTES = 100, 4 * 1024 * 1024


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """A note: spans of a trace that came together, and the name of the token that sent them. `recorded`: instead, the
    ids of spans whose turns are made. `wholes`: with these, how many turns of the whole trace there are."""

    spans: tuple[Span, ...] = ()
    caller: str = ""
    recorded: tuple[str, ...] = ()
    wholes: int = 0


class Kept(msgspec.Struct, frozen=True):
    """Of an export: how many spans are kept, and how many were dropped because their trace has too many."""

    kept: int
    dropped: int


class _Lately(msgspec.Struct):
    """What was kept of a trace since a time, or is being kept."""

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


def note_of_done(trace_id: str, span_ids: Iterable[str], at_us: int, wholes: int = 0) -> Note:
    """The note that nothing more is made of these spans, nor of what comes below them later."""
    ids = tuple(sorted(span_ids))
    digest = hashlib.blake2b("\0".join(ids).encode(), digest_size=16).hexdigest()
    return Note(f"{trace_id}/recorded/{digest}", trace_id, at_us, _encoded(Piece(recorded=ids, wholes=wholes)))


class SpanInbox:
    """Keeps spans, and the times at which their traces are looked at."""

    def __init__(self, journal: Journal, jobs: Bounded, settle_us: int) -> None:
        self._journal = journal
        self._jobs = jobs
        self._settle_us = settle_us
        self._known: OrderedDict[tuple[Scope, str], _Lately] = OrderedDict()

    async def keep(self, scope: Scope, caller: str, traces: Mapping[str, Sequence[Span]], now_us: int) -> Kept:
        """Keeps the spans of these traces that belong to an agent's work; they are durable then. Of one trace there are
        MOST_SPANS and MOST_BYTES in a minute. Raises LimitReached when too many traces wait, and what the store
        raises; then some of the traces may be kept, each of them whole."""
        kept: list[tuple[str, Sequence[Span], _Lately]] = []
        dropped = 0
        for trace in await self._of_agents(scope, traces):
            spans, lately = traces[trace], self._in_minute(scope, trace, now_us)
            fitting = _fitting(scope, trace, spans, lately)
            dropped += len(spans) - len(fitting)
            if fitting:
                kept.append((trace, fitting, lately))
        waiting = list(kept)
        try:
            while waiting:
                batch, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
                await asyncio.gather(*(self._keep(scope, caller, *one, now_us) for one in batch))
        finally:
            for _, fitting, lately in waiting:
                lately.spans -= len(fitting)
        return Kept(sum(len(fitting) for _, fitting, _ in kept), dropped)

    async def look_again(self, scope: Scope, trace_id: str, at_us: int, now_us: int) -> None:
        """Has the trace looked at soon after `at_us`, unless there is a job for it that has yet to begin. However many
        wait: whoever would bring one more asks for leave before. Raises what the store raises."""
        while True:
            job = self._job(scope, trace_id, at_us)
            kept = await self._jobs.follow(scope, job, now_us)
            if kept.state in (JobState.QUEUED, JobState.RETRYING):
                return
            # By the clock of another sidecar its time has come: what was kept just now may not have been seen.
            at_us = (job.run_at_us or at_us) + 1

    async def are_many(self, scope: Scope) -> bool:
        """Whether so many traces of the scope wait that none may do so for long. Raises what the store raises."""
        return await self._jobs.is_half_full(scope, KIND)

    def _job(self, scope: Scope, trace_id: str, at_us: int) -> NewJob:
        """One job for all that falls due at nearly the same time."""
        slot_us = -(-at_us // self._settle_us) * self._settle_us if self._settle_us else at_us
        job_id = JobId(derived_id(scope, KIND, f"{trace_id}\0{slot_us}"))
        return NewJob(job_id, KIND, _encoded(TraceDue(trace_id)), run_at_us=slot_us)

    def is_first_drop(self, scope: Scope, trace_id: str, now_us: int) -> bool:
        """Whether nothing was said in this minute of dropped spans of the trace; then it counts as said."""
        lately = self._in_minute(scope, trace_id, now_us)
        was_told, lately.is_told = lately.is_told, True
        return not was_told

    async def _keep(
        self, scope: Scope, caller: str, trace_id: str, spans: Sequence[Span], lately: _Lately, now_us: int
    ) -> None:
        """Keeps spans of a trace. What is not kept, or was kept before, leaves the others their room: exporters send
        again what was refused."""
        body = _encoded(Piece(tuple(spans), caller))
        lately.size_bytes += len(body)
        is_new = False
        try:
            at_us = now_us + self._settle_us
            # First, so that a trace that is refused leaves nothing in the store. What has leave goes on to its end: as
            # many traces as are kept side by side may go over the limit.
            await self._jobs.check(scope, KIND, self._job(scope, trace_id, at_us).job_id)
            digest = hashlib.blake2b(_encoded(spans), digest_size=16).hexdigest()
            note = Note(f"{trace_id}/{digest}", trace_id, now_us, body)
            is_new = await self._journal.add(scope, TOPIC, note, KEPT_US)
            await self.look_again(scope, trace_id, at_us, now_us)
        finally:
            if not is_new:
                lately.spans -= len(spans)
                lately.size_bytes -= len(body)

    async def _of_agents(self, scope: Scope, traces: Mapping[str, Sequence[Span]]) -> list[str]:
        """The traces in which an agent works, as far as is known. Its spans may have come to another sidecar, or here
        before a restart: so the journal is asked about spans above an agent, if one is the top or names a conversation.
        Raises what the store raises."""
        found, asked = list[str](), list[str]()
        for trace, spans in traces.items():
            if (scope, trace) in self._known or any(span.kind is not SpanKind.OTHER for span in spans):
                found.append(trace)
            elif any(not span.parent_id or span.session for span in spans):
                asked.append(trace)
        for start in range(0, len(asked), _AT_ONCE):
            batch = asked[start : start + _AT_ONCE]
            notes = await asyncio.gather(*(self._journal.tail(scope, TOPIC, trace, 0, 1, 1) for trace in batch))
            found += (trace for trace, noted in zip(batch, notes, strict=True) if noted)
        return found

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
    """Spans that wait, for erasures. All of a trace goes: its spans tell of one run. Their ids stay, so that nothing is
    made of what comes below them later; another top brings the job again, which finds that the session or turn was
    erased."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def forget(self, scope: Scope, kind: SourceKind, record_id: str) -> int:
        """Drops the notes of this turn's trace, or of the traces of this session; returns how many. Raises what the
        store raises."""
        if kind not in (SourceKind.TURN, SourceKind.SESSION) or not record_id.startswith(PREFIX):
            return 0
        named: set[str] = set()
        async for note in self._notes(scope, None):
            if note.group not in named and _is_of(note.group, piece_in(note.body).spans, kind, record_id):
                named.add(note.group)
        return sum([await self._drop(scope, trace_id) for trace_id in named])

    async def _drop(self, scope: Scope, trace_id: str) -> int:
        """Drops a trace's notes of spans, of which the ids stay; returns how many."""
        waiting = dict[str, int]()
        ids: set[str] = set()
        async for note in self._notes(scope, trace_id):
            if spans := piece_in(note.body).spans:
                waiting[note.key] = note.at_us
                ids.update(span.span_id for span in spans)
        if waiting:
            # First: after a crash between the two, what is left is dropped by the next step, or taken for done.
            await self._journal.add(scope, TOPIC, note_of_done(trace_id, ids, max(waiting.values())), KEPT_US)
        return sum([await self._journal.drop(scope, TOPIC, key) for key in waiting])

    async def _notes(self, scope: Scope, trace_id: str | None) -> AsyncIterator[Entry]:
        after = 0
        while entries := await self._journal.tail(scope, TOPIC, trace_id, after, _PAGE, _PAGE_BYTES):
            after = entries[-1].position
            for entry in entries:
                yield entry


def _is_of(trace_id: str, spans: Sequence[Span], kind: SourceKind, record_id: str) -> bool:
    """Whether spans of a trace belong to this turn or session."""
    if kind is SourceKind.TURN:
        return record_id.startswith(turn_id_of(trace_id, ""))
    own = record_id.startswith(session_id_of(f"{trace_id}-"))
    return own or any(span.session and session_id_of(span.session) == record_id for span in spans)


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


def placed(arrived: Iterable[tuple[int, Sequence[Span]]]) -> list[Span]:
    """The spans of a trace with times of the day before they came. `arrived`: by note, when it came and what it holds.

    A sender's clock may be wrong, or it could not send for days. Then all of the trace is moved by the same time, so
    that no span ends after it came, and one of them just then. Times may be forged too: what began before the last day
    even then is brought to its edge. A span without times is one that took no time when it came.
    """
    pieces = [(at_us, span) for at_us, spans in arrived for span in spans]
    timed = [(at_us, span) for at_us, span in pieces if span.end_us]
    by_us = 0
    if any(span.end_us > at_us or _began(span) < at_us - _DAY_US for at_us, span in timed):
        by_us = min(at_us - span.end_us for at_us, span in timed)
    edge_us = max((at_us for at_us, _ in pieces), default=0) - _DAY_US
    return [_moved(span, at_us, by_us, edge_us) for at_us, span in pieces]


def _began(span: Span) -> int:
    return span.start_us or span.end_us


def _moved(span: Span, at_us: int, by_us: int, edge_us: int) -> Span:
    start_us, end_us = (_began(span) + by_us, span.end_us + by_us) if span.end_us else (at_us, at_us)
    start_us, end_us = max(start_us, edge_us), max(end_us, edge_us)
    if (start_us, end_us) == (span.start_us, span.end_us):
        return span
    return msgspec.structs.replace(span, start_us=start_us, end_us=end_us)
