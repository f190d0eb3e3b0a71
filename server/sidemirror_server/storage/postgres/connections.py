"""A few connections, shared: at most so many, each wait for one bounded, and those that nobody needs let go.

asyncpg's own pool is not used: it waits without bound for a connection that hangs (decision 010), and resets a session
on every release. That costs a round trip and does nothing for sessions that keep no state.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import asyncpg

from sidemirror_server.vocabulary.errors import StoreUnavailable


class _Idle(NamedTuple):
    connection: asyncpg.Connection
    since_s: float


class Connections:
    """To be used from one event loop. Whoever takes a connection gives it back, or discards it."""

    def __init__(
        self, connect: Callable[[], Awaitable[asyncpg.Connection]], most: int, wait_s: float, idle_s: float
    ) -> None:
        """`most`: at once. `wait_s`: how long to wait for one of them, and again for making it. Idle ones but the last
        used are closed after `idle_s` seconds."""
        self._connect = connect
        self._most = most
        self._wait_s = wait_s
        self._idle_s = idle_s
        self._free = asyncio.Semaphore(most)
        self._idle: deque[_Idle] = deque()  # the last used at the right end
        self._taken: set[asyncpg.Connection] = set()
        self._trimming: asyncio.TimerHandle | None = None
        self._closed = False

    async def take(self) -> asyncpg.Connection:
        """A connection that was alive when it was last seen. Raises StoreUnavailable when all are busy for too long,
        TimeoutError when a new one takes too long, and what `connect` raises."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError as exc:
            raise StoreUnavailable(store="postgres", reason=f"all {self._most} connections are busy") from exc
        connection = self._last_used()
        if connection is None:
            try:
                async with asyncio.timeout(self._wait_s):
                    connection = await self._connect()
            except BaseException:
                self._free.release()
                raise
        if self._closed:  # while this one was made
            connection.terminate()
            raise StoreUnavailable(store="postgres", reason="it was closed")
        self._taken.add(connection)
        return connection

    def _last_used(self) -> asyncpg.Connection | None:
        while self._idle:
            connection = self._idle.pop().connection
            if not connection.is_closed():
                return connection
        return None

    def give_back(self, connection: asyncpg.Connection) -> None:
        """The connection is in order, and in no transaction."""
        if connection not in self._taken:  # all were discarded meanwhile
            return
        self._taken.remove(connection)
        now_s = asyncio.get_running_loop().time()
        self._idle.append(_Idle(connection, now_s))
        self._free.release()
        if self._trimming is None and len(self._idle) > 1:
            self._trimming = asyncio.get_running_loop().call_later(self._idle_s, self._trim)

    def discard(self, connection: asyncpg.Connection) -> None:
        """Nobody knows what state the connection is in: it is cut, which rolls back what it had begun."""
        if connection in self._taken:
            self._taken.remove(connection)
            self._free.release()
        connection.terminate()

    def adopt(self, connection: asyncpg.Connection) -> None:
        """Takes in a connection that was made elsewhere, if there is room."""
        if len(self._idle) + len(self._taken) < self._most:
            self._idle.append(_Idle(connection, asyncio.get_running_loop().time()))
        else:
            connection.terminate()

    def discard_idle(self) -> None:
        """Cuts what nobody uses: a server that went away took them along, whether or not they know."""
        while self._idle:
            self._idle.pop().connection.terminate()

    def discard_all(self) -> None:
        """Cuts those in use too: whoever waits on one that hangs is told at once."""
        self.discard_idle()
        for connection in tuple(self._taken):
            self.discard(connection)

    def close(self) -> None:
        """Cuts everything, also what is being made at this moment."""
        self._closed = True
        if self._trimming is not None:
            self._trimming.cancel()
        self.discard_all()

    def _trim(self) -> None:
        loop = asyncio.get_running_loop()
        self._trimming = None
        while len(self._idle) > 1 and self._idle[0].since_s + self._idle_s <= loop.time():
            self._idle.popleft().connection.terminate()
        if len(self._idle) > 1:
            self._trimming = loop.call_at(self._idle[0].since_s + self._idle_s, self._trim)
