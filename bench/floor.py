"""The floor: a bare grpc.aio server that sends back the bytes it gets. `python -m bench.floor HOST:PORT`.

Registered the way generated code does it; no (de)serializers, no interceptors, uvloop, the sidecar's listening options.
"""

import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc
import uvloop

ECHO = "/bench.Floor/Echo"
CHAT = "/bench.Floor/Chat"


async def echo(raw: bytes, _: object) -> bytes:
    return raw


async def chat(raws: AsyncIterator[bytes], _: object) -> AsyncIterator[bytes]:
    async for raw in raws:
        yield raw


async def serve(address: str) -> None:
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    handlers: dict[str, Any] = {
        "Echo": grpc.unary_unary_rpc_method_handler(echo),
        "Chat": grpc.stream_stream_rpc_method_handler(chat),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Floor", handlers),))
    server.add_registered_method_handlers("bench.Floor", handlers)
    server.add_insecure_port(address)
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
