"""The connections of a client: turns take their streams of as many as they need. On our loop only."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from grpc import aio

from sidemirror.v1 import thinking_pb2_grpc

# Turns on one connection. The sidecar takes 100 streams, and counts one that has ended for a moment longer.
STREAMS = 80
# Connections of a client. Chosen here: room for a thousand turns at once, and a few more.
MOST_CONNECTIONS = 16


class _Connection:
    """One connection, and how many turns have a stream on it. `left`: no more turn gets one."""

    def __init__(self, channel: aio.Channel) -> None:
        self.channel = channel
        self.stub: Any = thinking_pb2_grpc.ThinkingServiceStub(channel)
        self.taken = 0
        self.left = False


class Pool:
    """Connections that carry turns."""

    def __init__(self, make: Callable[[], aio.Channel]) -> None:
        """`make` makes a connection."""
        self._make = make
        self._connections: list[_Connection] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(STREAMS * MOST_CONNECTIONS)

    @contextlib.asynccontextmanager
    async def stream(self) -> AsyncIterator[Any]:
        """A stub of ThinkingService whose connection has room for a stream, while the context lasts. Waits for room."""
        async with self._room:
            connection = next((one for one in self._connections if one.taken < STREAMS), None)
            if connection is None:
                connection = _Connection(self._make())
                self._connections.append(connection)
            connection.taken += 1
            try:
                yield connection.stub
            finally:
                connection.taken -= 1
                self._end_if_left(connection)

    def renew(self) -> None:
        """Every stream from now on has a new connection; an old one ends with its last stream. Where a network has
        swallowed what was sent, the old one finds its way back long after a new one would."""
        left, self._connections = self._connections, []
        for connection in left:
            connection.left = True
            self._end_if_left(connection)

    def _end_if_left(self, connection: _Connection) -> None:
        if connection.left and not connection.taken:
            task = asyncio.create_task(connection.channel.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Ends the connections."""
        for connection in self._connections:
            await connection.channel.close()
        if self._closing:
            await asyncio.wait(self._closing)
