"""A turn reported beside the agent, in two fronts: `Turn` for agents on a loop, `SyncTurn` for those without one.

Both hand what is reported to the same queue, and have everything that waits done on the loop of `background.py`.
"""

import asyncio
import logging
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol, Required, Self, TypedDict, TypeVar

import grpc

from sidemirror.v1 import common_pb2, critique_pb2, goal_reflection_pb2, reflective_memory_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.background import BACKGROUND
from sidemirror_client.delivery import Delivery
from sidemirror_client.link import FIRST_PAUSE_S, Link
from sidemirror_client.losses import Losses
from sidemirror_client.problem import is_refused
from sidemirror_client.text import sendable
from sidemirror_client.turn_queue import End, Queue, Wakes, cut

T = TypeVar("T")
_log = logging.getLogger("sidemirror_client")
# Defaults, in seconds.
PLAN_S = SUMMARY_S = ADVICE_S = 1.0
RECALL_S = 2.0
CRITIQUE_S = 10.0
# The sidecar gives no more at once.
MOST_LESSONS = 20
_UNSPECIFIED = common_pb2.TASK_OUTCOME_UNSPECIFIED


class Started(TypedDict, total=False):
    """Fields of `TurnStarted`: what is known when a turn begins."""

    session_id: str
    task: str
    messages: Sequence[common_pb2.Message]
    base_prompt: str
    provider: str
    model: str
    config: pb.ThinkingConfig
    budget: pb.TurnBudget
    deadline: Any
    reflection_mode: pb.ReflectionMode
    critique_mode: common_pb2.CritiqueMode
    context: pb.ContextWish
    has_shell: bool
    without_advice: bool


class Goal(TypedDict, total=False):
    """Fields of `ReportGoalRequest`: what a turn worked towards. `state`: from the turn's outcome unless it is given.
    `tasks`: the turn's own calls unless they are given."""

    goal_id: Required[str]
    objective: Required[str]
    state: goal_reflection_pb2.GoalState
    tasks: Sequence[goal_reflection_pb2.GoalTask]
    error: str
    subject_ids: Sequence[str]


class Home(Protocol):
    """What a turn needs of its client. The calls are made on our loop."""

    link: Link
    losses: Losses

    def build(self, request: reflective_memory_pb2.BuildMemoryContextRequest, timeout_s: float) -> Awaitable[Any]: ...

    def judge(self, request: critique_pb2.CritiqueRequest, timeout_s: float) -> Awaitable[Any]: ...


class TurnParts:
    """What both fronts of a turn share: everything that does not wait."""

    def __init__(self, turn_id: str, agent: str, task: str, goal: Goal | None, home: Home) -> None:
        self.id = turn_id
        self.agent = agent
        self._task_text = task
        self._goal = goal
        self._home = home
        self._link = home.link
        self._queue = Queue(turn_id, agent, home.link, home.losses)
        self._delivery: Delivery | None = None

    @property
    def dropped(self) -> int:
        """Events that were not kept: there were too many, one was too large, or the turn is over. 0 unless the sidecar
        was away for long."""
        return self._queue.dropped

    @property
    def error(self) -> grpc.RpcError | None:
        """Why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has
        failed with it ten times in a row; None otherwise."""
        # With `dropped` counted: what is over was ended on another thread.
        return self._delivery.error if self._delivery is not None and self._delivery.over else None

    def report(self, event: pb.TurnEvent | None = None, /, **kind: Any) -> str:
        """Takes an event: `report(tool_called=ToolCalled(...))`, or a whole TurnEvent. Returns its id.

        Of a text of more than 256 KiB, which is what the sidecar takes, the beginning is kept. After `finish` it is not
        reported any more: a warning is logged, once for each turn."""
        return self._put(_copy(event) if event is not None else pb.TurnEvent(**kind))

    def report_in_passing(self, event: pb.TurnEvent) -> None:
        """As `report`, for an event to which the sidecar says nothing, as the caller knows: it goes with those behind
        it."""
        self._put(event, can_wait=True)

    def tool_called(self, name: str, arguments: object = "", *, call_id: str = "") -> str:
        """Reports a call of a tool. `arguments`: a text is reported as it is, everything else as JSON. `call_id`:
        needed where calls overlap; the result repeats it. Returns the event's id."""
        called = pb.ToolCalled(call_id=call_id, name=sendable(name), arguments=sendable(arguments))
        return self.report(tool_called=called)

    def tool_returned(self, content: object, is_error: bool = False, *, call_id: str = "") -> str:
        """Reports what a tool returned. `content`: a text is reported as it is, an exception as its type and message,
        everything else as JSON. `is_error`: the tool reported a failure. `call_id`: empty means the last call that is
        open. Returns the event's id."""
        returned = pb.ToolReturned(call_id=call_id, content=sendable(content), is_error=is_error)
        return self.report(tool_returned=returned)

    def tool_worked(self, content: object, *, call_id: str = "") -> str:
        """As `tool_returned`, for a call that is known to have worked, as by an exit status of 0: its text is never
        taken for a failure. That nothing was raised is not enough, since tools return texts of errors too."""
        returned = pb.ToolReturned(call_id=call_id, content=sendable(content), has_worked=True)
        return self.report(tool_returned=returned)

    def finish(
        self,
        outcome: common_pb2.TaskOutcome = _UNSPECIFIED,
        score: float | None = None,
        *,
        goal: Goal | None = None,
    ) -> None:
        """The turn is over. Unless the outcome is UNSPECIFIED, which teaches nothing, it is reported for every block of
        lessons that the turn was given, and so is the goal, or else that of the turn's beginning. What is on its way is
        still delivered, also after the sidecar was away. A score that is no number from 0 to 1 is left out, and an
        outcome that there is none of is UNSPECIFIED; a warning says so."""
        outcome = _known(outcome, self.id)
        # Of a caller without types a score may be a text.
        given: object = score
        if given is not None and not (isinstance(given, int | float) and 0 <= given <= 1):
            _log.warning("turn %s ends without its score: a number from 0 to 1, not %s", self.id, score)
            score = None
        goal = self._goal if goal is None else goal
        report = None if goal is None or outcome == _UNSPECIFIED else _goal_report(goal, outcome, self.id)
        finished = pb.TurnEvent(turn_finished=pb.TurnFinished(outcome=outcome, score=score))
        self._put(finished, end=End(outcome, score, report))

    def _put(self, event: pb.TurnEvent, *, can_wait: bool = False, end: End | None = None) -> str:
        wakes = self._queue.put(event, can_wait=can_wait, end=end)
        if wakes and self._delivery is not None:
            BACKGROUND.soon(self._delivery.send if wakes is Wakes.NOW else self._delivery.gather)
        return event.event_id

    def take(self) -> list[pb.TurnDirective]:
        """The directives that have come since the last time, in their order, without waiting."""
        return self._queue.take()

    def drop(self) -> None:
        """Nothing of it can be delivered any more."""
        self._queue.drop_rest()

    def forked(self) -> None:
        """In a child: locks may be held by threads that are not there."""
        self._queue.renew_lock()

    def leave(self, error: BaseException | None) -> None:
        """Ends the turn if it is not finished: as ERROR with an exception, which is then its goal's error unless that
        has one, else as UNSPECIFIED. Whoever cancels the work, closes its generator or ends the process says nothing of
        it: what is no Exception is none."""
        if self._queue.is_finished:
            return
        if not isinstance(error, Exception):
            self.finish()
            return
        goal = self._goal
        if goal is not None:
            goal = {**goal, "error": goal.get("error") or sendable(error)}
        self.finish(common_pb2.TASK_OUTCOME_ERROR, goal=goal)

    def begin(
        self,
        started: pb.TurnStarted,
        make: Callable[[Queue], Delivery],
        done: Callable[["TurnParts"], None],
        *,
        room: bool,
    ) -> None:
        """The first event, and the delivery beside the agent. `make` makes the delivery, on our loop; `done` is called
        when nothing is left to deliver. `room`: there are not too many turns."""
        self.report(pb.TurnEvent(turn_id=self.id, turn_started=started))
        # Without its beginning the sidecar would take nothing of it.
        if not (room and self._queue.events and BACKGROUND.usable()):
            self._queue.drop_rest()
            done(self)
            return
        self._delivery = make(self._queue)
        BACKGROUND.soon(self._delivery.begin, lambda: done(self))

    # --- on our loop -------------------------------------------------------------------------------------------------

    async def _wait(self, there: Callable[[Delivery], bool], timeout_s: float) -> Delivery | None:
        delivery = self._delivery
        if delivery is not None:
            await delivery.wait(lambda: there(delivery), timeout_s)
        return delivery

    async def _plan(self, timeout_s: float) -> pb.TurnPlan | None:
        delivery = await self._wait(lambda one: one.plan is not None, timeout_s)
        return delivery.plan if delivery else None

    async def _summary(self, timeout_s: float) -> pb.TurnSummary | None:
        delivery = await self._wait(lambda one: one.summary is not None, timeout_s)
        return delivery.summary if delivery else None

    def _quiet(self, timeout_s: float) -> Coroutine[Any, Any, Delivery | None]:
        """Waits for what is reported by now alone: an agent may report on meanwhile."""
        count = self._queue.count
        return self._wait(lambda one: one.is_quiet(count), timeout_s)

    async def _recall(
        self, task: str | None, tools: Sequence[str], max_items: int, timeout_s: float
    ) -> common_pb2.ContextBlock | None:
        request = reflective_memory_pb2.BuildMemoryContextRequest(
            task=sendable(self._task_text if task is None else task),
            tools=tools,
            max_items=min(max(0, max_items), MOST_LESSONS),
            turn_id=self.id,
        )
        cut(request)
        answer = await self._ask("recall", self._home.build, request, timeout_s)
        if answer is None:
            return None
        block: common_pb2.ContextBlock = answer.block
        self._queue.shown(block.receipt_id)
        return block if block.text else None

    async def _critique(
        self, text: str, user_message: str, count: int, timeout_s: float
    ) -> common_pb2.CritiqueResult | None:
        """`count`: of the events that are received first."""
        began_s = _now_s()
        await self._wait(lambda one: one.has(count), timeout_s)
        left_s = began_s + timeout_s - _now_s()
        if left_s <= 0:
            self._link.late("critique", began_s)
            return None
        request = critique_pb2.CritiqueRequest(
            turn_id=self.id, response=sendable(text), user_message=sendable(user_message)
        )
        cut(request)
        answer = await self._ask("critique", self._home.judge, request, left_s)
        if answer is None or answer.critique.status != common_pb2.RESULT_STATUS_OK:
            return None
        verdict: common_pb2.CritiqueResult = answer.critique
        return verdict

    async def _ask(self, name: str, call: Callable[..., Any], request: Any, timeout_s: float) -> Any:
        """The answer to a call, or None: nothing of the sidecar's makes an agent fail. A call that HTTP/2 refuses is
        tried again for as long as it may take."""
        began_s = _now_s()
        ends_s = began_s + timeout_s
        while self._link.reachable and not self._link.closed and self._delivery is not None:
            outage, pause_s = self._link.outages, FIRST_PAUSE_S * random.uniform(0.8, 1.2)
            try:
                with self._link.waiting():
                    answer = await self._link.unless_away(call(request, ends_s - _now_s()))
            except (grpc.RpcError, OSError, ValueError) as error:
                self._link.failed(error, outage)
                self._link.declined(name, error, began_s)
                is_busy = isinstance(error, grpc.aio.AioRpcError) and is_refused(error)
                if is_busy and _now_s() + pause_s >= ends_s:
                    self._link.late(name, began_s)
                    return None
                if not is_busy:
                    return None
                await self._link.unless_away(asyncio.sleep(pause_s))
            else:
                if answer is not None:
                    self._link.heard()
                return answer
        return None

    async def until_delivered(self) -> None:
        """Returns once everything reported is durable, or the turn is given up."""
        if self._delivery is not None:
            await self._delivery.delivered()

    async def give_up(self) -> None:
        """Ends the reporting."""
        if self._delivery is not None:
            await self._delivery.abandon()

    async def _has_next(self) -> bool:
        """Returns once there is a directive; False when the turn is over."""
        while not self._queue.has_directives:
            if self._delivery is None or self._delivery.over:
                return False
            await self._delivery.next_news()
        return True


class Turn(TurnParts):
    """One turn of an agent on a loop. Made by `Sidemirror.begin_turn`; `id` is its turn id. As an async context manager
    it ends when the context is left."""

    async def plan(self, timeout_s: float = PLAN_S) -> pb.TurnPlan | None:
        """The plan; None when it has not come in time, or at once while the sidecar is away."""
        return await _across(self._plan(timeout_s), None)

    async def summary(self, timeout_s: float = SUMMARY_S) -> pb.TurnSummary | None:
        """The summary, after `finish`; None when it has not come in time, or at once while the sidecar is away."""
        return await _across(self._summary(timeout_s), None)

    async def recall(
        self,
        task: str | None = None,
        *,
        tools: Sequence[str] = (),
        max_items: int = 0,
        timeout_s: float = RECALL_S,
    ) -> common_pb2.ContextBlock | None:
        """The lessons for the turn's task, or another one; None when there are none, or none in time. `max_items`: 1 to
        20; 0 means 5, and more are 20."""
        return await _across(self._recall(task, tools, max_items, timeout_s), None)

    async def advice(self, timeout_s: float = ADVICE_S) -> list[pb.TurnDirective]:
        """What the sidecar says to what was reported: nudges, recoveries, reflections and critiques that nobody took,
        as far as they have a text for a model. Comes at once when nothing is in progress; an empty list is an
        answer."""
        await _across(self._quiet(timeout_s), None)
        # Not before: who is cancelled meanwhile has taken nothing.
        return self._queue.take(advice_only=True)

    async def critique(
        self, text: str, user_message: str = "", *, timeout_s: float = CRITIQUE_S
    ) -> common_pb2.CritiqueResult | None:
        """The verdict on a response that was not sent yet, beside what the turn's tools returned; None without one in
        time. `user_message`: the turn's question when it is empty."""
        return await _across(self._critique(text, user_message, self._queue.count, timeout_s), None)

    async def revised(
        self,
        answer: str,
        again: Callable[[str], str | Awaitable[str]],
        user_message: str = "",
        *,
        timeout_s: float = CRITIQUE_S,
    ) -> str:
        """The answer that may be sent: what `again` makes of the revision prompt where `critique` asks for a revision,
        else `answer`, also without a verdict. `again`: a function or a coroutine function; what it makes is judged by
        nobody, one revision at most, and what it raises is the caller's. `timeout_s` bounds the verdict alone."""
        verdict = await self.critique(answer, user_message, timeout_s=timeout_s)
        if verdict is None or not verdict.should_revise:
            return answer
        made = again(verdict.revision_prompt)
        return await made if isinstance(made, Awaitable) else made

    async def delivered(self) -> None:
        """Returns once everything reported is durable with the sidecar, or the turn is given up."""
        await _across(self.until_delivered(), None)

    async def abandon(self) -> None:
        """Ends the reporting, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes."""
        await _across(self.give_up(), None)

    async def __aiter__(self) -> AsyncIterator[pb.TurnDirective]:
        """Directives as they come, until the turn is over."""
        while await _across(self._has_next(), False):
            if (directive := self._queue.take_one()) is not None:
                yield directive

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        self.leave(error)


class SyncTurn(TurnParts):
    """The same for an agent without a loop. Made by `SyncSidemirror.begin_turn`; a context manager."""

    def plan(self, timeout_s: float = PLAN_S) -> pb.TurnPlan | None:
        """The plan; None when it has not come in time, or at once while the sidecar is away."""
        return _done(self._plan(timeout_s), None)

    def summary(self, timeout_s: float = SUMMARY_S) -> pb.TurnSummary | None:
        """The summary, after `finish`; None when it has not come in time."""
        return _done(self._summary(timeout_s), None)

    def recall(
        self,
        task: str | None = None,
        *,
        tools: Sequence[str] = (),
        max_items: int = 0,
        timeout_s: float = RECALL_S,
    ) -> common_pb2.ContextBlock | None:
        """The lessons for the turn's task, or another one; None when there are none, or none in time."""
        return _done(self._recall(task, tools, max_items, timeout_s), None)

    def advice(self, timeout_s: float = ADVICE_S) -> list[pb.TurnDirective]:
        """What the sidecar says to what was reported, as far as it is for a model; an empty list is an answer."""
        _done(self._quiet(timeout_s), None)
        return self._queue.take(advice_only=True)

    def critique(
        self, text: str, user_message: str = "", *, timeout_s: float = CRITIQUE_S
    ) -> common_pb2.CritiqueResult | None:
        """The verdict on a response that was not sent yet; None without one in time."""
        return _done(self._critique(text, user_message, self._queue.count, timeout_s), None)

    def revised(
        self, answer: str, again: Callable[[str], str], user_message: str = "", *, timeout_s: float = CRITIQUE_S
    ) -> str:
        """What `again` makes of the revision prompt where `critique` asks for a revision, else `answer`."""
        verdict = self.critique(answer, user_message, timeout_s=timeout_s)
        return again(verdict.revision_prompt) if verdict is not None and verdict.should_revise else answer

    def delivered(self) -> None:
        """Returns once everything reported is durable with the sidecar, or the turn is given up."""
        _done(self.until_delivered(), None)

    def abandon(self) -> None:
        """Ends the reporting, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes."""
        _done(self.give_up(), None)

    def __iter__(self) -> Iterator[pb.TurnDirective]:
        """Directives as they come, until the turn is over."""
        while _done(self._has_next(), False):
            if (directive := self._queue.take_one()) is not None:
                yield directive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        self.leave(error)


async def _across(work: Coroutine[Any, Any, T], nothing: T) -> T:
    if not BACKGROUND.usable():
        work.close()
        return nothing
    return await BACKGROUND.across(work)


def _done(work: Coroutine[Any, Any, T], nothing: T) -> T:
    if not BACKGROUND.usable():
        work.close()
        return nothing
    return BACKGROUND.start(work).result()


def _known(outcome: common_pb2.TaskOutcome, turn_id: str) -> common_pb2.TaskOutcome:
    """The outcome, which a caller without types may give by its name."""
    by_name: dict[str, Any] = dict(common_pb2.TaskOutcome.items())
    given: object = outcome
    if isinstance(given, int) and given in by_name.values():
        return outcome
    if isinstance(given, str) and given in by_name:
        named: common_pb2.TaskOutcome = by_name[given]
        return named
    _log.warning("turn %s ends without its outcome: there is none that is %s", turn_id, sendable(given))
    return _UNSPECIFIED


def _goal_report(goal: Goal, outcome: common_pb2.TaskOutcome, turn_id: str) -> goal_reflection_pb2.ReportGoalRequest:
    is_done = outcome == common_pb2.TASK_OUTCOME_SUCCESS
    state = goal_reflection_pb2.GOAL_STATE_COMPLETED if is_done else goal_reflection_pb2.GOAL_STATE_FAILED
    report = goal_reflection_pb2.ReportGoalRequest(**goal)
    report.state = report.state or state
    report.request_id = str(uuid.uuid4())
    report.turn_id = turn_id
    cut(report)
    return report


def _now_s() -> float:
    return BACKGROUND.loop.time()


def _copy(event: pb.TurnEvent) -> pb.TurnEvent:
    copied = pb.TurnEvent()
    copied.CopyFrom(event)
    return copied
