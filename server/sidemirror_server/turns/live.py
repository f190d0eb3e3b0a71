"""A turn in memory: its state, its entries that are not durable yet, and its listeners.

`conductor.py` makes and drives it; `recorder.py` takes its drafts to the log; streams follow it through a `Listener`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from sidemirror_server.memory.finding.context import FailedCall
from sidemirror_server.thinking.record import Advised, Carry, Directive, Recorded, Reflection, TurnPlan, draft, shown_in
from sidemirror_server.thinking.turn import apply, carry
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.given_secrets import GivenSecrets
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.trace.receipts import item_key
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.turns.calls import TurnCalls
from sidemirror_server.turns.counting import count
from sidemirror_server.turns.head import head_body
from sidemirror_server.turns.lessons import FailureLessons
from sidemirror_server.turns.shadow import kept
from sidemirror_server.turns.shell import told
from sidemirror_server.turns.teaching import Taught
from sidemirror_server.vocabulary.block import BlockItem
from sidemirror_server.vocabulary.errors import SidemirrorError, WrongState
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope

# How many directives a turn keeps in memory for slow streams. Older ones are in the log; a stream that needs them is
# told of a gap. Chosen here: far more than a stream with a normal delay needs.
KEPT_DIRECTIVES = 1_000


class CarriedFrom(msgspec.Struct, frozen=True):
    """What the state came from that a turn gets from earlier ones of its session, as in `trace/log.py:Batch`."""

    began_with: tuple[tuple[TurnId, int], ...] = ()
    rests_on: tuple[tuple[str, int], ...] = ()


NOTHING_CARRIED = CarriedFrom()


class Said(msgspec.Struct, frozen=True):
    """A directive and its sequence in the turn."""

    sequence: int
    directive: Directive


class LiveTurn:
    """A turn that still takes events, or whose end is not durable yet."""

    def __init__(
        self,
        scope: Scope,
        session_body: bytes | None = None,
        carried_from: CarriedFrom = NOTHING_CARRIED,
        rewritten: int = 0,
    ) -> None:
        """`session_body`: used by the first batch to create a missing session. `carried_from`: what a new turn
        begins with came from that. A turn from the log has neither; `rewritten` is that of its head."""
        self.scope = scope
        self._rewritten = rewritten
        self.state = TurnState()
        self.seen: dict[EventId, int] = {}
        self.given = GivenSecrets()
        self.said: deque[Said] = deque(maxlen=KEPT_DIRECTIVES)
        self.forgotten = 0
        self._plan: TurnPlan | None = None
        self.durable = 0
        # The last sequence in the log when this process loaded the turn; None for a turn that was started here.
        self._read_up_to: int | None = None
        self.failure: SidemirrorError | None = None
        self.lost: SidemirrorError | None = None
        self.heard_s = 0.0
        self.tasks: dict[DirectiveId, asyncio.Task[None]] = {}
        # Look-ups of advice for failing calls, and the calls that they follow; None while nobody follows them.
        self.telling: dict[DirectiveId, asyncio.Task[None]] = {}
        self._about: tuple[tuple[FailedCall, ...], asyncio.Task[FailureLessons]] | None = None
        self.calls: TurnCalls | None = None
        # Held while many events are taken in, one part after the other: no others may come between them.
        self.taking_in = asyncio.Lock()
        self.finishing: asyncio.Task[None] | None = None
        self._pending: list[Draft] = []
        # Bytes of the entries that are not durable yet.
        self.pending_bytes = 0
        # Bytes of all the turn's entries, as the log keeps them.
        self.recorded_bytes = 0
        # The part of `recorded_bytes` that `turn_cache.py` has counted.
        self.held_bytes = 0
        self._session_body = session_body
        # The sources of the entries that are not durable yet. A subject or a lesson has its entry's sequence, and the
        # time since which it counts as heard; what came from earlier turns, the sequence of the entry that brought it.
        self._subjects: list[tuple[int, str, int]] = []
        self._lessons: list[tuple[int, str]] = []
        self._carried_from = [(1, carried_from)] if carried_from != NOTHING_CARRIED else []
        # What becomes of the turn at its end.
        self._taught = Taught()
        # The session that the turn has left, until that is durable.
        self._session_was: SessionId | None = None
        self._listeners: set[Listener] = set()

    def record(self, recorded: Recorded, now_us: int) -> int:
        """Takes an entry into the turn and returns its sequence. The entry is not durable yet."""
        state = self.state
        if isinstance(recorded, Directive):
            recorded = kept(recorded) if state.is_shadow else recorded
            recorded = told(recorded, has_shell=state.config.has_shell)
        sequence = state.last_sequence + 1
        apply(state, sequence, now_us, recorded)
        if self.calls is not None:
            self.calls.take(recorded)
        count(recorded)
        entry = draft(sequence, now_us, recorded)
        self._pending.append(entry)
        self.pending_bytes += len(entry.body)
        self.recorded_bytes += len(entry.body)
        if isinstance(recorded, Directive):
            self._keep(sequence, recorded)
            self._lessons += [(sequence, item_key(item)) for item in shown_in(recorded)]
        elif isinstance(recorded, Event):
            self._subjects += [(sequence, subject_id, now_us) for subject_id in recorded.subject_ids]
        return sequence

    def restore(self, sequence: int, at_us: int, recorded: Recorded, size_bytes: int = 0) -> None:
        """Applies an entry from the log. `size_bytes`: the size of its body."""
        self.recorded_bytes += size_bytes
        apply(self.state, sequence, at_us, recorded)
        if self.calls is not None:
            self.calls.take(recorded)
        self.durable = self._read_up_to = sequence
        if isinstance(recorded, Directive):
            self._keep(sequence, recorded)

    def _keep(self, sequence: int, directive: Directive) -> None:
        if isinstance(directive.what, TurnPlan):
            self._plan = directive.what
        if len(self.said) == KEPT_DIRECTIVES:
            self.forgotten = self.said[0].sequence
        self.said.append(Said(sequence, directive))

    @property
    def plan(self) -> TurnPlan:
        """How to run the turn. The plan is the second entry of every turn."""
        if self._plan is None:
            raise WrongState("turn", self.state.turn_id, "without a plan")
        return self._plan

    def moved(self, session_was: SessionId, session_body: bytes, carried_from: CarriedFrom) -> None:
        """The last entries have moved the turn from this session to another one, which `session_body` creates if it is
        missing."""
        self._session_was, self._session_body = session_was, session_body
        if carried_from != NOTHING_CARRIED:
            self._carried_from.append((self.state.last_sequence, carried_from))

    def take_batch(self) -> Batch | None:
        """The entries that are not durable yet, for one append; None if none. They stay pending until `settle`."""
        if not self._pending:
            return None
        state = self.state
        head = TurnHead(
            turn_id=state.turn_id,
            session_id=state.session_id,
            turn_count=state.turn_count,
            standing=state.standing,
            last_sequence=state.last_sequence,
            started_us=state.started_us,
            updated_us=state.updated_us,
            body=head_body(state, self._taught.left),
            rewritten=self._rewritten,
            outcome=state.outcome,
        )
        return Batch(
            *(head, tuple(self._pending), self._session_body),
            subject_ids=tuple(sorted({subject_id for _, subject_id, _ in self._subjects})),
            session_was=self._session_was,
            sequel=self._taught.sequel,
            began_with=tuple(one for _, came in self._carried_from for one in came.began_with),
            rests_on=(
                *(one for _, came in self._carried_from for one in came.rests_on),
                *((name, 0) for _, name in self._lessons),
            ),
        )

    def passes_on(self) -> CarriedFrom:
        """What the state came from that the session's next turn gets while this one is in memory. What is not durable
        yet may turn out to be erased, so the next turn rests on its sources too."""
        if carry(self.state) == Carry():
            return NOTHING_CARRIED
        came = [one for _, one in self._carried_from]
        return CarriedFrom(
            (*(turn for one in came for turn in one.began_with), (self.state.turn_id, self._rewritten)),
            (
                *(source for one in came for source in one.rests_on),
                *((key(SourceKind.SUBJECT, subject_id), heard_us) for _, subject_id, heard_us in self._subjects),
            ),
        )

    def ends_with(self, taught: Taught) -> None:
        """What becomes of the turn, whose last entry was just recorded: stored together with that entry."""
        self._taught = taught

    def settle(self, batch: Batch) -> None:
        """Removes the entries of `batch`, which are durable now."""
        del self._pending[: len(batch.drafts)]
        self.pending_bytes -= sum(len(entry.body) for entry in batch.drafts)
        if batch.head.session_id == self.state.session_id:
            self._session_body = self._session_was = None
        self.durable = batch.drafts[-1].sequence
        self._subjects = [one for one in self._subjects if one[0] > self.durable]
        self._lessons = [one for one in self._lessons if one[0] > self.durable]
        self._carried_from = [one for one in self._carried_from if one[0] > self.durable]
        self.failure = None
        self.wake()

    def fail(self, failure: SidemirrorError) -> None:
        """Notes that an append failed. The entries stay pending, for a retry."""
        self.failure = failure
        self.wake()

    def lose(self, failure: SidemirrorError) -> None:
        """Drops the pending entries and ends what is in progress, because the turn goes on without this process:
        another server has taken it over, or a part of it is erased."""
        self.lost = failure
        for task in (*self.tasks.values(), *self.telling.values(), self.finishing):
            if task is not None:
                task.cancel()
        self._pending.clear()
        self.pending_bytes = 0
        self.fail(failure)

    @property
    def over(self) -> bool:
        """Whether the turn has its summary, after which nothing is recorded."""
        return self.state.summary is not None

    @property
    def idle(self) -> bool:
        """Whether the turn has no pending entries, no listeners and no tasks."""
        return not (self._pending or self._listeners or self.tasks or self.telling or self.finishing)

    @property
    def accepts(self) -> bool:
        """Whether the turn still takes events."""
        return self.state.standing is TurnStanding.OPEN

    def look_up(
        self, failures: tuple[FailedCall, ...], asked: Callable[[], Coroutine[Any, Any, FailureLessons]]
    ) -> "asyncio.Task[FailureLessons]":
        """The look-up of the lessons about these failures, begun by whoever needs it first: advice at a failing call,
        or the reflection beside it. Shield it: others may wait for it, too."""
        if self._about is None or self._about[0] != failures:
            self._about = (failures, asyncio.create_task(asked()))
        return self._about[1]

    def looked_up(self, looking_up: "asyncio.Task[FailureLessons] | None" = None) -> None:
        """The next one who asks looks up anew; if `looking_up` is given, only if that was the last look-up."""
        if looking_up is None or (self._about is not None and self._about[1] is looking_up):
            self._about = None

    @property
    def brought(self) -> frozenset[str]:
        """Ids of the lessons that reflections and advice have brought in this turn, and of those for which a block of
        advice had no room."""
        found: set[str] = set()
        for said in self.said:
            what = said.directive.what
            if isinstance(what, Reflection) and what.lessons is not None:
                found.update(item.id for item in what.lessons.items)
            elif isinstance(what, Advised):
                found.update(item.id for item in what.block.items)
                found.update(left.id for left in what.block.omitted)
        return frozenset(found)

    @property
    def told_at_failures(self) -> tuple[BlockItem, ...]:
        """What blocks of advice have told in this turn."""
        return tuple(
            item
            for said in self.said
            if isinstance(said.directive.what, Advised) and not said.directive.is_shadow
            for item in said.directive.what.block.items
        )

    def listen(self, after_sequence: int) -> "Listener":
        """Follows the turn's directives after `after_sequence`. Close the listener when done."""
        listener = Listener(self, after_sequence)
        self._listeners.add(listener)
        return listener

    def resume_after(self, seen: int) -> int:
        """The sequence after which a stream must resume if it has seen the directives up to `seen`.

        A stream gets directives before they are durable. If a crash loses some, other entries get their sequences. So a
        stream resumes no later than the end of the log that this process loaded.
        """
        return min(seen, self.state.last_sequence if self._read_up_to is None else self._read_up_to)

    def leave(self, listener: "Listener") -> None:
        self._listeners.discard(listener)

    def wake(self) -> None:
        """Wakes the listeners, because something has changed."""
        for listener in self._listeners:
            listener.wake()


class Listener:
    """One follower of a turn's directives. A slow follower delays nobody: the turn keeps the directives for it."""

    def __init__(self, turn: LiveTurn, after_sequence: int) -> None:
        self._turn = turn
        self._after = after_sequence
        self._woken = asyncio.Event()

    def take(self) -> tuple[tuple[int, int] | None, list[Said]]:
        """The missed sequences as (first, last), or None, and the directives since the last call."""
        turn, after = self._turn, self._after
        self._woken.clear()
        missed = None
        if turn.forgotten > after:
            missed = (after + 1, turn.forgotten)
        said = turn.said
        if not said or said[-1].sequence <= after:
            return missed, []
        fresh: list[Said] = []
        for item in reversed(said):
            if item.sequence <= after:
                break
            fresh.append(item)
        fresh.reverse()
        self._after = fresh[-1].sequence
        return missed, fresh

    def wake(self) -> None:
        self._woken.set()

    async def wait(self) -> None:
        """Returns as soon as something may have changed since the last `take`."""
        await self._woken.wait()

    def close(self) -> None:
        self._turn.leave(self)
