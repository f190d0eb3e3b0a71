"""One mid-turn reflection: asks the model to assess the turn, and returns a `Reflection` with a status.

A model's failure becomes a status, because a reflection never blocks the agent (decision 017). Only cancellation is
raised.
"""

from collections.abc import Iterator, Sequence

import msgspec
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.profiles import Within
from sidemirror_server.thinking.prompts import ReflectionPrompts, ToolOutcome
from sidemirror_server.thinking.record import Reflection
from sidemirror_server.thinking.turn import evidence
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import Message
from sidemirror_server.trace.failure import category_of
from sidemirror_server.vocabulary.errors import ModelFailed, WrongState
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.origin import Origin, least
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.telemetry import SPAN_REFLECT
from sidemirror_server.vocabulary.text import clip

_tracer = trace.get_tracer("sidemirror.thinking")

# The assessment is a few sentences; the rest is room for models that think inside the answer (decision 021).
MAX_TOKENS = 2_048
_QUESTION_CHARS = 4_000
# The detail of a reflection that says nothing.
NOTHING = "there is nothing to say that the agent does not know"


class Extra(msgspec.Struct, frozen=True):
    """Messages and tool results that the agent adds to those of the turn, oldest first."""

    messages: tuple[Message, ...] = ()
    results: tuple[ToolOutcome, ...] = ()


class ReflectionMaterial(msgspec.Struct, frozen=True):
    """The input of a reflection: the turn's state when the slot was claimed."""

    question: str
    results: tuple[ToolOutcome, ...]
    recent_error: str
    evidence: Evidence
    origin: Origin


def material_of(state: TurnState, extra: Extra) -> ReflectionMaterial:
    """The material from the turn's present state and the agent's additions."""
    asked = [message.content for message in extra.messages if message.role == "user"]
    failed = [result.text for result in extra.results if result.failed]
    errors = state.tool_errors
    origins = [state.origin]
    if extra.results or any(message.role == "tool" for message in extra.messages):
        origins.append(Origin.TOOL)
    elif extra.messages:
        origins.append(Origin.AGENT)
    question = clip(asked[-1], _QUESTION_CHARS) if asked else state.question
    return ReflectionMaterial(
        question=question,
        results=(*state.results, *extra.results),
        recent_error=failed[-1] if failed else (errors[-1].text if errors else ""),
        evidence=msgspec.structs.replace(evidence(state), question=question),
        origin=least(origins),
    )


def given_material(extra: Extra) -> ReflectionMaterial:
    """The material from what a call brings, without a turn: the messages, then the tool results."""
    asked = [message.content for message in extra.messages if message.role == "user"]
    failed = [result.text for result in extra.results if result.failed]
    question = clip(asked[-1], _QUESTION_CHARS) if asked else ""
    from_tools = bool(extra.results) or any(message.role == "tool" for message in extra.messages)
    return ReflectionMaterial(
        question=question,
        results=extra.results,
        recent_error=failed[-1] if failed else "",
        evidence=Evidence(task=question, question=question, steps=(*_said(extra.messages), *_returned(extra.results))),
        origin=Origin.TOOL if from_tools else Origin.AGENT,
    )


# The kind of a step that a message is, by its role; what an operator says is no step.
_SAID = {"user": "user_message", "assistant": "model_text", "tool": "tool_result"}


def _said(messages: Sequence[Message]) -> Iterator[EvidenceStep]:
    for number, message in enumerate(messages, start=1):
        if kind := _SAID.get(message.role):
            yield EvidenceStep(EventId(f"message-{number}"), kind, "", "", message.content)


def _returned(results: Sequence[ToolOutcome]) -> Iterator[EvidenceStep]:
    for number, result in enumerate(results, start=1):
        kind = "tool_failure" if result.failed else "tool_result"
        category = category_of(result.text, result.tool).value if result.failed else None
        event_id = EventId(f"result-{number}")
        yield EvidenceStep(event_id, kind, "", result.tool, result.text, is_error=result.failed, category=category)


def prompt_of(material: ReflectionMaterial, prompts: ReflectionPrompts) -> str:
    """The user text of the reflection; its system text is `prompts.system()`. Raises WrongState."""
    return prompts.prompt(material.question, material.results, material.recent_error)


async def reflect(
    gateway: Gateway,
    prompts: ReflectionPrompts,
    scope: Scope,
    material: ReflectionMaterial,
    timeout_s: float,
    within: Within,
) -> Reflection:
    """Asks the model, within `timeout_s` seconds and the turn's remaining budget `within`. Raises nothing but
    cancellation."""
    with _tracer.start_as_current_span(SPAN_REFLECT) as span:
        try:
            ask = Ask(
                purpose=Purpose.MID_TURN_REFLECTION,
                system=prompts.system(),
                prompt=prompt_of(material, prompts),
                answer_type=MidTurnAnswer,
                evidence=material.evidence,
                max_tokens=MAX_TOKENS,
            )
            completion = await gateway.ask(scope, ask, timeout_s, within)
        except WrongState as error:
            failed = Reflection(ResultStatus.FAILED_MODEL, str(error))
        except ModelFailed as failure:
            failed = Reflection(failure.status, failure.detail, usage=failure.usage)
        else:
            answer = completion.answer
            cited = tuple(EventId(event_id) for event_id in answer.cited_event_ids)
            if not answer.reflection.strip():
                # Without a word it still says where to look first.
                return Reflection(ResultStatus.NOTHING, NOTHING, usage=completion.usage, cited_event_ids=cited)
            return Reflection(
                ResultStatus.OK,
                reflection=answer.reflection,
                suggested_action=answer.suggested_action,
                confidence=answer.confidence,
                usage=completion.usage,
                cited_event_ids=cited,
                origin=material.origin,
            )
        span.set_status(StatusCode.ERROR, failed.status.value)
        return failed
