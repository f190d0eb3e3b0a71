"""OTLP's exports of spans, protobuf or JSON, to what is kept of their spans. Runs in the decoder's process.

A span whose ids are not what OTLP says is rejected and counted, and the others are taken. Depth, number and length of
what is not read cost nothing more than the pass over it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sidemirror_server.telemetry_in.dialects import is_of_many, is_wanted
from sidemirror_server.telemetry_in.reading import span_of
from sidemirror_server.telemetry_in.spans import RawSpan, Span
from sidemirror_server.vocabulary.clock import cpu_s

# Spans of an export, with the resources and scopes that they are in. Chosen here: as many as 4 MiB hold with their ids
# and times; an empty one takes two bytes there, and some hundred in memory.
MOST_SPANS = 100_000
# Attributes of a span that are read as parts of messages. Chosen here: a long conversation, in OpenInference's form.
_MOST_PARTS = 10_000
# Nesting of a value. Chosen here: no tool's arguments are deeper; protobuf's own limit is 100.
_DEEPEST = 40
# What the texts of one export may cost, in seconds of CPU: then those of its other spans are left out. Chosen
# here: more than 4 MiB of ordinary texts take on a slow machine, and so little that other exports do not wait for long.
MOST_CPU_S = 4.0
# Why bytes cannot be read.
NO_REQUEST = "the bytes are no ExportTraceServiceRequest"
_ERROR = 2
_NS_LIMIT = 2**63
# 64 bits, as JSON of protobuf writes them.
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_KINDS = ("stringValue", "intValue", "boolValue", "doubleValue", "arrayValue", "kvlistValue")
# Of protobuf's wire: types of fields, and how many bytes those of fixed length have.
_VARINT, _LENGTH_DELIMITED, _GROUP_BEGINS, _GROUP_ENDS = 0, 2, 3, 4
_FIXED = {1: 8, 5: 4}


class Decoded(msgspec.Struct, frozen=True):
    """An export. `traces`: its spans by trace id. `rejected`: how many spans were malformed, and `reason` says how the
    first one was. `without_texts`: of how many the texts are left out, since they cannot be read or those before them
    took too long. `wrong`: why the export as a whole cannot be
    read; empty if it can."""

    traces: dict[str, list[Span]] = {}
    rejected: int = 0
    reason: str = ""
    without_texts: int = 0
    wrong: str = ""


class _Unreadable(Exception):
    """The message is no export of spans."""


class _Malformed(Exception):
    """A span is not what OTLP says."""


def decode(body: bytes, *, is_json: bool, with_content: bool) -> Decoded:
    """The spans of an export. `with_content`: whether its texts are kept."""
    try:
        raw_spans = _of_json(body) if is_json else _of_protobuf(body)
    except _Unreadable as error:
        return Decoded(wrong=str(error))
    del body
    traces: dict[str, list[Span]] = {}
    rejected, reason, without_texts = 0, "", 0
    ends_s = cpu_s() + MOST_CPU_S
    for make in raw_spans:
        try:
            raw = make()
        except _Malformed as error:
            rejected += 1
            reason = reason or str(error)
            continue
        is_read = with_content and cpu_s() < ends_s
        without_texts += with_content and not is_read
        try:
            span = span_of(raw, with_content=is_read)
        except (TypeError, ValueError, RecursionError):
            # Only texts nest; those of one span are its own matter.
            span = span_of(raw, with_content=False)
            without_texts += is_read
        traces.setdefault(raw.trace_id, []).append(span)
    return Decoded(traces, rejected, reason, without_texts)


# --- protobuf --------------------------------------------------------------------------------------------------------


def _of_protobuf(body: bytes) -> Iterator[Callable[[], RawSpan]]:
    # Before they are made, since each of them costs memory.
    _check_count(sum(1 for _ in islice(_messages(body, 0, len(body), (1, 2, 2)), MOST_SPANS + 1)))
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise _Unreadable(NO_REQUEST) from error
    return (
        partial(_raw, span)
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    )


def _messages(body: bytes, start: int, end: int, path: tuple[int, ...]) -> Iterator[int]:
    """Where the messages begin that lie on a path of fields. Of what is no protobuf, those before it are found. In a
    group, which no message of OTLP has, they are found too: what stands behind it counts in any case."""
    at = start
    while at < end:
        key, at = _varint(body, at, end)
        length = 0
        if (wire := key & 7) == _LENGTH_DELIMITED:
            length, at = _varint(body, at, end)
        elif wire == _VARINT:
            _, at = _varint(body, at, end)
        elif wire in _FIXED:
            length = _FIXED[wire]
        elif wire not in (_GROUP_BEGINS, _GROUP_ENDS):
            return
        if wire == _LENGTH_DELIMITED and key >> 3 == path[0]:
            yield at
            if len(path) > 1:
                yield from _messages(body, at, min(at + length, end), path[1:])
        at += length


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            break
        shift += 7
    return value, at


def _raw(span: Any) -> RawSpan:
    exception = ""
    for event in span.events:
        if event.name == "exception":
            said = next((one.value for one in event.attributes if one.key == "exception.message"), None)
            exception = said.string_value if said is not None else exception
    return RawSpan(
        _id(span.trace_id.hex(), "trace_id", 32),
        _id(span.span_id.hex(), "span_id", 16),
        _parent(span.parent_span_id.hex()),
        span.name,
        _time(span.start_time_unix_nano),
        _time(span.end_time_unix_nano),
        span.status.code == _ERROR,
        span.status.message,
        exception,
        _attributes((one.key, one.value) for one in span.attributes),
    )


def _value(value: Any, depth: int = 0) -> Any:
    kind = value.WhichOneof("value")
    if kind is None or depth >= _DEEPEST or kind == "bytes_value":
        return None
    held = getattr(value, kind)
    if kind == "array_value":
        return [_value(one, depth + 1) for one in held.values]
    if kind == "kvlist_value":
        return {one.key: _value(one.value, depth + 1) for one in held.values}
    return held


def _attributes(pairs: Iterable[tuple[str, Any]], read: Callable[[Any], Any] = _value) -> dict[str, Any]:
    found: dict[str, Any] = {}
    parts = 0
    for key, value in pairs:
        if not is_wanted(key):
            continue
        parts += is_of_many(key)
        if parts <= _MOST_PARTS or not is_of_many(key):
            found[key] = read(value)
    return found


# --- JSON: names in lowerCamelCase, ids in hexadecimal, enums as numbers, 64 bits as texts or numbers. As everywhere in
# JSON of protobuf, null stands for what is not set. -----------------------------------------------------------------


class _KeyValue(msgspec.Struct):
    key: str | None = None
    value: dict[str, Any] | None = None


class _Status(msgspec.Struct):
    code: int | str | None = None
    message: str | None = None


class _Event(msgspec.Struct):
    name: str | None = None
    attributes: list[_KeyValue] | None = None


class _JsonSpan(msgspec.Struct, rename="camel"):
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    name: str | None = None
    start_time_unix_nano: int | str | None = None
    end_time_unix_nano: int | str | None = None
    status: _Status | None = None
    events: list[_Event] | None = None
    attributes: list[_KeyValue] | None = None


class _ScopeSpans(msgspec.Struct, rename="camel"):
    spans: list[msgspec.Raw] | None = None


class _ResourceSpans(msgspec.Struct, rename="camel"):
    scope_spans: list[_ScopeSpans] | None = None


class _Export(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] | None = None


_export_in = msgspec.json.Decoder(_Export).decode
_span_in = msgspec.json.Decoder(_JsonSpan | None).decode


def _of_json(body: bytes) -> Iterator[Callable[[], RawSpan]]:
    try:
        export = _export_in(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _Unreadable(f"the body is no JSON of ExportTraceServiceRequest: {str(error)[:200]}") from error
    scopes = [scope for resource in export.resource_spans or () for scope in resource.scope_spans or ()]
    _check_count(sum(len(scope.spans or ()) for scope in scopes))
    return (partial(_raw_of_json, written) for scope in scopes for written in scope.spans or ())


def _raw_of_json(written: msgspec.Raw) -> RawSpan:
    try:
        span = _span_in(written) or _JsonSpan()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _Malformed(f"a span is not what OTLP says: {str(error)[:200]}") from error
    exception = ""
    status = span.status or _Status()
    for event in span.events or ():
        if event.name == "exception":
            attributes = event.attributes or ()
            said = next((one.value for one in attributes if one.key == "exception.message"), None)
            text = _value_of_json(said)
            exception = text if isinstance(text, str) else exception
    return RawSpan(
        _id((span.trace_id or "").lower(), "traceId", 32),
        _id((span.span_id or "").lower(), "spanId", 16),
        _parent((span.parent_span_id or "").lower()),
        span.name or "",
        _time(span.start_time_unix_nano or 0),
        _time(span.end_time_unix_nano or 0),
        status.code in (_ERROR, "STATUS_CODE_ERROR"),
        status.message or "",
        exception,
        _attributes(((one.key or "", one.value) for one in span.attributes or ()), _value_of_json),
    )


def _value_of_json(value: Mapping[str, Any] | None, depth: int = 0) -> Any:
    if not isinstance(value, dict) or depth >= _DEEPEST:
        return None
    # The one that is set; null stands for one that is not, and what is not known is passed over.
    kind, held = next(((one, value[one]) for one in _KINDS if value.get(one) is not None), ("", None))
    if kind == "stringValue":
        return held if isinstance(held, str) else None
    if kind == "intValue":
        return int(held) if isinstance(held, str) and _INTEGER.fullmatch(held) else held
    if kind in ("boolValue", "doubleValue"):
        return held
    inner = held.get("values") if isinstance(held, dict) else None
    if not isinstance(inner, list):
        return None
    if kind == "arrayValue":
        return [_value_of_json(one, depth + 1) for one in inner]
    pairs = [one for one in inner if isinstance(one, dict)]
    return {str(one.get("key", "")): _value_of_json(one.get("value"), depth + 1) for one in pairs}


# --- what both have --------------------------------------------------------------------------------------------------


def _check_count(count: int) -> None:
    if count > MOST_SPANS:
        raise _Unreadable(f"an export may have {MOST_SPANS} spans")


def _id(text: str, field: str, digits: int) -> str:
    if len(text) != digits or not set(text) <= _HEX or not text.strip("0"):
        raise _Malformed(f"{field}: {digits // 2} bytes that are not all zero are expected")
    return text


def _parent(text: str) -> str:
    return _id(text, "parent_span_id", 16) if text.strip("0") else ""


def _time(value: int | str) -> int:
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal() and len(value) < 20):
            raise _Malformed("startTimeUnixNano and endTimeUnixNano: nanoseconds are expected")
        value = int(value)
    if not 0 <= value < _NS_LIMIT:
        raise _Malformed("start_time_unix_nano and end_time_unix_nano: nanoseconds since the epoch are expected")
    return value


_HEX = set("0123456789abcdef")
