"""The recorded spans of seven set-ups, as they were sent, and what they have to become, written by hand."""

import base64
import json
import time
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sidemirror_server.telemetry_in.dialects import is_wanted
from sidemirror_server.telemetry_in.spans import RawSpan
from tests.recorded import recordings
from tests.telemetry_in.made import SpanMessage, request_of

QUERY = "SELECT count(*) FROM orders WHERE status = 'open'"
SPACED = f'{{"query": "{QUERY}"}}'
TIGHT = f'{{"query":"{QUERY}"}}'
MISSING = "no such column: status"
REDACTED = "An error occurred while running the tool. Please try again."
ANSWER = "All orders were counted: 12 orders are open."
QUESTION = "How many orders are open?"
_BY_ID = ("call_1", "call_2", "call_3")

# By set-up: the conversation, the ids of the three calls (None: that of the span), their arguments, and their error.
EXPECTED: dict[str, tuple[str, tuple[str, ...] | None, str, str]] = {
    "google-adk": ("3d0e2b7d-fc25-430c-84f5-9f6392a0ec3e", _BY_ID, SPACED, f'{{"error": "{MISSING}"}}'),
    "langchain-openinference": ("thread-7", None, QUERY, MISSING),
    "langchain-traceloop": ("thread-7", None, SPACED, MISSING),
    "openai-agents-openinference": ("", None, SPACED, REDACTED),
    "openai-agents-traceloop": ("", None, SPACED, REDACTED),
    "pydantic-ai": ("01a20380-ae52-738f-8e24-d3d776d45cca", _BY_ID, TIGHT, MISSING),
    "vercel-ai-6": ("thread-7", _BY_ID, TIGHT, MISSING),
}


def raw_spans(name: str) -> list[RawSpan]:
    """The spans of a set-up, in the order in which they were sent."""
    rows = json.loads((recordings() / "otlp" / f"{name}.json").read_text())
    return [_of_protobuf(row["span"]) if "span" in row else _of_vercel(row, place) for place, row in enumerate(rows)]


def _of_protobuf(span: dict[str, Any]) -> RawSpan:
    attributes = {one["key"]: _value(one.get("value")) for one in span.get("attributes", [])}
    status = span.get("status", {})
    return RawSpan(
        *(_hex(span["trace_id"]), _hex(span["span_id"]), _hex(span.get("parent_span_id", "")), span["name"]),
        *(int(span["start_time_unix_nano"]), int(span["end_time_unix_nano"])),
        is_error=status.get("code") == "STATUS_CODE_ERROR",
        status_message=status.get("message", ""),
        exception=_exception(
            {one["key"]: _value(one.get("value")) for one in event.get("attributes", [])}
            for event in span.get("events", [])
            if event["name"] == "exception"
        ),
        attributes={key: value for key, value in attributes.items() if is_wanted(key)},
    )


def _of_vercel(row: dict[str, Any], place: int) -> RawSpan:
    """It was recorded in memory, without ids of a trace and without times."""
    start = 0 if not row.get("parent") else 10 * place + 1
    return RawSpan(
        *(
            "ab" * 16,
            row["span_id"],
            row.get("parent") or "",
            row["name"],
            start * 1_000_000,
            (10 * place + 9) * 1_000_000,
        ),
        is_error=row["status"]["code"] == 2,
        status_message=row["status"].get("message", ""),
        exception=_exception(event["attributes"] for event in row["events"] if event["name"] == "exception"),
        attributes={key: value for key, value in row["attributes"].items() if is_wanted(key)},
    )


def _exception(events: Any) -> str:
    return next((str(event.get("exception.message", "")) for event in events), "")


def _hex(value: str) -> str:
    return base64.b64decode(value).hex()


def _value(value: dict[str, Any] | None) -> Any:
    if not value:
        return None
    kind, held = next(iter(value.items()))
    if kind == "array_value":
        return [_value(one) for one in held.get("values", [])]
    return int(held) if kind == "int_value" else held


def export_of(name: str) -> ExportTraceServiceRequest:
    """The spans of a set-up as an export."""
    return request_of(raw_messages(name))


def raw_messages(name: str) -> list[SpanMessage]:
    """The spans of a set-up as OTLP has them, as if they had begun ten seconds ago."""
    rows = json.loads((recordings() / "otlp" / f"{name}.json").read_text())
    found = [_message(row, place) for place, row in enumerate(rows)]
    moved = time.time_ns() - 10_000_000_000 - min(span.start_time_unix_nano for span in found)
    for span in found:
        span.start_time_unix_nano += moved
        span.end_time_unix_nano += moved
    return found


def _message(row: dict[str, Any], place: int) -> SpanMessage:
    if "span" in row:
        return json_format.ParseDict(row["span"], SpanMessage())
    raw = _of_vercel(row, place)
    span = SpanMessage(
        trace_id=bytes.fromhex(raw.trace_id),
        span_id=bytes.fromhex(raw.span_id),
        parent_span_id=bytes.fromhex(raw.parent_id),
        name=raw.name,
        start_time_unix_nano=raw.start_ns,
        end_time_unix_nano=raw.end_ns,
    )
    span.status.code = row["status"]["code"]
    span.status.message = raw.status_message
    for key, value in row["attributes"].items():
        held = span.attributes.add(key=key).value
        if isinstance(value, str):
            held.string_value = value
        elif isinstance(value, int):
            held.int_value = value
    for event in row["events"]:
        kept = span.events.add(name=event["name"])
        for key, value in event["attributes"].items():
            kept.attributes.add(key=key).value.string_value = str(value)
    return span
