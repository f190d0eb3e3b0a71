"""The health service, which asks for no token, and an address of its own for it: Kubernetes' kubelet may not call."""

from collections import Counter
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio

from sidemirror_server.rpc.listening.addresses import CannotListen, check_free

# Callers need no token, so the limit is low. Chosen here: the kubelet has one or two calls open.
_CALLS_AT_ONCE = 50
_LONGEST_REQUEST_BYTES = 4_096
# Of watches on the main address, which strangers may open too. Chosen here: as many as there may be streams by default,
# and names longer than those of our services, because a watch holds its request for as long as it lasts.
_WATCHES_AT_ONCE = 8_000
_LONGEST_NAME = 128


class Health(health_aio.HealthServicer):
    """The package's service, with bounded watches. There, a watch that ends also silences the others of its service."""

    def __init__(self) -> None:
        super().__init__()
        self._watches: Counter[str] = Counter()

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:  # noqa: N802  # gRPC's name
        """Tells the service's health, now and at each change."""
        service = request.service
        if len(service) > _LONGEST_NAME:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"a name has at most {_LONGEST_NAME} characters")
        if self._watches.total() >= _WATCHES_AT_ONCE:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many watch the health of this server")
        watchers: dict[str, Any] = self._server_watchers  # type: ignore[attr-defined]  # the stubs leave it out
        told = watchers[service]
        self._watches[service] += 1
        try:
            await super().Watch(request, context)
        finally:
            self._watches[service] -= 1
            if self._watches[service]:
                watchers[service] = told
            else:
                del self._watches[service]


class HealthListener:
    """A server with only the health service. It answers until the main server has stopped."""

    def __init__(self, health: Health, address: str) -> None:
        """Listens at once, and serves after `start`. Raises CannotListen when the address is in use."""
        check_free("health_address", address)
        self._server = grpc.aio.server(
            maximum_concurrent_rpcs=_CALLS_AT_ONCE,
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_concurrent_streams", _CALLS_AT_ONCE),
                ("grpc.max_receive_message_length", _LONGEST_REQUEST_BYTES),
            ],
        )
        health_pb2_grpc.add_HealthServicer_to_server(health, self._server)
        try:
            self.port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise CannotListen(
                f"health_address {address!r}: it is in use, or not an address of this machine"
            ) from error

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(0)
