"""Made spans: runs of an agent with calls of tools, as the conventions for generative AI have them."""

import hashlib
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

__all__ = ["ERROR", "OK", "MadeCall", "SpanMessage", "request_of", "run_of", "span"]

OK, ERROR = 1, 2


class MadeCall(NamedTuple):
    """A call with its result. `failed`: the tool says so."""

    tool: str
    arguments: str
    result: str
    failed: bool = False


def request_of(spans: Iterable[SpanMessage]) -> ExportTraceServiceRequest:
    """An export of these spans."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.extend(spans)
    return request


def span(
    trace: str, name: str, parent: str = "", *, start_s: float = 0.0, end_s: float = 1.0, status: int = 0, **said: Any
) -> SpanMessage:
    """A span `start_s` seconds into a run that began a minute ago. `said`: attributes, with `__` for each dot."""
    began_ns = time.time_ns() - 60_000_000_000
    made = SpanMessage(
        trace_id=_digest(trace, 16),
        span_id=_digest(f"{trace}/{name}", 8),
        parent_span_id=_digest(f"{trace}/{parent}", 8) if parent else b"",
        name=name,
        start_time_unix_nano=began_ns + int(start_s * 1e9),
        end_time_unix_nano=began_ns + int(end_s * 1e9),
    )
    made.status.code = status  # type: ignore[assignment]  # the stubs know the enum's names only
    for key, value in said.items():
        made.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return made


def run_of(trace: str, calls: Sequence[MadeCall], *, conversation: str = "", outcome: int = 0) -> list[SpanMessage]:
    """An agent's run in a trace of its own, children first."""
    session = {"gen_ai__conversation__id": conversation} if conversation else {}
    spans = [
        span(
            *(trace, f"call {number}", "agent"),
            start_s=2 * number + 1,
            end_s=2 * number + 2,
            status=ERROR if call.failed else OK,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name=call.tool,
            gen_ai__tool__call__id=f"c{number}",
            gen_ai__tool__call__arguments=call.arguments,
            gen_ai__tool__call__result=call.result,
        )
        for number, call in enumerate(calls)
    ]
    top: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "orders", **session}
    return [*spans, span(trace, "agent", end_s=2 * len(calls) + 3, status=outcome, **top)]


def _digest(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=size).digest()
