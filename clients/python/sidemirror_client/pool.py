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


class Pool:
    """Connections that carry turns."""

    def __init__(self, make: Callable[[], aio.Channel]) -> None:
        """`make` makes a connection."""
        self._make = make
        self._channels: list[aio.Channel] = []
        self._stubs: list[Any] = []
        self._taken: list[int] = []
        self._room = asyncio.Semaphore(STREAMS * MOST_CONNECTIONS)

    @contextlib.asynccontextmanager
    async def stream(self) -> AsyncIterator[Any]:
        """A stub of ThinkingService whose connection has room for a stream, while the context lasts. Waits for room."""
        async with self._room:
            place = next((place for place, taken in enumerate(self._taken) if taken < STREAMS), len(self._taken))
            if place == len(self._taken):
                channel = self._make()
                self._channels.append(channel)
                self._stubs.append(thinking_pb2_grpc.ThinkingServiceStub(channel))
                self._taken.append(0)
            self._taken[place] += 1
            try:
                yield self._stubs[place]
            finally:
                self._taken[place] -= 1

    async def close(self) -> None:
        """Ends the connections."""
        for channel in self._channels:
            await channel.close()
