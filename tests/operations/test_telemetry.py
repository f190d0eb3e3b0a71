"""What names the service in traces and metrics, and what a collector that does not answer holds up."""

import signal
import socket
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc
from sidemirror_server.operations.telemetry import _resource
from tests.faults.process import Process


def test_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when the SDK is given a name of ours: it prefers that to the variable."""
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES", raising=False)
    assert _resource("1").attributes["service.name"] == "sidemirror"
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=of-attributes,team=shop")
    told = _resource("1").attributes
    assert (told["service.name"], told["service.version"], told["team"]) == ("of-attributes", "1", "shop")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop-sidecar")
    assert _resource("1").attributes["service.name"] == "shop-sidecar"
    assert "telemetry.sdk.version" in told


async def test_the_end_waits_little_for_a_collector_that_does_not_answer(tmp_path: Path) -> None:
    """Seen to fail, at 15 s, when the exporters try again for as long as they like."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        collector = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings = {"metrics": "true", "tracing": "true"}
        async with Process(tmp_path, settings, secrets={"OTEL_EXPORTER_OTLP_ENDPOINT": collector}) as process:
            async with grpc.aio.insecure_channel(process.address) as channel:
                await thinking_pb2_grpc.ThinkingServiceStub(channel).StartTurn(pb.StartTurnRequest(task="a"))
            process.signal(signal.SIGTERM)
            _, took_s = await process.ended(60)
            assert took_s < 8
