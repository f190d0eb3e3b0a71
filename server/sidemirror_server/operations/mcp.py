"""`sidemirror mcp`: the tools of MCP over stdin and stdout, for hosts that start a command and speak no HTTP.

It calls a running sidecar over gRPC, as the other commands do. Without a sidecar it serves all the same, since a host
starts it once: each tool then says that nothing can be reached.
"""

import argparse
import asyncio
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import grpc

from sidemirror_server.http.mcp.serving import CALL_S, LACKS
from sidemirror_server.http.mcp.tools import Tool, ToolRefused, Whose, called
from sidemirror_server.operations.target import address_of, aio_channel, scope_of, why_failed
from sidemirror_server.settings import BadSettings


def mcp(options: argparse.Namespace) -> int:
    """Serves until stdin ends; returns the exit code. Raises BadSettings."""
    address = address_of(options.address)
    whose = Whose(**scope_of(options), session_id=options.session_id)
    try:
        official = importlib.import_module("sidemirror_server.http.mcp.official")
    except ModuleNotFoundError as error:
        raise BadSettings(LACKS) from error
    asyncio.run(_serve(official, address, whose))
    return 0


async def _serve(official: ModuleType, address: str, whose: Whose) -> None:
    async with aio_channel(address) as channel:

        async def ask(tool: Tool, body: bytes) -> bytes:
            asked: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(tool.path)
            try:
                return await asked(body, timeout=CALL_S)
            except grpc.aio.AioRpcError as error:
                raise ToolRefused(why_failed(address, error)) from error

        async def call(name: str, arguments: Mapping[str, Any] | None, _: Any) -> tuple[str, bool]:
            return await called(name, arguments, whose, ask)

        await official.serve_stdio(call)
