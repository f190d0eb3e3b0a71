"""Which attributes say what, in each of the conventions that instrumentations follow. Data, and how to look it up.

A convention is recognised by its attributes and never by a version. Several may stand in one span: the first dialect of
`DIALECTS` that knows the span's kind decides it, and a field is the first attribute that has a value. A kind that none
of them knows is a STEP.

Sources: OpenTelemetry semantic conventions for generative AI; OpenInference's and OpenLLMetry's conventions; the Vercel
AI SDK's page on telemetry; recorded spans of seven set-ups.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sidemirror_server.telemetry_in.spans import SpanKind

_TOOL, _MODEL, _AGENT, _STEP = SpanKind.TOOL, SpanKind.MODEL, SpanKind.AGENT, SpanKind.STEP


class Dialect(msgspec.Struct, frozen=True):
    """A convention. `kinds`: the attribute that says what a span is, and what its values mean; another value is a
    STEP. The other fields are the names of attributes, the most telling first; `inputs` and `outputs` hold messages, as
    JSON or, with a name that ends in a dot, as one attribute for each part of each message. `graph`: JSON whose
    `langgraph_node` is the node of a graph in which the span lies."""

    name: str
    kinds: tuple[tuple[str, Mapping[str, SpanKind]], ...]
    tool: tuple[str, ...] = ()
    call_id: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    result: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    error_type: tuple[str, ...] = ()
    input_tokens: tuple[str, ...] = ()
    output_tokens: tuple[str, ...] = ()
    graph: tuple[str, ...] = ()


VERCEL = Dialect(
    name="Vercel AI SDK",
    kinds=(
        (
            "ai.operationId",
            {
                "ai.toolCall": _TOOL,
                "ai.generateText": _AGENT,
                "ai.streamText": _AGENT,
                "ai.generateObject": _AGENT,
                "ai.streamObject": _AGENT,
                "ai.generateText.doGenerate": _MODEL,
                "ai.streamText.doStream": _MODEL,
                "ai.generateObject.doGenerate": _MODEL,
                "ai.streamObject.doStream": _MODEL,
            },
        ),
    ),
    tool=("ai.toolCall.name",),
    call_id=("ai.toolCall.id",),
    arguments=("ai.toolCall.args",),
    result=("ai.toolCall.result",),
    agent=("ai.telemetry.functionId",),
    session=(
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.conversationId",
        "ai.telemetry.metadata.threadId",
        "ai.telemetry.metadata.chatId",
    ),
    inputs=("ai.prompt.messages", "ai.prompt"),
    answer=("ai.response.text", "ai.response.object"),
    input_tokens=("ai.usage.inputTokens", "ai.usage.promptTokens"),
    output_tokens=("ai.usage.outputTokens", "ai.usage.completionTokens"),
)

GEN_AI = Dialect(
    name="OpenTelemetry GenAI",
    kinds=(
        (
            "gen_ai.operation.name",
            {
                "execute_tool": _TOOL,
                "chat": _MODEL,
                "generate_content": _MODEL,
                "text_completion": _MODEL,
                "invoke_agent": _AGENT,
                "invoke_workflow": _AGENT,
            },
        ),
    ),
    tool=("gen_ai.tool.name",),
    call_id=("gen_ai.tool.call.id",),
    arguments=("gen_ai.tool.call.arguments",),
    result=("gen_ai.tool.call.result",),
    agent=("gen_ai.agent.name", "gen_ai.workflow.name"),
    session=("gen_ai.conversation.id",),
    inputs=("gen_ai.input.messages", "pydantic_ai.all_messages"),
    outputs=("gen_ai.output.messages",),
    answer=("final_result",),
    error_type=("error.type",),
    input_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    output_tokens=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
)

OPENINFERENCE = Dialect(
    name="OpenInference",
    kinds=(("openinference.span.kind", {"TOOL": _TOOL, "LLM": _MODEL, "AGENT": _AGENT}),),
    tool=("tool.name",),
    call_id=("tool_call.id",),
    arguments=("input.value",),
    result=("output.value",),
    agent=("agent.name", "graph.node.id"),
    session=("session.id",),
    inputs=("llm.input_messages.",),
    outputs=("llm.output_messages.",),
    input_tokens=("llm.token_count.prompt",),
    output_tokens=("llm.token_count.completion",),
    graph=("metadata",),
)

OPENLLMETRY = Dialect(
    name="OpenLLMetry",
    kinds=(
        ("traceloop.span.kind", {"tool": _TOOL, "agent": _AGENT, "workflow": _AGENT}),
        ("llm.request.type", {"chat": _MODEL, "completion": _MODEL}),
    ),
    tool=("traceloop.entity.name",),
    arguments=("traceloop.entity.input",),
    result=("traceloop.entity.output",),
    agent=("traceloop.entity.name",),
    session=(
        "traceloop.association.properties.thread_id",
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.conversation_id",
    ),
    inputs=("gen_ai.prompt.",),
    outputs=("gen_ai.completion.",),
)

DIALECTS = (VERCEL, GEN_AI, OPENINFERENCE, OPENLLMETRY)

# How a status begins that says the same of every failed tool: the OpenAI Agents SDK's, by either instrumentation.
_OF_ANY_FAILURE = ("Error running tool (non-fatal)", "{'message': 'Error running tool (non-fatal)'")

_FIELDS = tuple(name for name in Dialect.__struct_fields__ if name not in ("name", "kinds"))
# Attribute names of a field, over all dialects.
_NAMES = {field: tuple(one for dialect in DIALECTS for one in getattr(dialect, field)) for field in _FIELDS}
_KINDS = tuple(kind for dialect in DIALECTS for kind in dialect.kinds)
_WANTED = {name for names in _NAMES.values() for name in names if not name.endswith(".")} | {name for name, _ in _KINDS}
_PREFIXES = tuple(name for names in _NAMES.values() for name in names if name.endswith("."))


def is_wanted(attribute: str) -> bool:
    """Whether a dialect reads this attribute."""
    return attribute in _WANTED or attribute.startswith(_PREFIXES)


def is_of_many(attribute: str) -> bool:
    """Whether a span may have any number of attributes such as this one: parts of messages."""
    return attribute.startswith(_PREFIXES)


def kind_of(attributes: Mapping[str, Any]) -> SpanKind:
    """What the span is about; OTHER if it has no dialect's attribute, STEP if it has one whose value none knows."""
    said = [(values, attributes[name]) for name, values in _KINDS if attributes.get(name) is not None]
    known = (values[value] for values, value in said if isinstance(value, str) and value in values)
    return next(known, _STEP if said else SpanKind.OTHER)


def first_of(attributes: Mapping[str, Any], field: str) -> Any:
    """The first value that a field's attributes have; None if there is none."""
    return next((value for name in _NAMES[field] if (value := attributes.get(name)) not in (None, "")), None)


def is_of_any_failure(status: str) -> bool:
    """Whether a status's description does not say why its tool failed."""
    return status.startswith(_OF_ANY_FAILURE)


def names_of(field: str) -> tuple[str, ...]:
    """The attributes of a field, those of all dialects."""
    return _NAMES[field]
