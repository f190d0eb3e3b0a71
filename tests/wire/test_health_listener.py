"""Health on an address of its own: told to everybody, and nothing else is."""

import asyncio
import contextlib
import logging
import socket
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.health import health
from sidemirror_server.rpc.listening import health as listening_health
from sidemirror_server.settings import BadSettings
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from tests.acceptance.product import run
from tests.faults.sidecars import stub_on
from tests.wire.access import Certificates, write_access
from tests.wire.test_tls import serving

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def port_told(caplog: pytest.LogCaptureFixture) -> int:
    return next(int(vars(record)["port"]) for record in caplog.records if record.message == "health_served")


async def test_health_is_told_without_tls_and_token_and_nothing_else_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Beyond loopback, as a kubelet asks, while calls need both. It sees the server go away before it is gone."""
    access = write_access(tmp_path / "access.json")
    settings = {**Certificates(tmp_path / "tls").settings(), "access_file": str(access), "health_address": "0.0.0.0:0"}
    with caplog.at_level(logging.INFO):
        async with asyncio.timeout(60), contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(serving(tmp_path, **settings))
            channel = grpc.aio.insecure_channel(f"127.0.0.1:{port_told(caplog)}")
            health: Any = health_pb2_grpc.HealthStub(channel)
            for service in ("", "sidemirror.v1.ThinkingService"):
                assert (await health.Check(health_pb2.HealthCheckRequest(service=service))).status == SERVING
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub_on(channel).ListSessions(pb.ListSessionsRequest())
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
            watch = health.Watch(health_pb2.HealthCheckRequest())
            assert (await watch.read()).status == SERVING
            await stack.aclose()
            assert (await watch.read()).status == NOT_SERVING
            await channel.close()


async def test_a_watch_that_ends_leaves_the_others_informed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with asyncio.timeout(60), contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(serving(tmp_path, health_address="127.0.0.1:0"))
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port_told(caplog)}") as channel:
                stub: Any = health_pb2_grpc.HealthStub(channel)
                stays, leaves = (stub.Watch(health_pb2.HealthCheckRequest()) for _ in range(2))
                assert [(await watch.read()).status for watch in (stays, leaves)] == [SERVING, SERVING]
                leaves.cancel()
                # The server has noticed: the next call of the connection is served after it.
                await stub.Check(health_pb2.HealthCheckRequest())
                await stack.aclose()
                assert (await stays.read()).status == NOT_SERVING


async def test_a_stranger_cannot_fill_the_memory_with_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening_health, "_WATCHES_AT_ONCE", 2)
    async with asyncio.timeout(60), serving(tmp_path) as address, grpc.aio.insecure_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)

        async def refusal(service: str) -> grpc.StatusCode:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.Watch(health_pb2.HealthCheckRequest(service=service)).read()
            return refused.value.code()

        assert await refusal("x" * 129) is grpc.StatusCode.INVALID_ARGUMENT
        watches = [stub.Watch(health_pb2.HealthCheckRequest(service=service)) for service in ("", "x")]
        for watch in watches:
            await watch.read()
        assert await refusal("") is grpc.StatusCode.RESOURCE_EXHAUSTED
        watches[0].cancel()
        while True:  # until the server has noticed
            again = stub.Watch(health_pb2.HealthCheckRequest())
            with contextlib.suppress(grpc.aio.AioRpcError):
                assert (await again.read()).status == SERVING
                break


async def test_the_command_asks_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that speaks TLS, whose check knows nothing but the server's own settings. Seen to fail when the
    TLS address is asked."""
    made = Certificates(tmp_path / "tls")
    with caplog.at_level(logging.INFO):
        async with serving(tmp_path, **made.settings(), health_address="0.0.0.0:0") as address:
            monkeypatch.setenv("SIDEMIRROR_ADDRESS", address)
            assert await asyncio.to_thread(health, "", "") == 69
            monkeypatch.setenv("SIDEMIRROR_HEALTH_ADDRESS", f"0.0.0.0:{port_told(caplog)}")
            monkeypatch.setenv("SIDEMIRROR_CA_FILE", str(made.ca))
            assert await asyncio.to_thread(health, "", "") == 0


@pytest.mark.parametrize("address", ["unix:/tmp/s", "9000", "host:port"])
async def test_an_address_that_is_none(address: str, tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"health_address \(SIDEMIRROR_HEALTH_ADDRESS\)"):
        async with serving(tmp_path, health_address=address):
            pass


async def test_health_of_a_service_follows_the_store_and_that_of_the_server_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What thinks goes on without its store, and an agent's pod stays in service. Seen to fail when `_follow_the_store`
    waits to be told."""
    away = asyncio.Event()
    monkeypatch.setattr(SqliteDatabase, "answers", lambda _: not away.is_set())
    async with asyncio.timeout(60), serving(tmp_path) as address, grpc.aio.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest(service="sidemirror.v1.CritiqueService"))
        assert (await watch.read()).status == SERVING
        away.set()
        assert (await watch.read()).status == NOT_SERVING
        for service in ("", "sidemirror.v1.ThinkingService", "sidemirror.v1.SidecarService"):
            assert (await health.Check(health_pb2.HealthCheckRequest(service=service))).status == SERVING
        for service in ("sidemirror.v1.ReflectiveMemoryService", "sidemirror.v1.GoalReflectionService"):
            others = health.Watch(health_pb2.HealthCheckRequest(service=service))
            while (await others.read()).status != NOT_SERVING:
                pass
            others.cancel()
        away.clear()
        assert (await watch.read()).status == SERVING


def test_an_address_that_is_taken_ends_the_start(tmp_path: Path) -> None:
    """In one line. Seen to fail when the server serves already by then: it was left to the garbage collector."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        health = f"127.0.0.1:{taken.getsockname()[1]}"
        told = run("serve", "--address", "127.0.0.1:0", "--health-address", health, cwd=tmp_path)
    assert told.returncode == 1
    assert f"sidemirror: health_address '{health}': it is in use" in told.stderr
    assert "Traceback" not in told.stderr
