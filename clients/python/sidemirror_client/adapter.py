"""What the adapters of agent frameworks share: one run of an agent as one turn, by their settings.

An adapter hands over what its framework shows it, and puts the texts that it gets back where the framework lets the
model see them. Nothing here raises because of the sidecar, nor because of a redactor or a judge of the outcome.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.adapter_settings import Settings, instance_of
from sidemirror_client.advice import advice_text
from sidemirror_client.background import BACKGROUND
from sidemirror_client.client import Sidemirror, connect
from sidemirror_client.failing import may_have_failed
from sidemirror_client.text import as_text, message_of, sendable
from sidemirror_client.turn import Goal, Started

__all__ = [
    "CURRENT",
    "Added",
    "Home",
    "Run",
    "Settings",
    "as_text",
    "error_of",
    "first_to_watch",
    "instance_of",
    "waited",
]

T = TypeVar("T")
W = TypeVar("W", bound="Watch")
_log = logging.getLogger("sidemirror_client")


# The run whose tool runs. Agents that the tool runs, of whichever framework, are part of its turn.
CURRENT: ContextVar["Run | None"] = ContextVar("sidemirror_run", default=None)
# What watches runs, by the framework's id of each.
_WATCHED: "WeakValueDictionary[str, Watch]" = WeakValueDictionary()


class Watch(Protocol):
    """What watches a run, such as `Run` itself."""

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""


class Home:
    """An adapter's way to the sidecar: the given client, else one by the environment, which connects at the first
    run."""

    def __init__(self, client: Sidemirror | None, settings: Settings | None) -> None:
        """Raises TypeError for anything else, and what `connect` raises: an agent's first run is too late for that."""
        if settings is not None:
            instance_of("settings", settings, Settings)
        if client is not None:
            instance_of("client", client, Sidemirror)
        self._client = connect() if client is None else client
        self._settings = Settings() if settings is None else settings

    def begin(self, task: str, *, session_id: str = "", agent: str = "", provider: str = "", model: str = "") -> "Run":
        """A run of an agent begins, with the user's message as its task. Ids that the sidecar would refuse are left
        out: a session of more than 128 characters, or of none that can be printed."""
        outer = CURRENT.get()
        if outer is not None and not outer.is_over:
            return outer.inner(agent)
        return Run(_Shared(self._client, self._settings, task, _id(session_id), agent, (provider, model)), agent)


class _Open(NamedTuple):
    """A call that has not ended: who has called, and whether the same was called before in the turn."""

    agent: str
    is_repeated: bool


class _Shared:
    """What a run has in common with those that its tools begin: the turn, and how far it has come."""

    def __init__(
        self, client: Sidemirror, settings: Settings, task: str, session_id: str, agent: str, asked: tuple[str, str]
    ) -> None:
        """`asked`: the provider and the model."""
        self.settings = settings
        self.task = self.told(task)
        self.is_over = False
        self.must_ask = False
        self.needs_lessons = settings.lessons
        self.revisions_left = settings.revisions
        # The calls on record that have not ended yet, by their id, and what was called in the turn.
        self.open: dict[str, _Open] = {}
        self.called: set[int] = set()
        started: Started = {
            "session_id": settings.session_id or session_id,
            "task": self.task,
            "provider": _name(asked[0]),
            "model": _name(asked[1]),
            "config": pb.ThinkingConfig(level=settings.level),
        }
        if settings.has_shell:
            started["has_shell"] = True
        if not settings.advice:
            started["without_advice"] = True
        if settings.budget is not None:
            started["budget"] = settings.budget
        self.turn = client.begin_turn(agent=_name(agent), **started)

    def report(self, agent: str, *, can_wait: bool = False, **kind: Any) -> None:
        """An event of the agent's. `can_wait`: the sidecar says nothing to it."""
        event = pb.TurnEvent(agent=_name(agent), **kind)
        if can_wait:
            self.turn.report_in_passing(event)
        else:
            self.turn.report(event)

    def told(self, text: str) -> str:
        """What of a text is reported."""
        redact = self.settings.redact
        if redact is not None and text:
            left: object = _tried("redact", redact, text, None)
            text = left if isinstance(left, str) else "[not reported: the redactor failed]"
        return sendable(text)


class Run:
    """One run of an agent: a turn, or part of the turn of the run whose tool began it. Where several agents act in a
    run, each has a `Run` of its own (`of`)."""

    def __init__(self, shared: _Shared, agent: str, *, is_whole: bool = True) -> None:
        """Made by `Home.begin`. `is_whole`: it is a turn of its own."""
        self._shared = shared
        self._settings = shared.settings
        self._agent = agent
        self._is_whole = is_whole

    def of(self, agent: str) -> "Run":
        """The same run, where this agent acts in it."""
        return Run(self._shared, agent, is_whole=self._is_whole)

    def inner(self, agent: str) -> "Run":
        """A run that a tool of this one begins: it has no lessons, revisions and end of its own."""
        return Run(self._shared, agent, is_whole=False)

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended."""
        return self._shared.is_over

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While this runs, agents that begin are part of this run."""
        outer = CURRENT.set(self)
        try:
            yield
        finally:
            CURRENT.reset(outer)

    # --- what happens ------------------------------------------------------------------------------------------------

    def model_started(self, provider: str = "", model: str = "") -> None:
        """The model is asked."""
        self._shared.report(self._agent, model_started=pb.ModelStarted(provider=_name(provider), model=_name(model)))

    def model_returned(self, text: str, input_tokens: int | None = 0, output_tokens: int | None = 0) -> None:
        """The model has answered."""
        returned = pb.ModelReturned(
            text=self._told(text), input_tokens=max(0, input_tokens or 0), output_tokens=max(0, output_tokens or 0)
        )
        self._shared.report(self._agent, model_returned=returned)

    def tool_called(self, call_id: str, name: str, arguments: Any) -> None:
        """A tool is called, once for each id that is open. `arguments` are a text, or become JSON."""
        if self.is_open(call_id):
            return
        said = self._told(as_text(arguments))
        called, what = self._shared.called, hash((name, said))
        if call_id:
            self._shared.open[call_id] = _Open(self._agent, what in called)
        called.add(what)
        self._shared.report(
            self._agent, tool_called=pb.ToolCalled(call_id=_id(call_id), name=_name(name), arguments=said)
        )

    def tool_returned(self, call_id: str, content: Any, *, is_error: bool = False, has_worked: bool = False) -> None:
        """A tool has returned; `is_error`: with a failure, in words that the model gets. `has_worked`: the tool says
        that it has. That it raised nothing, which is what most frameworks call success, is not enough."""
        said = self._told(as_text(content))
        returned = pb.ToolReturned(call_id=_id(call_id), content=said, is_error=is_error, has_worked=has_worked)
        must_ask = is_error or (not has_worked and may_have_failed(said))
        self._ended(call_id, must_ask=must_ask, tool_returned=returned)

    def tool_failed(self, call_id: str, error: BaseException | str) -> None:
        """A tool call has raised."""
        said = self._told(error if isinstance(error, str) else message_of(error))
        self._ended(call_id, must_ask=True, tool_failed=pb.ToolFailed(call_id=_id(call_id), error=said))

    @contextmanager
    def calling(
        self, call_id: str, name: str, arguments: Any, excused: tuple[type[Exception], ...] = ()
    ) -> Iterator[None]:
        """A tool call while it runs, up to what it raises, which is no failure where it is `excused`. What it returns
        the adapter reports."""
        self.tool_called(call_id, name, arguments)
        with self.inside():
            try:
                yield
            except excused:
                raise
            except Exception as error:
                self.tool_failed(call_id, error)
                raise

    def is_open(self, call_id: str) -> bool:
        """Whether a call is on record that has not ended."""
        return call_id in self._shared.open

    # --- what is said ------------------------------------------------------------------------------------------------

    async def texts(self, tools: Sequence[str] = ()) -> list[str]:
        """What the model is shown behind what a request has: lessons in the first one, advice."""
        return [text for text in (await self.lessons(tools), await self.advice()) if text]

    async def lessons(self, tools: Sequence[str] = ()) -> str:
        """The lessons for the task, as a text for the model; empty without any, and from the second time on."""
        if not self._is_whole or not self._shared.needs_lessons:
            return ""
        self._shared.needs_lessons = False
        named = [_name(tool) for tool in tools[:100]]
        block = await self._shared.turn.recall(tools=named, timeout_s=self._settings.lessons_s)
        return block.text if block else ""

    async def advice(self) -> str:
        """What the sidecar says, as a text for the model; empty without any. Waits only after a call that has failed,
        or whose result may say so: the sidecar recognises failures that nobody has marked."""
        if not self._settings.advice:
            return ""
        waits, self._shared.must_ask = self._shared.must_ask, False
        turn = self._shared.turn
        return advice_text(await turn.advice(self._settings.advice_s) if waits else turn.take())

    async def revision(self, answer: str) -> str:
        """Why a final answer is to be revised, as a text for the model; empty if it may be sent."""
        if not self._is_whole or self._shared.revisions_left <= 0 or not answer:
            return ""
        verdict = await self._shared.turn.critique(self._told(answer), timeout_s=self._settings.critique_s)
        if verdict is None or not verdict.should_revise:
            return ""
        self._shared.revisions_left -= 1
        return verdict.revision_prompt

    # --- the end -----------------------------------------------------------------------------------------------------

    def end(self, answer: str | None = None, error: BaseException | None = None) -> None:
        """The run is over, with an answer or an error, or with neither: it waits for somebody. What comes after it is
        ignored. TIMEOUT: it ran out of time, was cancelled or interrupted, or is a stream that was left; ERROR: it
        raised."""
        if self.is_over or not self._is_whole:
            return
        self._shared.is_over = True
        if answer is not None:
            self._shared.report("", response_drafted=pb.ResponseDrafted(text=self._told(answer)))
        outcome = self._outcome(answer, error)
        goal: Goal | None = None
        if self._settings.goal_id:
            goal = {"goal_id": self._settings.goal_id, "objective": self._shared.task}
            if error is not None:
                goal["error"] = self._told(message_of(error))
        self._shared.turn.finish(outcome, goal=goal)

    def _outcome(self, answer: str | None, error: BaseException | None) -> common_pb2.TaskOutcome:
        if isinstance(error, TimeoutError) or not isinstance(error, Exception | None):
            return common_pb2.TASK_OUTCOME_TIMEOUT
        if error is not None:
            return common_pb2.TASK_OUTCOME_ERROR
        judge, unknown = self._settings.outcome, common_pb2.TASK_OUTCOME_UNSPECIFIED
        if judge is None or answer is None:
            return unknown
        return _tried("outcome", partial(_judged, judge), answer, unknown)

    def _ended(self, call_id: str, *, must_ask: bool, **kind: Any) -> None:
        call = self._shared.open.pop(call_id, _Open("", is_repeated=True))
        self._shared.must_ask |= must_ask
        # The end of a call is of the agent that has called. The sidecar speaks of failures and of circles.
        self._shared.report(call.agent or self._agent, can_wait=not (must_ask or call.is_repeated), **kind)

    def _told(self, text: str) -> str:
        return self._shared.told(text)


class Added:
    """What was added to a conversation, for frameworks that make each request anew: it is added again to each, at the
    same places, so that requests go on from one another."""

    def __init__(self) -> None:
        # Each text with the number of messages before it, and the last of them as it was.
        self._texts: list[tuple[int, list[Any], str]] = []

    def to(self, messages: Sequence[T], texts: Sequence[str], message: Callable[[str], T]) -> list[T]:
        """The messages with what was added before, and with these texts behind them. Where the message before a text
        has been taken away, the text is left out: it might part a call and its result."""
        self._texts += [(len(messages), deepcopy(list(messages[-1:])), text) for text in texts]
        full = list(messages)
        for place, before, text in reversed(self._texts):
            if list(messages[max(0, place - 1) : place]) == before:
                full.insert(place, message(text))
        return full


def first_to_watch(run_id: str, begin: Callable[[], W]) -> W | None:
    """What `begin` makes, for the run with this id of the framework's; None while what it has made for that id is not
    over: two instances of an adapter in one agent have one turn, by the settings of the first. An empty id is
    nobody's."""
    watched = _WATCHED.get(run_id)
    if watched is not None and not watched.is_over:
        return None
    watch = begin()
    if run_id:
        _WATCHED[run_id] = watch
    return watch


def error_of(done: "asyncio.Task[Any]") -> BaseException | None:
    """What a task that is done has raised, or that it was cancelled; None if neither."""
    return asyncio.CancelledError() if done.cancelled() else done.exception()


def waited(work: Coroutine[Any, Any, T], nothing: T) -> T:
    """For hooks without a loop: has the work done on the client's own loop, and waits. `nothing` after a fork."""
    if not BACKGROUND.usable():
        work.close()
        return nothing
    return BACKGROUND.start(work).result()


def _judged(judge: Callable[[str], common_pb2.TaskOutcome | bool | None], answer: str) -> common_pb2.TaskOutcome:
    """What the user's judge says. Raises ValueError or TypeError for what is no outcome."""
    said = judge(answer)
    if said is None:
        return common_pb2.TASK_OUTCOME_UNSPECIFIED
    if isinstance(said, bool):
        return common_pb2.TASK_OUTCOME_SUCCESS if said else common_pb2.TASK_OUTCOME_FAILURE
    common_pb2.TaskOutcome.Name(said)
    return said


def _tried(setting: str, ask: Callable[[str], T], text: str, otherwise: T) -> T:
    try:
        return ask(text)
    except Exception:  # noqa: BLE001  # the user's own function; what it raises must not end the agent's run
        _log.exception("the function `%s` in the settings of Sidemirror's adapter has failed", setting)
        return otherwise


def _id(text: str | None) -> str:
    # Some frameworks have calls without an id, whatever their types say.
    return text if text and len(text) <= 128 and text.isprintable() else ""


def _name(text: str) -> str:
    return sendable(text[:256])
