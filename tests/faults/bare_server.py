"""A bare grpc.aio server with the two streams of ThinkingService: one answer, then silence."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc


async def _server_stream(request: bytes, context: Any) -> AsyncIterator[bytes]:
    yield b""
    await asyncio.Event().wait()


async def _bidi_stream(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
    await anext(requests)
    yield b""
    await asyncio.Event().wait()


async def _serve() -> None:
    server = grpc.aio.server(options=[("grpc.max_concurrent_streams", 100)])
    handlers: dict[str, Any] = {
        "WatchTurns": grpc.unary_stream_rpc_method_handler(_server_stream),
        "RunTurn": grpc.stream_stream_rpc_method_handler(_bidi_stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("sidemirror.v1.ThinkingService", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stderr.write(json.dumps({"event": "serving", "port": port}) + "\n")
    sys.stderr.flush()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.stop(0)


if __name__ == "__main__":
    import uvloop

    uvloop.run(_serve())
