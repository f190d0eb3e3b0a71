"""What is on every server: health for each service, reflection, and what the server says about itself."""

import asyncio
import importlib.metadata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.calls import code_of
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = ("", "sidemirror.v1.ThinkingService", "sidemirror.v1.CritiqueService", "sidemirror.v1.SidecarService")


@pytest.mark.parametrize("service", SERVICES)
def test_health_of_each_service(grpc_channel: grpc.Channel, service: str) -> None:
    request = health_pb2.HealthCheckRequest(service=service)
    health: Any = health_pb2_grpc.HealthStub(grpc_channel)
    assert health.Check(request, timeout=PATIENCE_S).status == SERVING
    watch = health.Watch(request, timeout=PATIENCE_S)
    assert next(watch).status == SERVING
    watch.cancel()


def test_no_method_is_waited_for_by_itself(tmp_path: Path) -> None:
    """grpc.aio looks at every task that waits for a method's next call whenever there is a call."""
    with sidecar(tmp_path) as server:
        names = [task.get_coro().__qualname__ for task in asyncio.all_tasks(server._loop)]  # type: ignore[union-attr]
    assert [name for name in names if "request" in name] == ["AioServer._request_call"]


def test_health_of_a_service_that_is_not_there(grpc_channel: grpc.Channel) -> None:
    request = health_pb2.HealthCheckRequest(service="sidemirror.v1.NopeService")
    health: Any = health_pb2_grpc.HealthStub(grpc_channel)
    assert code_of(health.Check, request) is grpc.StatusCode.NOT_FOUND
    watch = health.Watch(request, timeout=PATIENCE_S)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watch.cancel()


@pytest.mark.parametrize("tracing", ["false", "true"])
def test_a_health_watch_sees_the_server_go_away(tmp_path: Path, tracing: str) -> None:
    server = SidecarThread(tmp_path, settings={"tracing": tracing})
    server.start()
    with grpc.insecure_channel(server.address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        watches = [health.Watch(health_pb2.HealthCheckRequest(service=name), timeout=PATIENCE_S) for name in SERVICES]
        assert [next(watch).status for watch in watches] == [SERVING] * len(SERVICES)
        # Whoever watches is reading: gRPC may drop what nobody has read when the connection is closed.
        with ThreadPoolExecutor(len(watches)) as readers:
            told = [readers.submit(next, watch) for watch in watches]
            server.stop()
            assert [answer.result(PATIENCE_S).status for answer in told] == [NOT_SERVING] * len(SERVICES)


def test_a_stream_is_told_that_the_server_goes_away(tmp_path: Path) -> None:
    server = SidecarThread(tmp_path)
    server.start()
    with grpc.insecure_channel(server.address) as channel:
        watch = ThinkingServiceStub(channel).WatchTurns(pb.WatchTurnsRequest(), timeout=PATIENCE_S)
        turn_id = ThinkingServiceStub(channel).StartTurn(pb.StartTurnRequest()).plan.turn_id
        assert next(watch).entry.turn_id == turn_id
        assert next(watch).entry.HasField("directive")
        server.stop()
        closing = next(watch).entry
        assert closing.directive.closing.reason == "the server is shutting down"
        assert closing.cursor
        assert code_of(next, watch) is grpc.StatusCode.UNAVAILABLE


def reflected(channel: grpc.Channel, **question: str) -> Iterator[reflection_pb2.ServerReflectionResponse]:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(**question)  # type: ignore[arg-type]
    yield from stub.ServerReflectionInfo(iter([request]), timeout=PATIENCE_S)


def test_reflection_lists_every_service_and_describes_ours(grpc_channel: grpc.Channel) -> None:
    (listed,) = reflected(grpc_channel, list_services="")
    assert {service.name for service in listed.list_services_response.service} == {
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
        "sidemirror.v1.SidecarService",
        "sidemirror.v1.CritiqueService",
        "sidemirror.v1.ReflectiveMemoryService",
        "sidemirror.v1.GoalReflectionService",
        "sidemirror.v1.ThinkingService",
    }
    (described,) = reflected(grpc_channel, file_containing_symbol="sidemirror.v1.ThinkingService")
    files = [FileDescriptorProto.FromString(file) for file in described.file_descriptor_response.file_descriptor_proto]
    services = {service.name: service for file in files for service in file.service}
    expected = [method.name for method in pb.DESCRIPTOR.services_by_name["ThinkingService"].methods]
    assert [method.name for method in services["ThinkingService"].method] == expected


def test_reflection_describes_a_method(grpc_channel: grpc.Channel) -> None:
    """As `grpcurl describe` asks for one; and a method that there is not is not found."""
    (described,) = reflected(grpc_channel, file_containing_symbol="sidemirror.v1.ThinkingService.RunTurn")
    files = [FileDescriptorProto.FromString(file) for file in described.file_descriptor_response.file_descriptor_proto]
    assert "sidemirror/v1/thinking.proto" in {file.name for file in files}
    for unknown in ("sidemirror.v1.ThinkingService.Nothing", "sidemirror.v1.Nothing.RunTurn"):
        (refused_,) = reflected(grpc_channel, file_containing_symbol=unknown)
        assert refused_.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


def test_reflection_can_be_turned_off(tmp_path: Path) -> None:
    with (
        sidecar(tmp_path, settings={"reflection": "false"}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        assert code_of(lambda: reflected(channel, list_services="")) is grpc.StatusCode.UNIMPLEMENTED


def test_a_purpose_whose_cap_is_used_up_is_not_available(tmp_path: Path) -> None:
    """Where the model costs something: nothing is asked of it here."""
    model = {
        "base_url": "http://127.0.0.1:9/v1",
        "name": "small",
        "input_usd_per_mtok": "1",
        "output_usd_per_mtok": "1",
    }
    settings = {f"model__{name}": value for name, value in model.items()} | {"model__provider": "openai_compatible"}

    def silent(folder: Path, **caps: str) -> set[str]:
        with sidecar(folder, settings=settings | caps) as server, grpc.insecure_channel(server.address) as channel:
            stub = sidecar_pb2_grpc.SidecarServiceStub(channel)
            info = stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=PATIENCE_S)
        return {model.purpose for model in info.models if not model.available}

    assert silent(tmp_path / "a", purposes__critique__tokens_per_day="0", purposes__debate__usd_per_day="0") == {
        "critique",
        "debate",
    }
    assert len(silent(tmp_path / "b", spend__tenant_usd_per_day="0")) == 10
    assert silent(tmp_path / "c") == set()


def test_what_the_server_says_about_itself(tmp_path: Path) -> None:
    settings = {"tenant_id": "acme", "project_id": "shop", "limits__events_per_turn": "77"}
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        stub = sidecar_pb2_grpc.SidecarServiceStub(channel)
        info = stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=PATIENCE_S)
    assert info.version == importlib.metadata.version("sidemirror-server")
    assert (info.tenant_id, info.project_id) == ("acme", "shop")
    (store,) = info.stores
    assert (store.kind, store.available) == ("sqlite", True)
    assert "crash" in store.durability
    # It goes by the machine's clock.
    assert info.store_clock == sidecar_pb2.StoreClock()
    assert not info.spend_unknown
    assert ("rules", "rules-8") in {(model.provider, model.model) for model in info.models}
    silent = {model.purpose for model in info.models if not model.available}
    assert silent == {"revision", "trace_evaluation", "debate"}, "the rules have no answer for these"
    assert info.default_config == pb.ThinkingConfig(
        level=pb.THINK_LEVEL_OFF,
        reflect_on_tool_error=True,
        reflect_on_uncertainty=True,
        periodic_scope=pb.PERIODIC_SCOPE_TURN,
    )
    assert info.default_budget == pb.TurnBudget(max_reflections=4)
    limits = dict(info.limits)
    assert limits["message_bytes"] == 4_194_304
    assert limits["events_per_turn"] == 77
    assert limits["streams_per_connection"] == 100
    assert limits["idle_stream_s"] == 600
