"""The material of a critique: task, evidence and response, from a request or from a recorded turn. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.trace.event import (
    Event,
    ModelReturned,
    ResponseDrafted,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnStarted,
    UserMessage,
)
from sidemirror_server.trace.failure import category_of
from sidemirror_server.trace.open_calls import opened, taken
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.origin import Origin, least
from sidemirror_server.vocabulary.text import clip

# In code points. Chosen here: `rules` can read whole documents, and all results of a turn stay within some megabytes.
RESULT_CHARS = 32_000
ARGUMENTS_CHARS = 2_000
# Limit on the tool results in one critique, as in one request. If a turn has more, the last ones are kept.
MOST_RESULTS = 100


class ToolEvidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of one tool call. `failed`: the tool reported an error, or the call itself failed. `arguments`: those
    of the call; empty if unknown. `event_id`: of the turn's event that has it; empty if none does."""

    tool: str
    text: str
    failed: bool = False
    arguments: str = ""
    event_id: str = ""


class CritiqueMaterial(msgspec.Struct, frozen=True, omit_defaults=True):
    """A response with the task and the evidence to judge it by. `results`: oldest first. `question_event`,
    `response_event`, `task_event`: the turn's events that have these texts; empty if none does."""

    question: str
    response: str
    results: tuple[ToolEvidence, ...] = ()
    task: str = ""
    origin: Origin = Origin.AGENT
    question_event: str = ""
    response_event: str = ""
    task_event: str = ""

    @property
    def task_text(self) -> str:
        """Everything that the user asked for."""
        return f"{self.task}\n{self.question}" if self.task and self.task != self.question else self.question

    @property
    def evidence_text(self) -> str:
        """Everything that tools returned."""
        return "\n".join(result.text for result in self.results)


class _Call(msgspec.Struct, frozen=True):
    """A call of a tool, and who made it."""

    agent: str
    name: str
    arguments: str


def material_of(events: Iterable[Event]) -> CritiqueMaterial:
    """The material of a recorded turn: the user's last message, the tool results, and the last drafted response. If
    none was drafted, the response is the model's last text."""
    task = question = drafted = said = ""
    task_event = question_event = drafted_event = said_event = ""
    calls: dict[str, _Call] = {}
    open_calls: dict[str, _Call] = {}
    results: list[ToolEvidence] = []
    origins = [Origin.AGENT]
    for event in events:
        what = event.what
        origins.append(event.origin)
        match what:
            case TurnStarted():
                task = what.task
                asked = [message.content for message in what.messages if message.role == "user"]
                question = asked[-1] if asked else task
                task_event = question_event = event.event_id
            case UserMessage():
                question, question_event = what.text, event.event_id
            case ToolCalled():
                call_id = what.call_id or event.event_id
                calls[call_id] = _Call(event.agent, what.name, what.arguments)
                opened(open_calls, call_id, calls[call_id])
            case ToolReturned() | ToolFailed():
                call = taken(open_calls, what.call_id, event.agent) or calls.get(what.call_id)
                results.append(_result(event.event_id, what, call))
            case ModelReturned() if what.text:
                said, said_event = what.text, event.event_id
            case ResponseDrafted():
                drafted, drafted_event = what.text, event.event_id
            case _:
                pass
    return CritiqueMaterial(
        *(question, drafted or said, tuple(results[-MOST_RESULTS:]), task, least(origins)),
        question_event=question_event,
        response_event=drafted_event if drafted else said_event,
        task_event=task_event,
    )


def _result(event_id: str, what: ToolReturned | ToolFailed, call: _Call | None) -> ToolEvidence:
    failed = isinstance(what, ToolFailed) or what.is_error
    text = what.error if isinstance(what, ToolFailed) else what.content
    return ToolEvidence(
        call.name if call else "",
        clip(text, RESULT_CHARS),
        failed,
        clip(call.arguments, ARGUMENTS_CHARS) if call else "",
        event_id,
    )


def evidence_of(material: CritiqueMaterial, responses: Sequence[str] = ()) -> Evidence:
    """The material for a model that reads no prompt. `responses`: if given, replace the material's response."""
    steps: list[EvidenceStep] = []
    for number, result in enumerate(material.results, start=1):
        if result.arguments:
            call_id = EventId(f"call-{number}")
            steps.append(EvidenceStep(call_id, "tool_call", "", result.tool, result.arguments))
        steps.append(
            EvidenceStep(
                EventId(f"result-{number}"),
                "tool_failure" if result.failed else "tool_result",
                "",
                result.tool,
                result.text,
                is_error=result.failed,
                category=category_of(result.text, result.tool).value if result.failed else None,
                answers=EventId(f"call-{number}") if result.arguments else None,
            )
        )
    for number, response in enumerate(responses or (material.response,), start=1):
        steps.append(EvidenceStep(EventId(f"response-{number}"), "response", "", "", response))
    return Evidence(task=material.task, question=material.question, steps=tuple(steps))
