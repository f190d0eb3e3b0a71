"""Spans: as they arrive, and as the sidecar keeps them. Field names of `Span` are part of the stored format.

`rpc/otlp/` makes a `RawSpan` of each span on the wire, `reading.py` makes a `Span` of that, and `assembly.py` makes
turns of many.
"""

from enum import StrEnum
from typing import Any

import msgspec


class SpanKind(StrEnum):
    """What a span is about. The values are stored and never change."""

    TOOL = "tool"
    MODEL = "model"
    # A run of an agent, from a question to its answer.
    AGENT = "agent"
    # A part of an agent's work that is none of these.
    STEP = "step"
    # A span of something else, kept for what lies above an agent.
    OTHER = "other"


class RawSpan(msgspec.Struct, frozen=True):
    """A span as it was sent. Ids are in hexadecimal; times are nanoseconds since the epoch. `exception`: the message of
    its last exception event. `attributes`: only those that `dialects.py` asks for."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    is_error: bool
    status_message: str
    exception: str
    attributes: dict[str, Any]


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a span.

    `name`: of the tool or the agent. `arguments`: of a tool. `text`: what a tool returned or how it failed, or what a
    model or an agent answered. `question`: what the user last wrote. `session`: the conversation that it names.
    `is_within`: an agent that says that it runs within another one. All texts have passed `vocabulary.text.enter`.
    """

    span_id: str
    parent_id: str
    kind: SpanKind
    start_us: int
    end_us: int
    is_error: bool = False
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    text: str = ""
    question: str = ""
    session: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    is_within: bool = False
