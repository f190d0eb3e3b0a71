"""The official package of MCP, with our tools: it speaks the protocol's versions. Loaded with the first call to `/mcp`,
and by `sidemirror mcp`.

It takes seconds to load and some 60 MiB, and nobody else needs it.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from sidemirror_server.http.mcp.tools import TOOLS, Tool

# Calls a tool with its arguments, for a request of HTTP or None; returns its answer, and whether that is an error.
Call = Callable[[str, Mapping[str, Any] | None, Any], Awaitable[tuple[str, bool]]]
_ABOUT = (
    "A second look at your own work: recall_lessons before a task, what_worked when a call has failed, "
    "critique_answer before the user sees an answer."
)


def manager_of(call: Call, body_bytes: int) -> StreamableHTTPSessionManager:
    """Serves the tools over streamable HTTP, without sessions of MCP and without streams: each request has one answer.
    `body_bytes`: the longest request."""
    return StreamableHTTPSessionManager(
        _server(call), json_response=True, stateless=True, max_request_body_size=body_bytes
    )


async def serve_stdio(call: Call) -> None:
    """Serves the tools over stdin and stdout, until stdin ends."""
    server = _server(call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _server(call: Call) -> Server[Any]:
    # It logs what callers send. Without a handler Python would print its warnings.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("mcp").propagate = False

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_told(tool) for tool in TOOLS])

    async def call_tool(context: ServerRequestContext[Any], asked: types.CallToolRequestParams) -> types.CallToolResult:
        text, is_error = await call(asked.name, asked.arguments, context.request)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    return Server(
        "sidemirror",
        version=version("sidemirror-server"),
        instructions=_ABOUT,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _told(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=tool.reads, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints)
