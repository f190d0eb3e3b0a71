"""Episodes, the input of a reflection: from a request or from recorded turns. Pure.

Each step has the origin of its texts. The reflection gets the least trusted origin (decision 032).
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any

import msgspec

from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.trace.event import (
    Event,
    ModelReturned,
    ModelStarted,
    ReflectionRecorded,
    ResponseDrafted,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    Uncertainty,
    UserMessage,
)
from sidemirror_server.trace.failure import category_of
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.origin import Origin, least
from sidemirror_server.vocabulary.text import clip

# In code points of one step. Chosen here: what the built-in rules may read.
_EVIDENCE_CHARS = 32_000


class EventType(StrEnum):
    """The type of a step (decision 029)."""

    TOOL_CALL = "tool_call"
    TOOL_RESPONSE = "tool_response"
    LLM_CALL = "llm_call"
    LLM_RESPONSE = "llm_response"
    ERROR_EVENT = "error_event"
    SYSTEM_EVENT = "system_event"
    USER_MESSAGE = "user_message"


# Who wrote the text of a step. A system event may hold any text.
ORIGINS = {
    EventType.TOOL_CALL: Origin.AGENT,
    EventType.TOOL_RESPONSE: Origin.TOOL,
    EventType.LLM_CALL: Origin.AGENT,
    EventType.LLM_RESPONSE: Origin.AGENT,
    EventType.ERROR_EVENT: Origin.TOOL,
    EventType.SYSTEM_EVENT: Origin.TOOL,
    EventType.USER_MESSAGE: Origin.USER,
}


class EpisodeStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event of a trace. `error` and `metadata`: JSON, or empty; `call_id` joins an answer with its call."""

    event_id: str
    event_type: EventType
    content: str
    origin: Origin
    tool_name: str = ""
    error: str = ""
    metadata: str = ""
    call_id: str = ""


class TaskError(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a task failed. `category`: a value of `trace.failure.ErrorCategory`, or empty; `context`: JSON, or empty."""

    category: str = ""
    message: str = ""
    context: str = ""


class ReflectionContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """An episode: its steps, oldest first, and its task. `outcome`: success, failure, partial, timeout or error.
    `sources`: what it was recorded as (`trace/sources.py`). `from_spans`: it was put together from telemetry, whose
    texts anybody may have written."""

    steps: tuple[EpisodeStep, ...]
    outcome: str
    task_description: str = ""
    task_goal: str = ""
    error: TaskError | None = None
    session_id: str = ""
    related_ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    from_spans: bool = False

    @property
    def origin(self) -> Origin:
        """The origin of a reflection on the episode: AGENT, as a model writes it, or that of a less trusted text."""
        has_error = self.error is not None and (self.error.message or self.error.context)
        reported = (Origin.TOOL,) if has_error or self.from_spans else ()
        return least((Origin.AGENT, *reported, *(step.origin for step in self.steps)))

    def texts(self, *, trusted: bool) -> tuple[str, ...]:
        """If `trusted`, the texts of the agent and its user; else the texts that anybody else may have written."""
        found: list[str] = [self.task_description, self.task_goal] if trusted is not self.from_spans else []
        for step in self.steps:
            if (step.origin >= Origin.AGENT) == trusted:
                found += (step.content, step.metadata)
            if not trusted:
                found.append(step.error)
        if self.error is not None and not trusted:
            found += (self.error.message, self.error.context)
        return tuple(text for text in found if text)


def steps_of(events: Iterable[Event]) -> tuple[EpisodeStep, ...]:
    """The steps of recorded events. An answer without a call id is that of its agent's last open call."""
    names: dict[str, str] = {}
    # The calls of each agent without an answer so far, by call id or event id, the last one last.
    open_calls: dict[str, dict[str, None]] = {}
    found: list[EpisodeStep] = []
    for event in events:
        what, own = event.what, open_calls.setdefault(event.agent, {})
        if isinstance(what, ToolCalled):
            call_id = what.call_id or event.event_id
            names[call_id] = what.name
            own.pop(call_id, None)
            own[call_id] = None
        tool = ""
        if isinstance(what, ToolReturned | ToolFailed):
            call_id = what.call_id or next(reversed(own), "")
            own.pop(call_id, None)
            tool = names.get(call_id, "")
        said = _said(what, tool)
        if said is not None:
            event_type, content, more = said
            found.append(EpisodeStep(event.event_id, event_type, content, event.origin, **more))
    return tuple(found)


def _said(what: Any, tool: str) -> tuple[EventType, str, dict[str, str]] | None:
    """The type, content and further fields of an event's step; None for an event without a text. `tool`: whose answer
    it is."""
    match what:
        case ToolCalled():
            return EventType.TOOL_CALL, what.arguments, {"tool_name": what.name, "call_id": what.call_id}
        case ToolReturned(is_error=False):
            return EventType.TOOL_RESPONSE, what.content, {"tool_name": tool, "call_id": what.call_id}
        case ToolReturned():
            return EventType.ERROR_EVENT, what.content, {"tool_name": tool, "call_id": what.call_id}
        case ToolFailed():
            return EventType.ERROR_EVENT, what.error, {"tool_name": tool, "call_id": what.call_id}
        case _:
            event_type, text = _told(what)
            return (event_type, text, {}) if text else None


def _told(what: Any) -> tuple[EventType, str]:
    """The type and the text of an event that is not a tool's."""
    match what:
        case TurnStarted(messages=messages, task=task):
            asked = [message.content for message in messages if message.role == "user"]
            return EventType.USER_MESSAGE, asked[-1] if asked else task
        case UserMessage(text=text):
            return EventType.USER_MESSAGE, text
        case ModelStarted(model=model):
            return EventType.LLM_CALL, model
        case ModelReturned(text=text) | ResponseDrafted(text=text) | ReflectionRecorded(reflection=text):
            return EventType.LLM_RESPONSE, text
        case Uncertainty(detail=detail):
            return EventType.SYSTEM_EVENT, f"uncertain: {detail}" if detail else ""
        case TurnFinished(outcome=outcome):
            return EventType.SYSTEM_EVENT, f"turn finished: {outcome}" if outcome else ""
        case _:
            return EventType.SYSTEM_EVENT, ""


_KINDS = {
    EventType.TOOL_CALL: "tool_call",
    EventType.TOOL_RESPONSE: "tool_result",
    EventType.LLM_CALL: "model_text",
    EventType.LLM_RESPONSE: "model_text",
    EventType.ERROR_EVENT: "tool_failure",
    EventType.SYSTEM_EVENT: "model_text",
    EventType.USER_MESSAGE: "user_message",
}


def evidence_of(context: ReflectionContext) -> Evidence:
    """The episode as evidence, for a model that reads no prompt."""
    made: list[EvidenceStep] = []
    open_calls = _OpenCalls()
    for step in context.steps:
        failed = step.event_type is EventType.ERROR_EVENT or bool(step.error)
        kind = "tool_failure" if failed else _KINDS[step.event_type]
        call = open_calls.answered(step) if kind in ("tool_result", "tool_failure") else None
        name = step.tool_name or (call.name if call else "")
        text = clip(f"{step.content}\n{step.error}" if step.error else step.content, _EVIDENCE_CHARS)
        one = EvidenceStep(
            EventId(step.event_id),
            kind,
            "",
            name,
            text,
            is_error=failed,
            category=category_of(text, name).value if failed else None,
            call_id=step.call_id,
            answers=call.event_id if call else None,
        )
        if kind == "tool_call":
            open_calls.add(step.call_id or step.event_id, one)
        made.append(one)
    reported = context.error or TaskError()
    return Evidence(
        task=context.task_description or context.task_goal,
        question=context.task_goal,
        steps=tuple(made),
        outcome=context.outcome,
        error=clip(reported.message, _EVIDENCE_CHARS),
        error_category=reported.category or (category_of(reported.message).value if reported.message else None),
    )


class _OpenCalls:
    """Calls without an answer so far. A step finds its call without a scan of the others."""

    def __init__(self) -> None:
        self._calls: dict[str, EvidenceStep] = {}
        self._of_tool: dict[str, dict[str, None]] = {}

    def add(self, key: str, call: EvidenceStep) -> None:
        """Adds a call."""
        self._take(key)
        self._calls[key] = call
        self._of_tool.setdefault(call.name, {})[key] = None

    def answered(self, step: EpisodeStep) -> EvidenceStep | None:
        """Removes and returns the call that a step answers. The step's call id decides; without one it is the last open
        call, of the step's tool if the step names a tool."""
        if step.call_id:
            return self._take(step.call_id)
        among = self._of_tool.get(step.tool_name, {}) if step.tool_name else self._calls
        return self._take(next(reversed(among))) if among else None

    def _take(self, key: str) -> EvidenceStep | None:
        call = self._calls.pop(key, None)
        if call is not None:
            del self._of_tool[call.name][key]
        return call


def failure_of(context: ReflectionContext, cited: Collection[str] = ()) -> TaskError | None:
    """Why the task failed: the reported error, completed from a failed step unless the task succeeded. That is the last
    one of those that a lesson cites, or of all if it cites none."""
    if context.outcome == "success":
        return context.error
    known = context.error or TaskError()
    failures = [step for step in context.steps if step.error or step.event_type is EventType.ERROR_EVENT]
    about = [step for step in failures if step.event_id in cited] or failures
    failed = about[-1] if about else None
    message = known.message or (f"{failed.content} {failed.error}".strip() if failed else "")
    category = known.category
    if not category and message:
        category = category_of(message, failed.tool_name if failed else "").value
    if not category and context.outcome == "timeout":
        category = "timeout"
    return TaskError(category, message, known.context) if message or category else None


def signature_of(context: ReflectionContext, cited: Collection[str]) -> str:
    """The signature of the failure that a lesson is about: the last failed step that it cites. If it cites none and the
    task did not succeed: the last failed step, else the reported error. Empty without a failure or a known cause."""
    failed = [step for step in evidence_of(context).steps if step.is_error]
    about = [step for step in failed if step.event_id in cited]
    if not about and context.outcome != "success":
        about = failed
    if about:
        return error_signature(about[-1].name, about[-1].text)
    if context.error is not None and context.outcome != "success":
        return error_signature("", context.error.message)
    return ""
