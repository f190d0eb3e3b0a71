"""The server that Connect's conformance suite tests: its ConformanceService, on the product's own Connect layer.

Started by the suite's runner, as `python -m tests.http.conformance_server DESCRIPTORS`: the settings come on stdin, and
the address goes to stdout. DESCRIPTORS is the suite's contract, compiled by the test.
"""

import asyncio
import signal
import struct
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.rpc import status_pb2
from grpc_status import rpc_status

from sidemirror_server.http.connect.serving import Connect, methods_of
from sidemirror_server.http.listener import HttpListener

_PACKAGE = "connectrpc.conformance.v1"
_LENGTH = struct.Struct(">I")
# Where the suite sets no limit.
_MOST_BYTES = 4 * 1024 * 1024


class Conformance:
    """The suite's contract, and its service as gRPC's handlers."""

    def __init__(self, descriptors: bytes) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
            self._pool.Add(file)
        self.contract = self._pool.FindServiceByName(f"{_PACKAGE}.ConformanceService")
        self.handlers: dict[str, Any] = {
            "Unary": grpc.unary_unary_rpc_method_handler(self._unary_of("Unary")),
            "IdempotentUnary": grpc.unary_unary_rpc_method_handler(self._unary_of("IdempotentUnary")),
            "ServerStream": grpc.unary_stream_rpc_method_handler(self._server_stream),
        }

    def type(self, name: str) -> Any:
        """A class of the suite's messages."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))

    def _unary_of(self, name: str) -> Any:
        async def unary(raw: bytes, context: Any) -> bytes:
            request = self.type(f"{name}Request").FromString(raw)
            wanted = request.response_definition
            info = self._info(request, context)
            await context.send_initial_metadata(_pairs(wanted.response_headers))
            context.set_trailing_metadata(_pairs(wanted.response_trailers))
            await asyncio.sleep(wanted.response_delay_ms / 1000)
            if wanted.HasField("error"):
                await _abort(context, wanted.error, info)
            response = self.type(f"{name}Response")()
            response.payload.data = wanted.response_data
            response.payload.request_info.CopyFrom(info)
            return bytes(response.SerializeToString())

        return unary

    async def _server_stream(self, raw: bytes, context: Any) -> AsyncIterator[bytes]:
        request = self.type("ServerStreamRequest").FromString(raw)
        wanted = request.response_definition
        info = self._info(request, context)
        context.set_trailing_metadata(_pairs(wanted.response_trailers))
        await context.send_initial_metadata(_pairs(wanted.response_headers))
        for number, data in enumerate(wanted.response_data):
            await asyncio.sleep(wanted.response_delay_ms / 1000)
            response = self.type("ServerStreamResponse")()
            response.payload.data = data
            if number == 0:
                response.payload.request_info.CopyFrom(info)
            yield response.SerializeToString()
        if wanted.HasField("error"):
            await _abort(context, wanted.error, None if wanted.response_data else info)

    def _info(self, request: Any, context: Any) -> Any:
        """What the server has seen of the request, for the suite to compare."""
        info = self.type("ConformancePayload.RequestInfo")()
        values: dict[str, list[str]] = {}
        for name, value in context.invocation_metadata():
            values.setdefault(name, []).append(value)
        for name, found in values.items():
            info.request_headers.add(name=name, value=found)
        if (left_s := context.time_remaining()) is not None:
            info.timeout_ms = round(left_s * 1000)
        info.requests.add(**_packed(request))
        return info


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return [(header.name, value) for header in headers for value in header.value]


def _packed(message: Any) -> dict[str, Any]:
    """The fields of an Any that holds the message."""
    return {
        "type_url": f"type.googleapis.com/{message.DESCRIPTOR.full_name}",
        "value": message.SerializeToString(),
    }


async def _abort(context: Any, error: Any, info: Any) -> None:
    # The suite's contract has an Any of its own.
    details = [{"type_url": detail.type_url, "value": detail.value} for detail in error.details]
    if info is not None:
        details.append(_packed(info))
    status = status_pb2.Status(code=error.code, message=error.message)
    for detail in details:
        status.details.add(**detail)
    ended: Awaitable[None] = context.abort_with_status(rpc_status.to_status(status))
    await ended


async def main(descriptors: bytes) -> None:
    """Serves until the runner ends it."""
    conformance = Conformance(descriptors)
    (length,) = _LENGTH.unpack(sys.stdin.buffer.read(_LENGTH.size))
    asked = conformance.type("ServerCompatRequest").FromString(sys.stdin.buffer.read(length))
    methods = methods_of(conformance.contract, conformance.handlers)
    connect = Connect(methods, asked.message_receive_limit or _MOST_BYTES)
    listener = HttpListener(connect, connections=1_000, requests_per_second=10_000.0)
    port = await listener.start("127.0.0.1:0")
    told = conformance.type("ServerCompatResponse")(host="127.0.0.1", port=port).SerializeToString()
    sys.stdout.buffer.write(_LENGTH.pack(len(told)) + told)
    sys.stdout.buffer.flush()
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    await told_to_stop.wait()
    await listener.stop(0.0)
    await connect.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_bytes()))
