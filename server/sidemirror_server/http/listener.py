"""Listens for HTTP/1.1 and bounds what connections can cost: their number, and how long one may keep silent.

uvicorn's protocol reads requests and writes answers. Its server is not used: it takes over signals and wakes ten times
a second.
"""

import asyncio
import logging
import socket
from functools import partial
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sidemirror_server.http.asgi import App
from sidemirror_server.http.linger import lingering
from sidemirror_server.http.turnstile import Turnstile

# Seconds in which the head of a request must be here, once its first byte came or the connection was opened.
_HEAD_S = 10.0
# Seconds for which a connection may wait for its next request. Chosen here: between two tool calls of an agent.
_QUIET_S = 30.0
# Seconds in which a reader must take something of what is written to it. Chosen here: a page that is in the background
# reads on.
_STALL_S = 30.0
# Seconds that a request has to end once its connection is cut off, at shutdown.
_LAST_S = 1.0
_LONGEST_HEAD_BYTES = 32 * 1024
_BACKLOG = 128
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"


class HttpListener:
    """A port with an ASGI application behind it."""

    def __init__(self, app: App, connections: int, requests_per_second: float) -> None:
        """`connections`: how many may be open; more are refused with 503. `requests_per_second`: of all of them; more
        wait."""
        self._state = ServerState()
        self._connections = connections
        self._turnstile = Turnstile(requests_per_second)
        self._config = Config(
            lingering(app),
            http=_Connection,
            ws="none",
            lifespan="off",
            # Errors of the application only: what callers do wrong, anybody could fill the log with.
            log_config=None,
            log_level=logging.ERROR,
            access_log=False,
            # The peer is who is connected, whatever its headers say.
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=int(_QUIET_S),
            h11_max_incomplete_event_size=_LONGEST_HEAD_BYTES,
        )
        self._server: asyncio.Server | None = None

    async def start(self, address: str) -> int:
        """Listens at host:port and returns the port. Raises OSError when the address cannot be had."""
        self._config.load()
        listening = _bound(address)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, sock=listening, backlog=_BACKLOG)
        return int(listening.getsockname()[1])

    def _connection(self) -> "_Connection":
        return _Connection(self._config, self._state, self._connections, self._turnstile)

    async def stop(self, grace_s: float) -> None:
        """Takes no more connections, gives running requests `grace_s` seconds, then ends them."""
        if self._server is None:
            return
        self._server.close()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        if running := tuple(self._state.tasks):
            await asyncio.wait(running, timeout=grace_s)
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        # Each notices that its caller is gone.
        if left := tuple(self._state.tasks):
            await asyncio.wait(left, timeout=_LAST_S)


def _bound(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, place = found[0]
    listening = socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    listening.setblocking(False)
    return listening


class _Connection(H11Protocol):
    """One connection, with its time limits."""

    def __init__(self, config: Config, state: ServerState, most: int, turnstile: Turnstile) -> None:
        super().__init__(config, state, {})
        self._most = most
        self._turnstile = turnstile
        # Whether what has come waits for its turn.
        self._waits = False
        self._head: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # asyncio does so only for sockets that name their protocol. Without it the body of an answer waits until the
        # caller has confirmed the head, which takes 40 ms where the connection was used before.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > self._most:
            transport.write(_BUSY)
            transport.close()
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        # uvicorn's own timer ends with what has come, also while that waits.
        self._unset_keepalive_if_required()
        if not self._turnstile.enter(partial(self._read, data)):
            self._await_head()
            self._waits = True
            self.transport.pause_reading()

    def _read(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._await_head()
        waited, self._waits = self._waits, False
        if waited and not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _await_head(self) -> None:
        """Bounds the time until the head of the next request is here; ends the bound while a request is served."""
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._head_is_here()
        elif self._head is None:
            self._head = self.loop.call_later(_HEAD_S, self.transport.abort)

    def on_response_complete(self) -> None:
        # uvicorn has a bound for the time until the next request begins, and begins one that waits already.
        super().on_response_complete()
        self._head_is_here()

    def _head_is_here(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(_STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
