"""One channel to a sidecar, the turns that are reported on it, and the typed stubs."""

import asyncio
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, Unpack

import grpc
from grpc.aio import ClientInterceptor
from grpc_health.v1 import health_pb2

from sidemirror.v1 import (
    critique_pb2,
    critique_pb2_grpc,
    goal_reflection_pb2,
    goal_reflection_pb2_grpc,
    reflective_memory_pb2,
    reflective_memory_pb2_grpc,
    sidecar_pb2,
    sidecar_pb2_grpc,
    thinking_pb2,
    thinking_pb2_grpc,
)
from sidemirror_client.calls import DEFAULT_DEADLINE_S, Carried, channel_options, interceptors
from sidemirror_client.link import Link
from sidemirror_client.turn import MOST_TURNS, Started, Turn

DEFAULT_ADDRESS = "127.0.0.1:50051"
# How long closing waits for events that are still on their way.
DEFAULT_FLUSH_S = 2.0

SERVICES = (
    thinking_pb2.DESCRIPTOR.services_by_name["ThinkingService"],
    critique_pb2.DESCRIPTOR.services_by_name["CritiqueService"],
    goal_reflection_pb2.DESCRIPTOR.services_by_name["GoalReflectionService"],
    reflective_memory_pb2.DESCRIPTOR.services_by_name["ReflectiveMemoryService"],
    sidecar_pb2.DESCRIPTOR.services_by_name["SidecarService"],
)


class Sidemirror:
    """The services of one sidecar. Close it, or use it as an async context manager."""

    def __init__(self, channel: grpc.aio.Channel, on_away: Callable[[str], None] | None = None) -> None:
        """`on_away`: called once with the reason when the sidecar goes away, and again only after it was back; else a
        warning is logged."""
        self.channel = channel
        self.thinking = thinking_pb2_grpc.ThinkingServiceStub(channel)
        self.critique = critique_pb2_grpc.CritiqueServiceStub(channel)
        self.goals = goal_reflection_pb2_grpc.GoalReflectionServiceStub(channel)
        self.memory = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
        self.sidecar = sidecar_pb2_grpc.SidecarServiceStub(channel)
        self._watch_health = channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        self._link = Link(self._probe, on_away)
        self._turns: set[Turn] = set()

    def begin_turn(self, turn_id: str = "", agent: str = "", **started: Unpack[Started]) -> Turn:
        """A turn of the agent, reported beside it: nothing here waits for the sidecar, and nothing raises because it is
        away. `started` holds fields of `TurnStarted`; `agent` names which of several agents acts."""
        turn = Turn(self.thinking, self._link, turn_id or str(uuid.uuid4()), agent)
        room = len(self._turns) < MOST_TURNS
        self._turns.add(turn)
        turn.begin(thinking_pb2.TurnStarted(**started), self._turns.discard, room=room)
        return turn

    @property
    def away(self) -> bool:
        """The sidecar was there, or was looked for, and does not answer now."""
        return self._link.away

    async def wait_until_ready(self, timeout_s: float = DEFAULT_DEADLINE_S) -> None:
        """Returns once the sidecar says that it serves. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    watch = self._watch_health(health_pb2.HealthCheckRequest(), wait_for_ready=True)
                    async for state in watch:
                        if state.status == health_pb2.HealthCheckResponse.SERVING:
                            watch.cancel()
                            return
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.05)

    async def flush(self, timeout_s: float = DEFAULT_FLUSH_S) -> bool:
        """Waits until everything reported so far is durable with the sidecar; False when time is up first."""
        try:
            async with asyncio.timeout(timeout_s):
                for turn in tuple(self._turns):
                    await turn.delivered()
        except TimeoutError:
            return False
        return True

    async def close(self, flush_s: float = DEFAULT_FLUSH_S) -> None:
        """Waits up to `flush_s` for events that are on their way, then ends the connection and every call on it."""
        try:
            if self._turns:
                await self.flush(flush_s)
        finally:
            # Also when whoever closes does not wait so long.
            await self._link.close()
            for turn in tuple(self._turns):
                await turn.abandon()
            await self.channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _probe(self, timeout_s: float) -> object:
        return await self.sidecar.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=timeout_s)


def connect(
    address: str | None = None,
    *,
    token_file: str | None = None,
    ca_file: str | None = None,
    client_certificate_file: str | None = None,
    client_key_file: str | None = None,
    tenant_id: str = "",
    project_id: str = "",
    deadline_s: float = DEFAULT_DEADLINE_S,
    on_away: Callable[[str], None] | None = None,
    traced: bool = False,
) -> Sidemirror:
    """A client for the sidecar at `address` (host:port, or `unix:/path`); else where `SIDEMIRROR_ADDRESS` says; else at
    the default port. Connects when it is first used.

    What is not given is read from the environment: `SIDEMIRROR_TOKEN_FILE` (read again for each call),
    `SIDEMIRROR_CA_FILE` (with it the connection is TLS), `SIDEMIRROR_CLIENT_CERTIFICATE_FILE` and
    `SIDEMIRROR_CLIENT_KEY_FILE`. Raises OSError when a file of these cannot be read.

    Unary calls get `deadline_s` seconds where the call says nothing else, calls that ask a model 60. Calls that find
    the sidecar away are tried again for about a second; that is safe, because every write carries a `request_id`, which
    is filled in here when it is empty. `traced`: one client span for each call, by opentelemetry-instrumentation-grpc
    (install `sidemirror-client[tracing]`).
    """
    target = address or os.environ.get("SIDEMIRROR_ADDRESS") or DEFAULT_ADDRESS
    token_file = _given(token_file, "SIDEMIRROR_TOKEN_FILE")
    carried = Carried(deadline_s, token_file, tenant_id, project_id)
    chain: list[ClientInterceptor] = list(interceptors(carried))
    if traced:
        from opentelemetry.instrumentation.grpc import aio_client_interceptors

        chain = [*aio_client_interceptors(), *chain]  # type: ignore[no-untyped-call]  # the package has no types
    options: Any = channel_options(SERVICES)
    ca = _given(ca_file, "SIDEMIRROR_CA_FILE")
    if ca and not target.startswith("unix:"):
        credentials = grpc.ssl_channel_credentials(
            Path(ca).read_bytes(),
            _read(_given(client_key_file, "SIDEMIRROR_CLIENT_KEY_FILE")),
            _read(_given(client_certificate_file, "SIDEMIRROR_CLIENT_CERTIFICATE_FILE")),
        )
        channel = grpc.aio.secure_channel(target, credentials, options=options, interceptors=chain)
    else:
        channel = grpc.aio.insecure_channel(target, options=options, interceptors=chain)
    return Sidemirror(channel, on_away)


def _given(value: str | None, name: str) -> str:
    return os.environ.get(name, "") if value is None else value


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None
