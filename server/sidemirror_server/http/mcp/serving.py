"""MCP at `/mcp`: the tools of `tools.py` over the handlers of the boundary, by the official package.

A tool's call is the call of an RPC: the same token, scope, limits and errors. The package is loaded with the first
request, beside all calls.
"""

import asyncio
import importlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sidemirror_server.http.asgi import CLOSE, Message, Receive, Scope, Send, guarded, tell
from sidemirror_server.http.connect.bodies import Left, read_body, while_there
from sidemirror_server.http.connect.errors import code_of, refuse
from sidemirror_server.http.connect.serving import Method
from sidemirror_server.http.context import Ended, HttpContext
from sidemirror_server.http.mcp.tools import Tool, ToolRefused, called, whose_of

PATH = "/mcp"
# The longest request. Chosen here: the longest texts of one call, as JSON; more belongs to Connect.
_MOST_BYTES = 2 * 1024 * 1024
# Seconds for one tool. Chosen here: a model's critique; hosts give up after a minute.
CALL_S = 60.0
LACKS = "MCP needs a package that is not installed: pip install 'sidemirror-server[mcp]'"


class Mcp:
    """An ASGI application that serves the tools."""

    def __init__(self, methods: Mapping[str, Method], message_bytes: int) -> None:
        """`methods`: by path. `message_bytes`: the largest request."""
        self._methods = methods
        self._most_bytes = min(message_bytes, _MOST_BYTES)
        self._starting: asyncio.Task[Any] | None = None
        self._ended = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Ends what the package has begun."""
        self._ended.set()
        for task in (self._starting, self._running):
            if task is not None:
                with suppress(ModuleNotFoundError):
                    await task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await tell(send, 405, "POST is expected", [(b"allow", b"POST"), CLOSE])
            return
        try:
            whose_of(scope["query_string"])
        except ValueError as error:
            await tell(send, 400, f"the address: {error}", [CLOSE])
            return
        try:
            body = await read_body(scope, receive, self._most_bytes)
            manager = await self._started()
            # The package takes no notice of a caller that leaves.
            serving = manager.handle_request(scope, _read_already(body), guarded(send))
            await while_there(receive, serving)
        except ModuleNotFoundError:
            await tell(send, 501, LACKS)
        except Ended as ended:
            await refuse(send, ended.status, [CLOSE])
        except Left:
            return

    async def _started(self) -> Any:
        """The package's manager, while it runs. Raises ModuleNotFoundError where the package is not installed."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(self._forget)
        # One caller that leaves does not end it for the others.
        return await asyncio.shield(self._starting)

    def _forget(self, starting: asyncio.Task[Any]) -> None:
        """The next request tries again what has failed."""
        if starting.cancelled() or starting.exception() is not None:
            self._starting = None

    async def _start(self) -> Any:
        official = await asyncio.to_thread(importlib.import_module, "sidemirror_server.http.mcp.official")
        manager = official.manager_of(self._call, self._most_bytes)
        begun = asyncio.Event()

        # Its tasks begin and end in one task.
        async def run() -> None:
            async with manager.run():
                begun.set()
                await self._ended.wait()

        self._running = asyncio.create_task(run())
        beginning = asyncio.create_task(begun.wait())
        await asyncio.wait((self._running, beginning), return_when=asyncio.FIRST_COMPLETED)
        if not begun.is_set():
            beginning.cancel()
            failed, self._running = self._running, None
            await failed
        return manager

    async def _call(self, name: str, arguments: Mapping[str, Any] | None, request: Any) -> tuple[str, bool]:
        """What a tool answers, and whether that is an error. `request`: HTTP's."""

        async def ask(tool: Tool, body: bytes) -> bytes:
            context = HttpContext(request.scope, CALL_S)
            try:
                async with asyncio.timeout(CALL_S):
                    return bytes(await self._methods[tool.path].handler.unary_unary(body, context))
            except Ended as ended:
                raise ToolRefused(f"{code_of(ended.status)}: {ended.status.message}") from ended
            except TimeoutError as error:
                raise ToolRefused("deadline_exceeded: it took too long") from error

        return await called(name, arguments, whose_of(request.scope["query_string"]), ask)


def _read_already(body: bytes) -> Receive:
    """A body that is here. What comes after it is heard by `while_there`."""
    parts = [body]

    async def receive() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # it never comes

    return receive
