"""Spans that nobody sends in good faith, or with a sound clock: bounded, counted, and never an internal error."""

import gzip
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sidemirror_server.rpc.boundary.child_process import _LONGEST_S
from sidemirror_server.rpc.otlp.decoding import MOST_SPANS, Decoded, decode
from sidemirror_server.vocabulary.clock import cpu_s
from tests.telemetry_in.made import MadeCall, SpanMessage, request_of, run_of, span
from tests.telemetry_in.received import as_json, export, post, recorded, takes_spans
from tests.wire.access import ACME, write_access
from tests.wire.sidecar import SidecarThread

RUN = run_of("t", (MadeCall("sql", "SELECT 1", "1"),), conversation="s")


def nested(depth: int) -> SpanMessage:
    """A tool's call whose arguments are nested so deep."""
    made = span("t", "deep", gen_ai__operation__name="execute_tool")
    value = made.attributes.add(key="gen_ai.tool.call.arguments").value
    for _ in range(depth):
        value = value.array_value.values.add()
    value.string_value = "the bottom"
    return made


def read(request: ExportTraceServiceRequest) -> Any:
    return decode(request.SerializeToString(), is_json=False, with_content=True)


def test_deep_values_end() -> None:
    """Seen to fail when values are read to any depth."""
    (kept,) = read(request_of([nested(45)])).traces.popitem()[1]
    assert "the bottom" not in kept.arguments
    assert kept.arguments.startswith("[[[")


def with_attributes(count: int) -> SpanMessage:
    """The run's call with so many attributes that nobody asks for, before its own."""
    many = SpanMessage()
    for number in range(count):
        many.attributes.add(key=f"{number:x}")
    many.MergeFrom(RUN[0])
    return many


def test_a_million_attributes_are_passed_over() -> None:
    """Those behind them are read. The limit is that after which the sidecar ends a process that decodes. Seen to fail
    when 10,000 are read: the tool's name was lost."""
    many = with_attributes(1_000_000 - 20_000)
    for number in range(20_000):
        many.attributes.add(key=f"llm.input_messages.{number}.message.content").value.string_value = "x"
    many.attributes.add(key="session.id").value.string_value = "late"
    began_s = cpu_s()
    (kept,) = read(request_of([many])).traces.popitem()[1]
    assert cpu_s() - began_s < _LONGEST_S
    assert (kept.name, kept.session) == ("sql", "late")


@pytest.mark.parametrize("form", ["protobuf", "JSON"])
def test_an_export_has_so_many_spans(form: str) -> None:
    """Counted before they are made. Seen to fail when all of them are: two million empty ones took a gigabyte."""
    count = MOST_SPANS - 2
    body = request_of(SpanMessage() for _ in range(count)).SerializeToString()
    if form == "JSON":
        body = b'{"resourceSpans": [{"scopeSpans": [{"spans": [' + b",".join([b"{}"] * count) + b"]}]}]}"
    assert decode(body, is_json=form == "JSON", with_content=True).rejected == count
    more = body.replace(b"[{}", b"[{},{},{},{}") if form == "JSON" else 2 * body
    found = decode(more, is_json=form == "JSON", with_content=True)
    assert (found.wrong, found.rejected) == (f"an export may have {MOST_SPANS} spans", 0)


def delimited(field: int, body: bytes) -> bytes:
    """A field of protobuf that holds a message."""
    length, size = b"", len(body)
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([field << 3 | 2]) + length + bytes([size]) + body


# The begin and the end of a group, protobuf's old form of a message, of a field that no message has.
GROUP = b"\x9b\x06\x9c\x06"


@pytest.mark.parametrize("level", [0, 1, 2])
def test_spans_behind_a_group_are_counted(level: int) -> None:
    """Of the export, of its resource and of its scope. Seen to fail when the count ends at a group."""
    fields = (1, 2, 2)
    body = delimited(fields[2], b"") * (MOST_SPANS + 1)
    for at in (2, 1, 0):
        body = GROUP + body if at == level else body
        body = delimited(fields[at - 1], body) if at else body
    found = decode(body, is_json=False, with_content=True)
    assert (found.wrong, found.rejected) == (f"an export may have {MOST_SPANS} spans", 0)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (b"[]", "Expected `object`"),
        (b'{"resourceSpans": 5}', "Expected `array | null`"),
        (b'{"resourceSpans": [{"scopeSpans": 7}]}', "at `$.resourceSpans[0].scopeSpans"),
        (b"\xff", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"passed over": ' + b"[" * 100_000, "JSON"),
    ],
)
def test_json_that_is_no_export_says_where(body: bytes, wrong: str) -> None:
    """Seen to fail when only errors of msgspec are caught."""
    found = decode(body, is_json=True, with_content=True)
    assert wrong in found.wrong
    assert not found.traces


def json_span(**fields: Any) -> bytes:
    made = {"traceId": "ab" * 16, "spanId": "cd" * 8, "startTimeUnixNano": "1", "endTimeUnixNano": 2, **fields}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}).encode()


@pytest.mark.parametrize(
    "fields",
    [
        {"traceId": "00" * 16},
        {"traceId": "xy" * 16},
        {"spanId": "cd"},
        {"parentSpanId": "q"},
        {"startTimeUnixNano": "yesterday"},
        {"startTimeUnixNano": -1},
        {"endTimeUnixNano": 2**64},
        {"name": 7},
        {"attributes": {}},
        {"events": [{"attributes": [[]]}]},
    ],
)
def test_a_malformed_span_of_json_is_rejected(fields: dict[str, Any]) -> None:
    """Those beside it are taken. Seen to fail when an id of zeros is one, and when a name that is a number is an error
    of the whole export."""
    both = json.loads(json_span(**fields))
    both["resourceSpans"][0]["scopeSpans"][0]["spans"].append(
        {"traceId": "ab" * 16, "spanId": "ef" * 8, "startTimeUnixNano": 1, "endTimeUnixNano": 2}
    )
    found = decode(json.dumps(both).encode(), is_json=True, with_content=True)
    assert (found.rejected, [len(spans) for spans in found.traces.values()], found.wrong) == (1, [1], "")
    assert found.reason


def test_bytes_that_are_no_text_in_one_span_of_json_are_its_own_matter() -> None:
    body = json_span(name="needle").replace(b"needle", b"\xff")
    found = decode(body, is_json=True, with_content=True)
    assert (found.rejected + bool(found.wrong), found.traces) == (1, {})


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"kvlistValue": 5},
        {"arrayValue": {"values": 5}},
        {"intValue": "x"},
        {"intValue": "--5"},
        {"stringValue": 5},
        {"bytesValue": ""},
    ],
)
def test_odd_values_of_json_are_nothing_worse(value: dict[str, Any]) -> None:
    """Seen to fail when any text is taken for a number."""
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        *({"key": key, "value": value} for key in ("gen_ai.tool.name", "gen_ai.tool.call.arguments", "session.id")),
    ]
    found = decode(json_span(attributes=attributes), is_json=True, with_content=True)
    assert (found.rejected, found.wrong, len(found.traces)) == (0, "", 1)


@pytest.mark.parametrize("first", [{"boolValue": None}, {"newValue": 7}, {"intValue": None, "arrayValue": None}])
def test_the_member_that_is_set_is_the_value(first: dict[str, Any]) -> None:
    """Seen to fail when the first member is it: the span was none of an agent's, and was dropped."""
    attributes = [{"key": "gen_ai.operation.name", "value": {**first, "stringValue": "execute_tool"}}]
    (spans,) = decode(json_span(attributes=attributes), is_json=True, with_content=True).traces.values()
    assert [span.kind for span in spans] == ["tool"]


def test_null_in_json_is_what_is_not_set() -> None:
    """As in all JSON of protobuf. Seen to fail when fields have to be texts and lists: the whole export was refused."""
    unset = dict.fromkeys(("parentSpanId", "name", "events", "status", "startTimeUnixNano", "traceState"))
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "k", "value": None},
    ]
    found = decode(json_span(**unset, attributes=attributes), is_json=True, with_content=True)
    assert (found.rejected, found.wrong, len(found.traces)) == (0, "", 1)
    for body in (b'{"resourceSpans": null}', b'{"resourceSpans": [{"resource": null, "scopeSpans": null}]}'):
        assert decode(body, is_json=True, with_content=True) == Decoded()


def code_of(server: SidecarThread, body: bytes) -> grpc.StatusCode:
    """How an export of these bytes ends over gRPC."""
    with grpc.insecure_channel(server.address) as channel:
        method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        )
        try:
            method(body, timeout=60)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK


@pytest.mark.slow("traces have to be quiet, or limits to pass")
def test_broken_bytes_are_refused_and_the_next_export_is_taken(tmp_path: Path) -> None:
    good = request_of(RUN).SerializeToString()
    order = random.Random(3)
    with takes_spans(tmp_path) as server:
        for _ in range(40):
            broken = bytearray(good)
            for _ in range(order.randint(1, 20)):
                broken[order.randrange(len(broken))] = order.randrange(256)
            assert code_of(server, bytes(broken)) in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)
        assert code_of(server, b"\xff" * 100) is grpc.StatusCode.INVALID_ARGUMENT
        assert code_of(server, bytes(5 * 1024 * 1024)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert post(server, b"\xff" * 100)[0] == 400
        assert post(server, b"{", "application/json")[0] == 400
        assert post(server, good, **{"content-encoding": "br"})[0] == 415
        assert post(server, b"no gzip", **{"content-encoding": "gzip"})[0] == 400
        assert post(server, gzip.compress(bytes(50 * 1024 * 1024)), **{"content-encoding": "gzip"})[0] == 413
        assert post(server, good, "text/plain")[0] == 415
        assert code_of(server, good) is grpc.StatusCode.OK
        assert [turn.session for turn in recorded(server.address, ended=1)] == ["otlp:s"]


@pytest.mark.slow("traces have to be quiet, or limits to pass")
def test_wrong_clocks_change_no_order(tmp_path: Path) -> None:
    runs: list[list[SpanMessage]] = []
    for number, moved_ns in enumerate((-(10**18), 10**17, 0)):
        calls = (MadeCall("sql", "1", "1"), MadeCall("look", "2", "2"))
        run = run_of(f"clock {number}", calls, conversation=str(number))
        for one in run:
            one.start_time_unix_nano += moved_ns
            one.end_time_unix_nano += moved_ns
        runs.append(run)
    with takes_spans(tmp_path) as server:
        for run in runs:
            export(server.address, request_of(run))
        turns = recorded(server.address, ended=3)
        by_session = {turn.session: [call.name for call in turn.calls] for turn in turns}
        assert [by_session[f"otlp:{number}"] for number in range(3)] == [["sql", "look"]] * 3


@pytest.mark.slow("traces have to be quiet, or limits to pass")
def test_over_a_limit_the_exporter_is_told_to_come_back(tmp_path: Path) -> None:
    """Seen to fail when an export is acknowledged whose trace has no job."""
    with takes_spans(tmp_path, limits__queued_jobs="1", telemetry__settle_s="60") as server:
        export(server.address, request_of(RUN))
        others = run_of("another", (MadeCall("sql", "SELECT 1", "1"),))
        time.sleep(1.1)  # the count of what waits is a second old at most
        with pytest.raises(grpc.RpcError) as refused:
            export(server.address, request_of(others))
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        (details,) = [
            one.value for one in refused.value.trailing_metadata() or () if one.key == "grpc-status-details-bin"
        ]
        assert b"google.rpc.RetryInfo" in details
        status, headers, body = post(server, as_json(request_of(others)), "application/json")
        assert (status, headers["retry-after"]) == (429, "1")
        assert json.loads(body)["code"] == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


def posted(server: SidecarThread, spans: Sequence[SpanMessage], tenant: str, project: str) -> int:
    """The status of an export over HTTP by ACME's token."""
    named = {"sidemirror-tenant": tenant, "sidemirror-project": project}
    headers = {"authorization": f"Bearer {ACME}", **{key: value for key, value in named.items() if value}}
    return post(server, request_of(spans).SerializeToString(), **headers)[0]


def test_a_token_gives_the_scope_of_its_spans(tmp_path: Path) -> None:
    access = str(write_access(tmp_path / "access.json"))
    with takes_spans(tmp_path, access_file=access) as server:
        with pytest.raises(grpc.RpcError) as refused:
            export(server.address, request_of(RUN))
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert post(server, request_of(RUN).SerializeToString())[0] == 401
        # The token is good for every project of its tenant: headers may name one.
        for code, status, tenant, project in (
            (grpc.StatusCode.PERMISSION_DENIED, 403, "intruder", "shop"),
            (grpc.StatusCode.INVALID_ARGUMENT, 400, "acme", "x" * 129),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                export(server.address, request_of(RUN), token=ACME, tenant=tenant, project=project)
            assert refused.value.code() is code
            assert posted(server, RUN, tenant, project) == status
        export(server.address, request_of(RUN), token=ACME, tenant="acme", project="shop")
        by_http = run_of("by HTTP", (MadeCall("sql", "SELECT 1", "1"),), conversation="h")
        assert posted(server, by_http, "acme", "shop") == 200
        own: dict[str, Any] = {"token": ACME, "tenant_id": "acme"}
        turns = recorded(server.address, ended=2, project_id="shop", **own)
        assert {turn.session for turn in turns} == {"otlp:s", "otlp:h"}
        assert recorded(server.address, ended=0, project_id="other", **own) == []
