"""The turn's fold under any order of events, duplicates, reflections, restarts and crashes.

The machine drives the real conductor, recorder and store; what it checks is computed anew from the turn's record, by
rules that are written down here a second time and more simply.
"""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sidemirror_server import assembly
from sidemirror_server.settings import load
from sidemirror_server.thinking.record import (
    Directive,
    Nudge,
    Recorded,
    Reflection,
    SlotClaim,
    TurnSummary,
    draft,
    recorded_in,
)
from sidemirror_server.thinking.reflect import Extra
from sidemirror_server.thinking.schedule import Reason
from sidemirror_server.thinking.turn import apply
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import (
    Event,
    ModelReturned,
    ModelStarted,
    ReflectionRecorded,
    ResponseDrafted,
    ThinkingWish,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    Uncertainty,
    UserMessage,
    What,
    origin_of,
)
from sidemirror_server.trace.log import Entry
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.budget import TurnBudget
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from sidemirror_server.vocabulary.status import ResultStatus
from tests.faults.clocks import SetClock
from tests.faults.models import OnCommand

TURN = TurnId("t")
_call_ids = st.sampled_from(["", "c1", "c2", "c3"])
_whats = st.one_of(
    st.builds(ToolCalled, _call_ids, st.sampled_from(["sql", "http"]), st.sampled_from(["1", "2"]), st.just(False)),
    st.builds(ToolCalled, _call_ids, st.just("wait"), st.just("job"), st.just(True)),
    st.builds(ToolReturned, _call_ids, st.sampled_from(["rows", "none"]), st.booleans()),
    st.builds(ToolFailed, _call_ids, st.sampled_from(["connection refused", "no such table"])),
    st.builds(Uncertainty, st.sampled_from([0.1, 0.5, 0.9])),
    st.builds(ReflectionRecorded, st.just("thought about it")),
    st.sampled_from([UserMessage("and now?"), ModelStarted(), ModelReturned("well"), ResponseDrafted("done")]),
)
_agents = st.sampled_from(["", "", "", "other"])


class Turns(RuleBasedStateMachine):
    """One turn, and everything that can happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.stack = contextlib.AsyncExitStack()
        self.clock = SetClock()
        self.model = OnCommand()
        self.kept: list[Entry] = []
        self.number = 0
        self.run(self._open())

    def run(self, work: Any) -> Any:
        """Runs it, and then what it has set going."""

        async def and_then() -> Any:
            result = await work
            for _ in range(10):
                await asyncio.sleep(0)
            return result

        return self.loop.run_until_complete(and_then())

    async def _open(self) -> None:
        # Without memory: its lessons are looked for in a thread, and whatever happens here must happen the same again.
        given = {"address": "127.0.0.1:0", "data_dir": str(Path(self.folder.name) / "data"), "memory__enabled": "false"}
        self.model = OnCommand()
        made = assembly.assemble(load(given, {}), model=self.model, clock=self.clock)
        self.sidecar = await self.stack.enter_async_context(made)

    async def _close(self) -> None:
        for task in tuple(self.turn.tasks.values()):
            task.cancel()
        if self.turn.finishing is not None:
            self.turn.finishing.cancel()
        await asyncio.sleep(0)
        await self.stack.aclose()

    @initialize(
        level=st.sampled_from(["off", "low", "medium", "medium"]),
        every=st.sampled_from([0, 1, 2]),
        step=st.booleans(),
        slots=st.integers(0, 3),
        limit_s=st.sampled_from([None, None, 60.0]),
        mode=st.sampled_from(["auto", "auto", "on_request"]),
    )
    def begin(self, level: str, every: int, step: bool, slots: int, limit_s: float | None, mode: str) -> None:
        wish = ThinkingWish(level, every, periodic_scope="step" if step else "turn")
        self.started = TurnStarted("s", wish=wish, budget=TurnBudget(slots, limit_s), reflection_mode=mode)
        self.slots = slots
        self.run(self._start())

    async def _start(self) -> None:
        event = Event(EventId("e0"), self.clock.us, self.started, origin_of(self.started))
        self.turn: LiveTurn = await self.sidecar.conductor.start(
            DEFAULT_SCOPE, TURN, event, self.started, is_new=False, wait_for_store=True
        )

    @rule(whats=st.lists(st.tuples(_whats, _agents, st.integers(-3, 1)), min_size=1, max_size=6))
    def report(self, whats: list[tuple[What, str, int]]) -> None:
        """Events, some of which have the id of one that was sent before or stands beside them."""
        events = []
        for what, agent, back in whats:
            self.number += back > 0
            event_id = EventId(f"e{max(1, self.number + min(back, 0))}")
            events.append(Event(event_id, self.clock.us, what, origin_of(what), agent))
        before = len(self._record())
        if self.turn.accepts:
            places = self.run(self._report(events))
            ids = {EventId(entry.event_id): place for place, entry in self._events()}
            assert places == [ids[event.event_id] for event in events]
        elif any(event.event_id not in self.turn.seen for event in events):
            with pytest.raises(WrongState):
                self.run(self._report(events))
            assert len(self._record()) == before

    @rule(
        calls=st.lists(
            st.tuples(st.sampled_from(["sql", "http"]), st.sampled_from(["ok", "same", "failed", "failed"])),
            min_size=1,
            max_size=4,
        ),
        times=st.integers(1, 3),
        agent=_agents,
    )
    def tools_are_used(self, calls: list[tuple[str, str]], times: int, agent: str) -> None:
        """Calls that return at once, the whole list some times over: that is what streaks are made of."""
        for name, comes_of_it in calls * times:
            self.number += 2
            ended = ToolFailed("", "refused") if comes_of_it == "failed" else ToolReturned("", str(self.number))
            if comes_of_it == "same":
                ended = ToolReturned("", "the same")
            whats: tuple[What, What] = (ToolCalled("", name, "1"), ended)
            if self.turn.accepts:
                events = [
                    Event(EventId(f"e{self.number + place}"), self.clock.us, what, origin_of(what), agent)
                    for place, what in enumerate(whats, start=-1)
                ]
                self.run(self._report(events))

    async def _report(self, events: list[Event]) -> list[int]:
        return self.sidecar.conductor.report(self.turn, events)

    # No precondition looks at the turn or at the model: those move when threads have answered, and Hypothesis has to be
    # able to do the same again.

    @rule()
    def reflect(self) -> None:
        self.number += 1
        if not self.turn.accepts:
            return

        async def ask() -> None:
            self.sidecar.conductor.reflect(self.turn, DirectiveId(f"d{self.number}"), Extra(), None)

        self.run(ask())

    @rule(place=st.integers(0, 5), well=st.booleans())
    def model_ends(self, place: int, well: bool) -> None:
        async def end() -> None:
            if self.model.waiting:
                (self.model.answer if well else self.model.fail)(place)

        self.run(end())

    @precondition(lambda self: self.number % 3 == 0)
    @rule(seconds=st.sampled_from([0.5, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: self.number % 2 == 0)
    @rule()
    def becomes_durable(self) -> None:
        async def flush() -> None:
            recording = asyncio.create_task(self.sidecar.recorder.run())
            async with asyncio.timeout(60):
                await self.sidecar.recorder.drain()
            recording.cancel()

        self.run(flush())
        assert self.turn.durable == self.turn.state.last_sequence
        before, self.kept = self.kept, self._kept()
        assert self.kept[: len(before)] == before, "what is durable has changed"

    @precondition(lambda self: self.number % 5 == 0)
    @rule()
    def crashes(self) -> None:
        """What is not durable is gone; the turn is read back, or starts again when nothing of it was kept."""
        self.run(self._close())
        self.run(self._open())

        async def come_back() -> None:
            try:
                self.turn = await self.sidecar.conductor.take_up(DEFAULT_SCOPE, TURN)
            except NotFound:
                assert self.kept == []
                await self._start()

        self.run(come_back())
        assert not self.turn.state.claims, "a claim without a result counts as failed"

    @precondition(lambda self: self.number > 60)
    @rule()
    def finish(self) -> None:
        what = TurnFinished("success")
        if self.turn.accepts:
            self.run(self._report([Event(EventId("last"), self.clock.us, what, origin_of(what))]))

    # --- what holds at every moment ----------------------------------------------------------------------------------

    def _kept(self) -> list[Entry]:
        async def read() -> tuple[Entry, ...]:
            return await self.sidecar._stores.log.read(DEFAULT_SCOPE, TURN, 0, 10_000, 2**30)

        return list(self.loop.run_until_complete(read()))

    def _record(self) -> list[tuple[int, int, Recorded]]:
        """The turn's entries: those that the log has, and those that wait for it."""
        batch = self.turn.take_batch()
        waiting = batch.drafts if batch is not None else ()
        first = waiting[0].sequence if waiting else None
        entries = [(entry.sequence, entry.at_us, recorded_in(entry)) for entry in self._kept()]
        entries = [entry for entry in entries if first is None or entry[0] < first]
        for entry in waiting:
            read = Entry(0, TURN, "s", entry.sequence, entry.at_us, entry.body)
            entries.append((entry.sequence, entry.at_us, recorded_in(read)))
        return entries

    def _events(self) -> list[tuple[int, Event]]:
        return [(sequence, what) for sequence, _, what in self._record() if isinstance(what, Event)]

    @invariant()
    def the_fold_of_the_record_is_the_live_state(self) -> None:
        folded = TurnState()
        for sequence, at_us, recorded in self._record():
            apply(folded, sequence, at_us, recorded)
            assert recorded_in(Entry(0, TURN, "s", sequence, at_us, draft(sequence, at_us, recorded).body)) == recorded
        assert folded == self.turn.state

    @invariant()
    def sequences_have_no_holes_and_events_no_doubles(self) -> None:
        record = self._record()
        assert [sequence for sequence, _, _ in record] == list(range(1, len(record) + 1))
        ids = [event.event_id for _, event in self._events()]
        assert len(ids) == len(set(ids))

    @invariant()
    def slots_stay_within_the_cap(self) -> None:
        """What nobody asked for, and came to nothing because the call worked meanwhile, takes no slot."""
        record = [what for _, _, what in self._record()]
        spent = sum(isinstance(what, SlotClaim) for what in record)
        for what in record:
            if isinstance(what, Directive) and isinstance(what.what, Reflection):
                spent -= what.what.status is ResultStatus.NOTHING and Reason.REQUESTED not in what.reasons
        assert self.turn.state.spent.reflections == spent <= self.slots

    def _calls(self) -> dict[str, tuple[str, str, str]]:
        """By the event in which it ended, each call: agent, tool and arguments."""
        opened: dict[str, tuple[str, str, str]] = {}
        ended: dict[str, tuple[str, str, str]] = {}
        for _, event in self._events():
            match event.what:
                case ToolCalled() as call:
                    opened.pop(call.call_id or event.event_id, None)
                    opened[call.call_id or event.event_id] = event.agent, call.name, call.arguments
                case ToolReturned(call_id=call_id) | ToolFailed(call_id=call_id):
                    own = [one for one, call in opened.items() if call[0] == event.agent]
                    if (key := call_id or (own[-1] if own else "")) in opened:
                        ended[event.event_id] = opened.pop(key)
        return ended

    @invariant()
    def errors_are_cleared_only_by_a_reflection_that_saw_them_or_by_the_same_call_that_works(self) -> None:
        errors: list[tuple[int, str]] = []
        calls = self._calls()
        claimed: dict[str, int] = {}
        for sequence, _, what in self._record():
            if isinstance(what, SlotClaim):
                claimed[what.directive_id] = sequence
            elif isinstance(what, Directive) and isinstance(what.what, Reflection):
                began = claimed.get(what.directive_id, 0)
                if what.what.status in (ResultStatus.OK, ResultStatus.NOTHING) and began:
                    errors = [error for error in errors if error[0] > began]
            elif isinstance(what, Event):
                if isinstance(what.what, ToolFailed) or (isinstance(what.what, ToolReturned) and what.what.is_error):
                    errors.append((sequence, what.event_id))
                elif isinstance(what.what, ToolReturned) and what.event_id in calls:
                    errors = [error for error in errors if calls.get(EventId(error[1])) != calls[what.event_id]]
                elif isinstance(what.what, ReflectionRecorded):
                    errors = []
        expected = [event_id for _, event_id in errors][-20:]
        assert [error.event_id for error in self.turn.state.tool_errors] == expected

    @invariant()
    def each_streak_is_told_once(self) -> None:
        """Two nudges about the same pattern of the same agent never speak of the same event."""
        agents = {event.event_id: event.agent for _, event in self._events()}
        told: dict[tuple[object, str], set[str]] = {}
        for _, _, what in self._record():
            if isinstance(what, Directive) and isinstance(what.what, Nudge):
                key = (what.what.pattern, agents[what.caused_by[-1]])
                spoken_of = told.setdefault(key, set())
                assert not spoken_of.intersection(what.caused_by)
                spoken_of.update(what.caused_by)

    @invariant()
    def what_was_skipped_is_told_once_and_nothing_follows_the_summary(self) -> None:
        record = [what for _, _, what in self._record()]
        claims = {what.directive_id for what in record if isinstance(what, SlotClaim)}
        skips = [
            what.what.status
            for what in record
            if isinstance(what, Directive) and isinstance(what.what, Reflection) and what.directive_id not in claims
        ]
        assert len(skips) == len(set(skips))
        ends = [isinstance(what, Directive) and isinstance(what.what, TurnSummary) for what in record]
        assert True not in ends[:-1]

    def teardown(self) -> None:
        if hasattr(self, "turn"):
            self.run(self._close())
        else:
            self.run(self.stack.aclose())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        self.folder.cleanup()


_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]


# A slow disk takes its time with the hundreds of commits.
@pytest.mark.timeout(300)
class TestTurns(Turns.TestCase):  # type: ignore[misc, valid-type]  # made by Hypothesis at run time
    """Seen to fail when a second open claim takes no slot, when `_clear_until` clears all errors, when `advance`
    forgets what it told, when `Reflections.skip` tells every time, when `begin` does not look at the budget, when
    `report` ignores `seen`, and when `_find` does not give up what a crash left behind."""

    # Without shrinking, which would take longer than a test may: the long one shrinks what it finds.
    settings = settings(
        max_examples=25,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=_CHECKS,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        report_multiple_bugs=False,
    )


@pytest.mark.long
@pytest.mark.timeout(900)
class TestTurnsForLong(Turns.TestCase):  # type: ignore[misc, valid-type]  # made by Hypothesis at run time
    """The same with more patience."""

    settings = settings(max_examples=400, stateful_step_count=60, deadline=None, suppress_health_check=_CHECKS)
