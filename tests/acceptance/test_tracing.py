"""With tracing on, a real `serve` sends a span for each call to a real OTLP endpoint, and no contents."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1 import trace_pb2

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.acceptance.product import serving
from tests.memory import told

CANARY = "canary-6d1f"
PATIENCE_S = 60.0


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.raw = b""
        self.spans: dict[str, trace_pb2.Span] = {}
        self._news = threading.Condition()

    def Export(self, request: trace_service_pb2.ExportTraceServiceRequest, context: object) -> object:  # noqa: N802  # the protocol's name
        with self._news:
            self.raw += request.SerializeToString()
            for of_resource in request.resource_spans:
                for of_scope in of_resource.scope_spans:
                    self.spans.update({span.name: span for span in of_scope.spans})
            self._news.notify_all()
        return trace_service_pb2.ExportTraceServiceResponse()

    def wait_for(self, *names: str) -> None:
        with self._news:
            assert self._news.wait_for(lambda: set(names) <= self.spans.keys(), PATIENCE_S), sorted(self.spans)


@pytest.fixture
def collector() -> Iterator[tuple[Collector, str]]:
    kept = Collector()
    server = grpc.server(ThreadPoolExecutor(1))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(kept, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield kept, f"http://127.0.0.1:{port}"
    server.stop(None).wait()


def test_calls_and_reflections_have_spans_without_contents(
    tmp_path: Path, collector: tuple[Collector, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, endpoint = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    with serving(tmp_path, "--data-dir", str(tmp_path / "data"), "--tracing", "true") as server:
        with grpc.insecure_channel(server.address) as channel:
            stub = pb_grpc.ThinkingServiceStub(channel)
            plan = stub.StartTurn(pb.StartTurnRequest(task=CANARY, base_prompt=CANARY, user_message=CANARY)).plan
            failed = pb.ToolFailed(error=CANARY)
            called = pb.ToolCalled(name=CANARY, arguments=CANARY)
            events = 3 * [pb.TurnEvent(tool_called=called), pb.TurnEvent(tool_failed=failed)]  # a loop, by name
            stub.ReportEvents(pb.ReportEventsRequest(turn_id=plan.turn_id, events=events))
            assert CANARY in stub.Reflect(pb.ReflectRequest(turn_id=plan.turn_id)).result.reflection
            with pytest.raises(grpc.RpcError):
                stub.GetTurn(pb.GetTurnRequest(turn_id="nowhere"))
        reflect = "sidemirror.thinking.reflect"
        service = "sidemirror.v1.ThinkingService"
        kept.wait_for(f"{service}/Reflect", f"{service}/GetTurn", reflect)
    attributes = {item.key: item.value for item in kept.spans[f"{service}/GetTurn"].attributes}
    assert attributes["rpc.grpc.status_code"].int_value == grpc.StatusCode.NOT_FOUND.value[0]
    assert attributes["rpc.method"].string_value == "GetTurn"
    # The reflection belongs to the call that asked for it.
    assert kept.spans[reflect].trace_id == kept.spans[f"{service}/Reflect"].trace_id
    assert CANARY.encode() not in kept.raw


def test_tracing_leads_nowhere_without_an_endpoint_and_stops_nothing(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "--data-dir", str(tmp_path / "data"), "--tracing", "true") as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        pb_grpc.ThinkingServiceStub(channel).ListSessions(pb.ListSessionsRequest(), timeout=60)


def test_memory_has_spans_without_contents(
    tmp_path: Path, collector: tuple[Collector, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when the span of a reflection had the description of its task."""
    kept, endpoint = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    with serving(tmp_path, "--data-dir", str(tmp_path / "data"), "--tracing", "true") as server:
        with grpc.insecure_channel(server.address) as channel:
            assert told.tell(ReflectiveMemoryServiceStub(channel), CANARY).count(CANARY) > 10
        kept.wait_for(*(f"sidemirror.v1.ReflectiveMemoryService/{method}" for method in told.METHODS))
    assert CANARY.encode() not in kept.raw
