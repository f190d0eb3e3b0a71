"""One channel to a sidecar, and the typed stubs on it."""

import asyncio
import json
import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Self

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc.aio import ClientCallDetails, ClientInterceptor, UnaryUnaryCall, UnaryUnaryClientInterceptor

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc, thinking_pb2, thinking_pb2_grpc

DEFAULT_ADDRESS = "127.0.0.1:50051"
# A local call takes a millisecond; an agent that waits this long has lost its sidecar.
DEFAULT_DEADLINE_S = 10.0

_SERVICES = (
    thinking_pb2.DESCRIPTOR.services_by_name["ThinkingService"],
    sidecar_pb2.DESCRIPTOR.services_by_name["SidecarService"],
)


class Sidemirror:
    """The services of one sidecar. Close it, or use it as an async context manager."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.thinking = thinking_pb2_grpc.ThinkingServiceStub(channel)
        self.sidecar = sidecar_pb2_grpc.SidecarServiceStub(channel)

    async def wait_until_ready(self, timeout_s: float = DEFAULT_DEADLINE_S) -> None:
        """Returns once the sidecar can be reached. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await self.channel.channel_ready()

    async def close(self) -> None:
        """Ends the connection and every call on it."""
        await self.channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def connect(address: str | None = None, *, deadline_s: float = DEFAULT_DEADLINE_S, traced: bool = False) -> Sidemirror:
    """A client for the sidecar at `address` (host:port, or `unix:/path`); else where `SIDEMIRROR_ADDRESS` says; else at
    the default port. Connects when it is first used.

    Unary calls get `deadline_s` seconds where the call says nothing else. Calls that find the sidecar away are tried
    again for about a second; that is safe, because every write carries a `request_id`, which is filled in here when it
    is empty. `traced`: one client span for each call, by opentelemetry-instrumentation-grpc.
    """
    interceptors: list[ClientInterceptor] = [_Defaults(deadline_s)]
    if traced:
        from opentelemetry.instrumentation.grpc import aio_client_interceptors

        interceptors.extend(aio_client_interceptors())  # type: ignore[no-untyped-call]  # the package has no types
    channel = grpc.aio.insecure_channel(
        address or os.environ.get("SIDEMIRROR_ADDRESS") or DEFAULT_ADDRESS,
        options=_options(),
        interceptors=interceptors,
    )
    return Sidemirror(channel)


class _Defaults(UnaryUnaryClientInterceptor):
    """A deadline for calls without one, and a request_id for writes without one."""

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s

    async def intercept_unary_unary(
        self,
        continuation: Callable[[ClientCallDetails, Any], Any],
        client_call_details: ClientCallDetails,
        request: Any,
    ) -> UnaryUnaryCall[Any, Any]:
        details = client_call_details
        if details.timeout is None:
            details = ClientCallDetails(
                details.method, self._deadline_s, details.metadata, details.credentials, details.wait_for_ready
            )
        if "request_id" in request.DESCRIPTOR.fields_by_name and not request.request_id:
            named = type(request)()
            named.CopyFrom(request)
            named.request_id = str(uuid.uuid4())
            request = named
        call: UnaryUnaryCall[Any, Any] = await continuation(details, request)
        return call


def _options() -> Sequence[tuple[str, int | str]]:
    return [
        ("grpc.service_config", json.dumps(_service_config(_SERVICES))),
        # A sidecar is next door: look for it again soon after it was away.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]


def _service_config(services: Sequence[ServiceDescriptor]) -> dict[str, Any]:
    """Retries for the unary methods: all of them are reads, or writes that a request_id makes safe to repeat."""
    names = [
        {"service": service.full_name, "method": method.name}
        for service in services
        for method in service.methods
        if not (method.client_streaming or method.server_streaming)
    ]
    policy = {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    return {"methodConfig": [{"name": names, "retryPolicy": policy}]}
