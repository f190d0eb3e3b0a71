"""Health on a separate address, for clients that may not call, such as Kubernetes' kubelet."""

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import aio as health_aio

from sidemirror_server.rpc.listening.addresses import CannotListen, check_free

# Callers need no token, so the limit is low. Chosen here: the kubelet has one or two calls open.
_CALLS_AT_ONCE = 50
_LONGEST_REQUEST_BYTES = 4_096


class HealthListener:
    """A server with only the health service. It answers until the main server has stopped."""

    def __init__(self, health: health_aio.HealthServicer, address: str) -> None:
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
