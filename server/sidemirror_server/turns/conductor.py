"""Conducts turns: records events, applies them to turns, and starts the reflections and critiques that are due.

Only this module and `evictions.py` decide which turns are in memory. All verbs answer from memory: `recorder.py` writes
to the disk, and models are asked in other tasks (decision 012).
"""

import asyncio
from collections.abc import Sequence

import msgspec

from sidemirror_server.thinking.config import NO_DEFAULTS, SessionDefaults, ThinkingConfig
from sidemirror_server.thinking.plan import config_of, make_plan
from sidemirror_server.thinking.record import Advised, Directive, Nudge, TurnSummary, recorded_in
from sidemirror_server.thinking.reflect import Extra
from sidemirror_server.thinking.schedule import Reason
from sidemirror_server.thinking.sessions import config_body
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.thinking.turn import decision
from sidemirror_server.trace.event import (
    ContextWish,
    Event,
    ResponseDrafted,
    SessionNamed,
    TurnFinished,
    TurnStarted,
)
from sidemirror_server.trace.log import TurnLog, TurnStanding
from sidemirror_server.turns.advice_changes import AdviceChanges
from sidemirror_server.turns.critiquing import TurnCritiques
from sidemirror_server.turns.ending import Endings
from sidemirror_server.turns.evictions import Evictions
from sidemirror_server.turns.lessons import Lessons, StartLessons
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.naming import Naming
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.recovery_advice import RecoveryAdvice
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.turns.session_past import SessionPast, SessionPasts
from sidemirror_server.turns.teaching import Teacher
from sidemirror_server.turns.turn_cache import TurnCache
from sidemirror_server.vocabulary.budget import Claim
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
from sidemirror_server.vocabulary.giving_way import GivesWay
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, SessionId, TurnId, new_id
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.silence import SilenceReason
from sidemirror_server.vocabulary.traffic import Sender, Traffic

# Limits of one read, in entries and bytes, when a turn is loaded from the log.
_PAGE = 500
_PAGE_BYTES = 4 * 1024 * 1024
# How many turns are read back side by side; after a crash all are asked for at once, and the first ones go on long
# before the last. Chosen here: one waits for the store while another one is folded.
_READ_BACK = 4
# How many events are taken in before other calls go on. Chosen here: a millisecond or two.
_TAKEN_AT_ONCE = 25


class Conductor:
    """Runs the turns of this process."""

    def __init__(
        self,
        log: TurnLog,
        sessions: Sessions,
        recorder: Recorder,
        reflections: Reflections,
        critiques: TurnCritiques,
        lessons: Lessons,
        clock: Clock,
        limits: TurnLimits,
        recoveries: RecoveryAdvice | None = None,
        defaults: SessionDefaults = NO_DEFAULTS,
        teacher: Teacher | None = None,
        changes: AdviceChanges | None = None,
        *,
        is_shadow: bool = False,
        traffic: Traffic | None = None,
    ) -> None:
        """`recoveries` None: no advice at failing calls. `teacher` None: nothing is learned from ended turns.
        `changes` None: the mode is not noted. `is_shadow`: what turns would be told is kept and not sent. `traffic`:
        whose events there are; None: nobody counts them."""
        self._traffic = traffic
        self._is_shadow = is_shadow
        self._changes = changes
        self._defaults = defaults
        self._log = log
        self._sessions = sessions
        self._recorder = recorder
        self._reflections = reflections
        self._critiques = critiques
        self._lessons = lessons
        self._clock = clock
        self._limits = limits
        self._recoveries = recoveries
        self._held = TurnCache()
        self._reading_back = asyncio.Semaphore(_READ_BACK)
        self._pasts = SessionPasts(self._held, log, sessions, recorder, SessionPast(defaults.config))
        self._naming = Naming(self._held, self._pasts)
        self._endings = Endings(recorder, reflections, critiques, clock, limits.finish_grace_s, teacher)
        self.evictions = Evictions(self._held, log, recorder, self._pasts, self._endings, clock, limits, self.take_up)

    async def start(
        self, scope: Scope, turn_id: TurnId, event: Event, started: TurnStarted, *, is_new: bool, wait_for_store: bool
    ) -> LiveTurn:
        """Starts a turn with `event` and records its plan. A repeated event returns the turn that it started.

        `is_new`: the turn's id was made just now, so the store is not asked for it. `wait_for_store`: if false and the
        store is away, the turn starts without the store, with a warning in its plan. Raises AlreadyExists for a taken
        id, BadInput for a turn of another session, StoreUnavailable.
        """
        session_id = SessionId(started.session_id)
        async with self._held.turn_lock(scope, turn_id), self._held.session_lock(scope, session_id):
            warnings: tuple[str, ...] = ()
            try:
                known = None if is_new else await self._find(scope, turn_id)
                if known is not None:
                    return _again(known, event, started)
                past = await self._pasts.of(scope, session_id)
            except (StoreUnavailable, StoreFull):
                if wait_for_store:
                    raise
                warnings = ("the store is away: the session's earlier turns are not known",)
                past = SessionPast(self._defaults.config)
            if not past.exists:  # the session keeps the configuration of its first turn
                past = msgspec.structs.replace(past, config=config_of(started, past.config))
            by_default = self._defaults.has_context and not started.without_advice
            wish = started.context or (ContextWish() if by_default else None)
            if started.from_spans:  # it has ended, and nobody hears what it is told
                wish = None
            lessons = await self._lessons.for_turn(
                *(scope, turn_id, started, wish, past.carried.tool_errors),
                has_shell=config_of(started, past.config).has_shell,
            )
            if self._changes is not None:
                self._changes.begin(scope)
            # The first append makes the session if it is missing or was deleted.
            turn = self._followed(LiveTurn(scope, config_body(past.config), past.carried_from))
            self._record_start(turn, turn_id, event, started, past, warnings, lessons)
            self._held.hold(turn)
            self.evictions.make_room()
            self._held.warm(turn, past.config, past.turn_count + 1, is_known=not warnings)
            return turn

    def check_start(self, scope: Scope, turn_id: TurnId, events: int) -> None:
        """Raises LimitReached if a turn may not begin with this many events. No event has been recorded by then."""
        if events > self._limits.events_per_turn:
            raise LimitReached("events_per_turn", self._limits.events_per_turn, turn_id)
        self._recorder.check_room(scope)

    async def take_up(self, scope: Scope, turn_id: TurnId) -> LiveTurn:
        """The turn, from memory or from the log. Raises NotFound, StoreUnavailable."""
        turn = self._held.get(scope, turn_id)
        if turn is None:
            async with self._held.turn_lock(scope, turn_id):
                turn = await self._find(scope, turn_id)
        if turn is None:
            raise NotFound("turn", turn_id)
        turn.heard_s = self._clock.monotonic_s()
        return turn

    async def completed(self, scope: Scope, turn_id: TurnId) -> LiveTurn | None:
        """Records the missing summary of a finished turn after a crash, and returns the turn. None for every other
        turn. Raises StoreUnavailable."""
        head = await self._log.head(scope, turn_id)
        if head is None or head.standing is not TurnStanding.FINISHED:
            return None
        if self._clock.now_us() - head.updated_us < self._limits.summary_due_s * 1e6:
            return None
        last = await self._log.read(scope, turn_id, head.last_sequence - 1, 1, _PAGE_BYTES)
        recorded = recorded_in(last[0]) if last else None
        if isinstance(recorded, Directive) and isinstance(recorded.what, TurnSummary):
            return None
        return await self.take_up(scope, turn_id)

    def in_memory(self, scope: Scope, turn_id: TurnId) -> LiveTurn | None:
        """The turn if it is in memory and no other server has taken it over, else None."""
        return self._held.get(scope, turn_id)

    async def take_up_named(self, scope: Scope, turn_id: str, session_id: str) -> LiveTurn:
        """The turn, or without `turn_id` the session's newest one, open or not. Raises BadInput when the turn is not of
        that session or neither is given; NotFound; what the store raises."""
        if turn_id:
            turn = await self.take_up(scope, TurnId(turn_id))
            if session_id and session_id not in (turn.state.session_id, turn.state.begun_in):
                raise BadInput([("session_id", "the turn belongs to another session")])
            return turn
        if not session_id:
            raise BadInput([("turn_id", "turn_id or session_id is required")])
        hot = self._held.hot(scope, SessionId(session_id))
        if hot is not None and hot.newest.lost is None:
            hot.newest.heard_s = self._clock.monotonic_s()
            return hot.newest
        head = await self._log.newest(scope, SessionId(session_id))
        if head is None:
            raise NotFound("turn of session", session_id)
        return await self.take_up(scope, head.turn_id)

    async def newest_open(self, scope: Scope, session_id: SessionId) -> LiveTurn | None:
        """The session's newest turn if it is open, else None. Raises what the store raises."""
        turn_id = await self.open_in(scope, session_id)
        return await self.take_up(scope, turn_id) if turn_id else None

    async def open_in(self, scope: Scope, session_id: SessionId) -> TurnId:
        """The id of the session's newest turn if it is open, wherever it is in memory; else empty. Raises what the
        store raises."""
        hot = self._held.hot(scope, session_id)
        if hot is not None:
            return hot.newest.state.turn_id if hot.newest.accepts else TurnId("")
        head = await self._log.newest(scope, session_id)
        return head.turn_id if head is not None and head.standing is TurnStanding.OPEN else TurnId("")

    def __len__(self) -> int:
        """How many turns are in memory."""
        return len(self._held)

    def changing(self, scope: Scope, session_id: SessionId) -> asyncio.Lock:
        """Held while a session's configuration is changed: no other change is made, and no turn of it starts."""
        return self._held.session_lock(scope, session_id)

    def session_changed(self, scope: Scope, session_id: SessionId, config: ThinkingConfig) -> None:
        """Turns of the session that start from now on get this configuration. Call it while `changing` is held."""
        hot = self._held.hot(scope, session_id)
        if hot is not None:
            hot.config = config

    def report(self, turn: LiveTurn, events: Sequence[Event]) -> list[int]:
        """Records events in an open turn, all or none, and starts the reflections and critiques that are due. Returns
        each event's sequence in the turn, also for events that the turn already has.

        `turn_finished` may only come last. Raises WrongState when the turn is over, LimitReached.
        """
        fresh = self._fresh(turn, events)
        self._record_events(turn, fresh)
        self._submit(turn, fresh)
        return [turn.seen[event.event_id] for event in events]

    async def take_in(self, turn: LiveTurn, events: Sequence[Event], first: int = 0) -> list[int]:
        """Records events like `report`, those too that name the turn's session, while other calls go on. `first`: the
        index of `events[0]` in its request. Raises BadInput, if the session has a name already."""
        if len(events) <= _TAKEN_AT_ONCE and not turn.taking_in.locked() and not _names_session(events):
            return self.report(turn, events)
        async with turn.taking_in:
            if _names_session(events):
                return await self._naming.record(turn, events, first, self.report)
            return await self._report_in_parts(turn, events)

    async def _report_in_parts(self, turn: LiveTurn, events: Sequence[Event]) -> list[int]:
        fresh = self._fresh(turn, events)
        done = 0
        try:
            while done + _TAKEN_AT_ONCE < len(fresh) and turn.lost is None:
                self._record_events(turn, fresh[done : done + _TAKEN_AT_ONCE])
                done += _TAKEN_AT_ONCE
                await asyncio.sleep(0)
        finally:
            if turn.lost is None:  # also for a caller that has left: all are taken, or none
                self._record_events(turn, fresh[done:])
                self._submit(turn, fresh)
        if turn.lost is not None:
            raise turn.lost
        return [turn.seen[event.event_id] for event in events]

    def _fresh(self, turn: LiveTurn, events: Sequence[Event]) -> list[Event]:
        """The events that the turn does not have, which it may take. Raises as `report` does."""
        if turn.lost is not None:
            raise turn.lost
        fresh: dict[EventId, Event] = {}
        for event in events:
            if event.event_id not in turn.seen:
                # Of several events with the same id, the first counts.
                fresh.setdefault(event.event_id, event)
        if self._traffic is not None:
            self._traffic.events(Sender("", turn.scope, turn.state.session_id), len(events))
        if fresh:
            self._check(turn, fresh)
        return list(fresh.values())

    def _record_events(self, turn: LiveTurn, fresh: Sequence[Event]) -> None:
        now_us = self._clock.now_us()
        for event in fresh:
            turn.seen[event.event_id] = turn.record(event, now_us)
            self._react(turn, event, now_us)

    def _submit(self, turn: LiveTurn, fresh: Sequence[Event]) -> None:
        """What was recorded is on its way to the log."""
        if not fresh:
            return
        turn.heard_s = self._clock.monotonic_s()
        self._held.weigh(turn)
        self.evictions.make_room()
        self._recorder.submit(turn, gather=True)
        turn.wake()

    def _check(self, turn: LiveTurn, fresh: dict[EventId, Event]) -> None:
        if not turn.accepts:
            raise WrongState("turn", turn.state.turn_id, turn.state.standing.value)
        most = self._limits.events_per_turn
        # `turn_finished`, which comes last, is always accepted, so that a turn at a limit can still be finished.
        ends = isinstance(next(reversed(fresh.values())).what, TurnFinished)
        if turn.state.event_count + len(fresh) - ends > most:
            raise LimitReached("events_per_turn", most, turn.state.turn_id)
        if turn.recorded_bytes >= self._limits.turn_bytes and len(fresh) > ends:
            raise LimitReached("turn_bytes", self._limits.turn_bytes, turn.state.turn_id)
        self._recorder.check_room(turn.scope)

    def _react(self, turn: LiveTurn, event: Event, now_us: int) -> None:
        """Records nudges, and starts the reflection or critique that the event makes due."""
        state = turn.state
        messages = [finding.message for finding in state.findings]
        if self._recoveries is not None:
            # Before any nudge is recorded: whether a call has failed, only the latest entry says.
            messages = [self._recoveries.nudge(turn, finding) for finding in state.findings]
            self._recoveries.look(turn, event)
        for finding, message in () if state.without_advice else zip(state.findings, messages, strict=True):
            caused_by = tuple(EventId(caused) for caused in finding.event_ids)
            nudge = Nudge(finding.pattern, message)
            turn.record(Directive(DirectiveId(new_id(now_us)), now_us, nudge, caused_by), now_us)
        self._reflections.look(turn, event.event_id)
        if isinstance(event.what, ResponseDrafted) and state.standing is TurnStanding.OPEN:
            self._critiques.drafted(turn, event.event_id, event.what)
        if state.standing is TurnStanding.FINISHED and turn.finishing is None:
            self._endings.finish(turn)

    def _followed(self, turn: LiveTurn) -> LiveTurn:
        """A turn without entries in memory, whose calls are followed from now on."""
        if self._recoveries is not None:
            self._recoveries.follow(turn)
        return turn

    def reflect(self, turn: LiveTurn, directive_id: DirectiveId, extra: Extra, rpc_remaining_s: float | None) -> Claim:
        """Starts a reflection that the agent asks for, whatever the schedule says; its directive gets `directive_id`.
        If the claim is not OK, it says why the budget forbids it. Raises WrongState when the turn is over."""
        if not turn.accepts:
            raise WrongState("turn", turn.state.turn_id, turn.state.standing.value)
        decided = decision(turn.state)
        reasons = decided.matches if decided.should_reflect else (Reason.REQUESTED,)
        if turn.state.is_shadow:  # what is asked for is answered, whatever the schedule says of it
            reasons = tuple(dict.fromkeys((*reasons, Reason.REQUESTED)))
        caused_by = tuple(error.event_id for error in turn.state.tool_errors)
        claimed, _ = self._reflections.begin(
            turn, reasons, caused_by, directive_id=directive_id, extra=extra, rpc_remaining_s=rpc_remaining_s
        )
        turn.wake()
        return claimed

    async def settle_session(self, scope: Scope, session_id: SessionId) -> None:
        """Returns when every entry of the session's turns in memory is durable. Raises what the store raises."""
        await self._pasts.settle(scope, session_id)

    async def delete_session(self, scope: Scope, session_id: SessionId) -> None:
        """Deletes the session and its turns, in memory too. No turn of the session starts meanwhile. Raises NotFound,
        WrongState while one of its turns is open, and what the store raises."""
        async with self._held.session_lock(scope, session_id):
            turns = self._held.of_session(scope, session_id)
            if ends := [turn.finishing for turn in turns if turn.finishing is not None]:
                await asyncio.wait(ends)
            await self.settle_session(scope, session_id)
            if any(turn.lost is None and not turn.over for turn in self._held.of_session(scope, session_id)):
                raise WrongState("session", session_id, "a turn is open")
            await self._sessions.delete(scope, session_id)
            for turn in self._held.of_session(scope, session_id):
                self._held.forget(turn)

    async def _find(self, scope: Scope, turn_id: TurnId) -> LiveTurn | None:
        """The turn, from memory or as the fold of its log entries, or None. Call it under the turn's lock."""
        turn = self._held.get(scope, turn_id)
        if turn is not None:
            return turn
        head = await self._log.head(scope, turn_id)
        if head is None:
            return None
        turn = self._followed(LiveTurn(scope, rewritten=head.rewritten))
        async with self._reading_back:
            await self._read_back(turn, turn_id)
        if turn.durable < head.last_sequence:  # another server has deleted it meanwhile
            return None
        turn.heard_s = self._clock.monotonic_s()
        self._held.hold(turn)
        self.evictions.make_room()
        if not turn.over:
            self._endings.restarted(turn)
        return turn

    async def _read_back(self, turn: LiveTurn, turn_id: TurnId) -> None:
        """Applies the turn's entries in the log, while other calls go on."""
        gives_way = GivesWay()
        while entries := await self._log.read(turn.scope, turn_id, turn.durable, _PAGE, _PAGE_BYTES):
            for entry in entries:
                await gives_way()
                recorded = recorded_in(entry)
                turn.restore(entry.sequence, entry.at_us, recorded, len(entry.body))
                if isinstance(recorded, Event):
                    turn.seen[recorded.event_id] = entry.sequence

    def _record_start(
        self,
        turn: LiveTurn,
        turn_id: TurnId,
        event: Event,
        started: TurnStarted,
        past: SessionPast,
        warnings: tuple[str, ...],
        lessons: StartLessons,
    ) -> None:
        now_us = self._clock.now_us()
        turn.heard_s = self._clock.monotonic_s()
        session_id = SessionId(started.session_id)
        context, silence = lessons.block, lessons.silence
        if self._is_shadow:
            silence = silence or SilenceReason.SHADOW
        plan = make_plan(
            *(turn_id, session_id, past.turn_count + 1, started, past.config, past.carried, now_us),
            (*warnings, *lessons.warnings),
            context=None if self._is_shadow else context,
            learns=self._defaults.learns,
            is_shadow=self._is_shadow,
            silence=silence or "",
        )
        turn.seen[event.event_id] = turn.record(event, now_us)
        turn.record(Directive(DirectiveId(new_id(now_us)), now_us, plan, (event.event_id,)), now_us)
        if self._is_shadow and context is not None and context.items:
            advice = Advised(context, "")
            turn.record(Directive(DirectiveId(new_id(now_us)), now_us, advice, (event.event_id,)), now_us)
        self._recorder.submit(turn)


def _names_session(events: Sequence[Event]) -> bool:
    return any(isinstance(event.what, SessionNamed) for event in events)


def _again(turn: LiveTurn, event: Event, started: TurnStarted) -> LiveTurn:
    """The turn, if `event` started it. Raises BadInput for another session that it names, AlreadyExists for another
    event."""
    if not started.own_session and started.session_id not in (turn.state.session_id, turn.state.begun_in):
        raise BadInput([("session_id", "the turn belongs to another session")])
    if turn.seen.get(event.event_id) != 1:
        raise AlreadyExists("turn", turn.state.turn_id)
    return turn
