"""A sidecar that takes spans, what sends them to it, and what it has recorded."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.vocabulary.clock import Clock
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar

SETTLE_S = 0.3
TAKES_SPANS = {
    "telemetry__receive": "true",
    "telemetry__content": "*",
    "telemetry__settle_s": str(SETTLE_S),
    "http_address": "127.0.0.1:0",
}


class RecordedCall(NamedTuple):
    call_id: str
    name: str
    arguments: str
    is_error: bool
    content: str


class RecordedTurn(NamedTuple):
    turn_id: str
    session: str
    task: str
    calls: tuple[RecordedCall, ...]
    answer: str
    outcome: int


# After which spans without a token count again (decision 075).
HOUR_S = 3_600.0


@contextmanager
def takes_spans(folder: Path, *, clock: Clock | None = None, **settings: str) -> Iterator[SidecarThread]:
    with sidecar(folder, settings={**TAKES_SPANS, **settings}, clock=clock) as server:
        yield server


class Door(NamedTuple):
    """Where spans are posted: the sidecar's folder, which has its token, and the port."""

    folder: Path
    http_port: int


def export(
    address: str,
    request: ExportTraceServiceRequest,
    *,
    token: str = "",
    tenant: str = "",
    project: str = "",
    timeout_s: float = PATIENCE_S,
    compression: grpc.Compression | None = None,
) -> ExportTraceServiceResponse:
    """Sends spans as an exporter over gRPC does. Raises grpc.RpcError."""
    headers = {
        "authorization": f"Bearer {token}" if token else "",
        "sidemirror-tenant": tenant,
        "sidemirror-project": project,
    }
    metadata = tuple((key, value) for key, value in headers.items() if value)
    with grpc.insecure_channel(address) as channel:
        call: grpc.UnaryUnaryMultiCallable[ExportTraceServiceRequest, ExportTraceServiceResponse] = channel.unary_unary(
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            ExportTraceServiceRequest.SerializeToString,
            ExportTraceServiceResponse.FromString,
        )
        return call(request, metadata=metadata, timeout=timeout_s, compression=compression)


def post(
    server: SidecarThread | Door,
    body: bytes | None,
    content_type: str = "application/x-protobuf",
    path: str = "/v1/traces",
    **more: str,
) -> tuple[int, dict[str, str], bytes]:
    """Sends a body over HTTP, or asks without one; returns status, headers and body of the answer."""
    file = server.folder / "data" / "http-token"
    own = {"authorization": f"Bearer {file.read_text().strip()}"} if file.exists() else {}
    headers = {"content-type": content_type, **own, **more}
    url = f"http://127.0.0.1:{server.http_port}{path}"
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return response.status, _lowered(response.headers), response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _lowered(error.headers), error.read()


def _lowered(headers: Message) -> dict[str, str]:
    return {key.lower(): value for key, value in headers.items()}


def recorded(
    address: str, *, ended: int, token: str = "", patience_s: float = PATIENCE_S, **scope: Any
) -> list[RecordedTurn]:
    """The turns of the sidecar, by their id, once `ended` of them have ended."""
    with grpc.insecure_channel(address) as channel:
        stub = ThinkingServiceStub(channel)
        metadata = (("authorization", f"Bearer {token}"),) if token else ()

        def found() -> list[pb.Turn]:
            turns, page_token = list[pb.Turn](), ""
            while True:
                request = pb.ListTurnsRequest(page_size=1000, page_token=page_token, **scope)
                page = stub.ListTurns(request, metadata=metadata)
                turns += page.turns
                if not (page_token := page.next_page_token):
                    return [one for one in turns if one.state == pb.TURN_STATE_FINISHED]

        heads = until(found, lambda heads: len(heads) >= ended, patience_s)
        return sorted(
            _recorded(stub.GetTurn(pb.GetTurnRequest(turn_id=head.turn_id, page_size=1000, **scope), metadata=metadata))
            for head in heads
        )


def _recorded(found: pb.GetTurnResponse) -> RecordedTurn:
    head = found.turn
    events = [entry.event for entry in found.entries if entry.HasField("event")]
    called = {event.tool_called.call_id: event.tool_called for event in events if event.HasField("tool_called")}
    calls = tuple(
        RecordedCall(
            *(call.call_id, called[call.call_id].name, called[call.call_id].arguments),
            *(call.is_error, call.content),
        )
        for call in (event.tool_returned for event in events if event.HasField("tool_returned"))
    )
    said = [event.model_returned.text for event in events if event.HasField("model_returned")]
    answer = next((text for text in reversed(said) if text), "")
    return RecordedTurn(head.turn_id, head.session_id, head.task, calls, answer, head.outcome)


def until(look: Callable[[], Any], is_there: Callable[[Any], bool], patience_s: float = PATIENCE_S) -> Any:
    """What `look` returns, once it is there."""
    ends_s = time.monotonic() + patience_s
    while not is_there(found := look()):
        assert time.monotonic() < ends_s, found
        time.sleep(0.02)
    return found


def as_json(request: ExportTraceServiceRequest) -> bytes:
    """The export in OTLP's JSON: ids in hexadecimal."""
    from google.protobuf import json_format

    made = json_format.MessageToDict(request)
    for resource in made["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span, message in zip(scope["spans"], request.resource_spans[0].scope_spans[0].spans, strict=True):
                span["traceId"], span["spanId"] = message.trace_id.hex(), message.span_id.hex()
                span["parentSpanId"] = message.parent_span_id.hex()
                if "code" in span.get("status", {}):
                    span["status"]["code"] = message.status.code
    return json.dumps(made).encode()
