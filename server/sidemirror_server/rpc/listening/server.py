"""The gRPC server: registers the services, listens, reports its health, and shuts down gracefully."""

import asyncio
import contextlib
import logging
from collections.abc import Collection, Mapping
from typing import cast

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror_server.rpc.boundary.interceptors import Boundary, Handler
from sidemirror_server.rpc.boundary.services import BidiStream, ClientStream, Rpc, ServerStream, ServiceTable, Unary
from sidemirror_server.rpc.boundary.streams import Streams
from sidemirror_server.rpc.listening.health import Health
from sidemirror_server.rpc.listening.symbols import Symbols

_log = logging.getLogger(__name__)

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

# How long a new connection may say nothing; it holds a descriptor meanwhile. Chosen here: many times what a handshake
# takes, and a twelfth of gRPC's default.
HANDSHAKE_MS = 10_000


def options(message_bytes: int, streams_per_connection: int) -> list[tuple[str, int]]:
    """Channel arguments. Decision 006 gives the reasons and figures."""
    return [
        # Without this a second server binds the same port silently and takes half of the calls.
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_concurrent_streams", streams_per_connection),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
    ]


def handlers_of(boundary: Boundary, service: ServiceTable) -> Mapping[str, Handler]:
    """The handler of every method of the service."""
    return {method.name: _handler(boundary, method, service.rpcs[method.name]) for method in service.contract.methods}


def _handler(boundary: Boundary, method: MethodDescriptor, rpc: Rpc) -> Handler:
    path = f"{method.containing_service.full_name}/{method.name}"
    request_type: type[Message] = GetMessageClass(method.input_type)
    match rpc:
        case Unary():
            return boundary.unary(path, request_type, rpc)
        case ServerStream():
            return boundary.server_stream(path, request_type, rpc)
        case ClientStream():
            return boundary.client_stream(path, request_type, rpc)
        case BidiStream():
            return boundary.bidi_stream(path, request_type, rpc)


class _Unregistered:
    """A server to which generated code adds its handlers by name only.

    For each registered handler grpc.aio keeps a task that waits for its next call, and checks all these tasks at every
    call. With our 50 methods that costs at least a tenth of a small call's CPU. A look-up by name takes a few
    microseconds.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self.add_generic_rpc_handlers = server.add_generic_rpc_handlers

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Does nothing, on purpose."""


class Server:
    """A grpc.aio server with health, reflection and streams."""

    def __init__(self, streams: Streams, message_bytes: int, streams_per_connection: int) -> None:
        self._server = grpc.aio.server(options=options(message_bytes, streams_per_connection))
        self._streams = streams
        self.health = Health()
        self._by_name = cast("grpc.aio.Server", _Unregistered(self._server))
        self._names: list[str] = []

    def register(self, boundary: Boundary, *services: ServiceTable) -> None:
        """Registers the services' handlers, wrapped by the boundary."""
        for service in services:
            name, handlers = service.contract.full_name, dict(handlers_of(boundary, service))
            self._by_name.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
            self._names.append(name)

    def register_foreign(self, services: Mapping[str, Mapping[str, Handler]]) -> None:
        """Registers services of another contract: their handlers by method, by the service's name. They have no health
        of their own, and reflection does not know them."""
        for name, handlers in services.items():
            self._by_name.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, dict(handlers)),))

    def reflect(self) -> None:
        """Serves server reflection, so that grpcurl and buf curl need no proto files."""
        from grpc_reflection.v1alpha import reflection

        names = (*self._names, "grpc.health.v1.Health", reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._by_name, pool=Symbols())  # type: ignore[arg-type]  # it is used as one

    def listen(self, address: str, credentials: grpc.ServerCredentials | None = None) -> int:
        """Adds an address, with TLS if there are credentials; returns the port (1 for a Unix socket). Raises
        RuntimeError when the address is in use."""
        if credentials is not None:
            return self._server.add_secure_port(address, credentials)
        return self._server.add_insecure_port(address)

    async def start(self, unable: Collection[str] = ()) -> None:
        """Starts serving. Health reports the services in `unable` as NOT_SERVING."""
        # Added last, like reflection: each call looks for its handler in this order.
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self._by_name)
        for name in ("", *self._names):
            await self.set_able(name, able=name not in unable)
        await self._server.start()

    async def set_able(self, service: str, *, able: bool) -> None:
        """Sets the health of a service ("" is the whole server). Changes nothing after `announce_end`."""
        await self.health.set(service, SERVING if able else NOT_SERVING)

    async def announce_end(self, grace_s: float) -> None:
        """Health reports NOT_SERVING, and every stream sends `closing`."""
        await self.health.enter_graceful_shutdown()
        self._streams.close_all(grace_s)
        # Streams send `closing` when they wake, in the next iterations of the event loop.
        await asyncio.sleep(0)

    async def stop(self, grace_s: float) -> None:
        """Gives running calls `grace_s` seconds to end, then cancels them.

        While streams are open the boundary refuses new calls. A stopping grpc.aio server would drop the next call
        without an answer, and its client would see CANCELLED.
        """
        ends_s = asyncio.get_running_loop().time() + grace_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._streams.all_left()
        await self._server.stop(max(0.0, ends_s - asyncio.get_running_loop().time()))
        _log.info("server_stopped")
