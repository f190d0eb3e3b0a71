"""Attributes with values of every type, through a whole sidecar by each of its doors: no export is lost for one of
them, and a span whose texts cannot be read is kept without them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValueList

from sidemirror_server.rpc.otlp import decoding
from sidemirror_server.telemetry_in import dialects
from sidemirror_server.telemetry_in.messages import last_question
from sidemirror_server.telemetry_in.reading import span_of
from sidemirror_server.telemetry_in.spans import SpanKind
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of, span
from tests.telemetry_in.received import as_json, export, post, recorded, takes_spans
from tests.wire.sidecar import SidecarThread

KINDS = {
    "gen_ai.operation.name": ("execute_tool", "chat", "invoke_agent"),
    "openinference.span.kind": ("TOOL", "LLM", "AGENT"),
    "traceloop.span.kind": ("tool",),
    "ai.operationId": ("ai.toolCall",),
}
# Every attribute that is read, and a part of each that is written in parts.
NAMES = (*sorted(dialects._WANTED), *(f"{prefix}0.message.content" for prefix in dialects._PREFIXES))
VALUES = (
    AnyValue(),
    AnyValue(bool_value=True),
    AnyValue(int_value=-(2**63)),
    AnyValue(double_value=float("nan")),
    AnyValue(double_value=1e300),
    AnyValue(bytes_value=b"\xff"),
    AnyValue(array_value=ArrayValue(values=[AnyValue(bool_value=False), AnyValue()])),
    AnyValue(kvlist_value=KeyValueList()),
    AnyValue(string_value='{"input_str": "{(1, 2): 3}"}'),
)
# What only JSON can say.
JSON_VALUES: tuple[Any, ...] = (
    {"intValue": True},
    {"intValue": 1.5},
    {"intValue": {"a": 1}},
    {"boolValue": "yes"},
    {"doubleValue": "NaN"},
    {"doubleValue": [[]]},
    {"stringValue": 7},
    {"arrayValue": {"values": [1, None, {}]}},
    {"kvlistValue": {"values": [{"key": 5, "value": 6}, 7]}},
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with takes_spans(tmp_path_factory.mktemp("odd_values")) as running:
        yield running


def odd(trace: str) -> list[SpanMessage]:
    """A span of each kind with each value of each attribute."""
    spans: list[SpanMessage] = []
    for said, kinds in KINDS.items():
        for kind in kinds:
            for name in NAMES:
                for number, value in enumerate(VALUES):
                    made = span(trace, f"{kind} {name} {number}")
                    made.attributes.add(key=said).value.string_value = kind
                    made.attributes.add(key=name).value.CopyFrom(value)
                    spans.append(made)
    return spans


def odd_json() -> bytes:
    """The same, with what only JSON can say."""
    spans: list[SpanMessage] = []
    values: list[dict[str, Any]] = []
    for name in NAMES:
        for number, value in enumerate(JSON_VALUES):
            for kind in KINDS["gen_ai.operation.name"]:
                spans.append(span("odd json", f"{kind} {name} {number}", gen_ai__operation__name=kind))
                values.append({"key": name, "value": value})
    made = json.loads(as_json(request_of(spans)))
    for one, attribute in zip(made["resourceSpans"][0]["scopeSpans"][0]["spans"], values, strict=True):
        one["attributes"].append(attribute)
    return json.dumps(made).encode()


def test_no_export_is_lost_for_a_value(server: SidecarThread) -> None:
    """Seen to fail when a truth value is a number of tokens."""
    assert export(server.address, request_of(odd("by gRPC"))) == ExportTraceServiceResponse()
    status, _, answer = post(server, request_of(odd("by HTTP")).SerializeToString())
    assert (status, ExportTraceServiceResponse.FromString(answer)) == (200, ExportTraceServiceResponse())
    for body in (as_json(request_of(odd("by HTTP, JSON"))), odd_json()):
        status, _, answer = post(server, body, "application/json")
        assert (status, json.loads(answer)) == (200, {})


def model_call(trace: str) -> SpanMessage:
    """A model's answer that says of its tokens that it is true."""
    made = span(trace, "model", "agent", gen_ai__operation__name="chat")
    made.attributes.add(key="gen_ai.usage.input_tokens").value.bool_value = True
    return made


@pytest.mark.parametrize("by", ["gRPC", "HTTP", "JSON"])
def test_a_truth_value_is_no_number_of_tokens(by: str, tmp_path: Path) -> None:
    """The run is a turn. Seen to fail when it counts as one: the export was answered with INTERNAL."""
    request = request_of([model_call(by), *run_of(by, (MadeCall("sql", "SELECT 1", "1"),), conversation=by)])
    with takes_spans(tmp_path) as one_server:
        if by == "gRPC":
            export(one_server.address, request)
        elif by == "HTTP":
            assert post(one_server, request.SerializeToString())[0] == 200
        else:
            body = as_json(request).replace(b'"boolValue": true', b'"intValue": true')
            assert b'"intValue": true' in body
            assert post(one_server, body, "application/json")[0] == 200
        (turn,) = recorded(one_server.address, ended=1)
    assert (turn.session, [call.name for call in turn.calls]) == (f"otlp:{by}", ["sql"])


def read(*spans: SpanMessage) -> decoding.Decoded:
    return decoding.decode(request_of(spans).SerializeToString(), is_json=False, with_content=True)


@pytest.mark.parametrize("literal", ["{(1, 2): 3}", "{b'a': 1}"])
def test_a_literal_that_json_has_no_form_for_stays_as_it_is(literal: str) -> None:
    """Seen to fail when it is encoded as JSON all the same: the process that decodes ended."""
    written = json.dumps({"input_str": literal})
    found = read(
        span("t", "odd", traceloop__span__kind="tool", traceloop__entity__input=written),
        *run_of("t", (MadeCall("sql", "SELECT 1", "1"),)),
    )
    (kept, *others) = next(iter(found.traces.values()))
    assert (kept.arguments, len(others), found.rejected, found.without_texts) == (literal, 2, 0, 0)


def test_messages_within_each_other_end() -> None:
    """As deep as newer versions of Python decode JSON. Seen to fail when each level is a call."""
    value: Any = [{"role": "user", "content": "the bottom"}]
    for number in range(5_000):
        value = {("messages", "prompt")[number % 2]: value}
    assert last_question(value) == "the bottom"


@pytest.mark.parametrize("error", [TypeError, ValueError, RecursionError])
def test_a_span_whose_texts_cannot_be_read_is_kept_without_them(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those beside it have theirs. Seen to fail when any error of a text ends the process that decodes."""

    def failing(raw: Any, *, with_content: bool) -> Any:
        if with_content and raw.name == "odd":
            raise error
        return span_of(raw, with_content=with_content)

    monkeypatch.setattr(decoding, "span_of", failing)
    said: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__call__result": "17"}
    found = read(span("t", "odd", **said), span("t", "even", **said))
    (spans,) = found.traces.values()
    assert [(one.kind, one.text) for one in spans] == [(SpanKind.TOOL, ""), (SpanKind.TOOL, "17")]
    assert (found.without_texts, found.rejected) == (1, 0)
