"""A small connection pool: its size and every wait are bounded, and idle connections are closed, at last all of them.

One connection may be held: it stays open while idle, because notifications arrive on it (`wakes.py`).

asyncpg's own pool is not used: it waits without bound for a connection that hangs (decision 010). It also resets each
released session, which costs a round trip and is useless for sessions without state.
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
    """The pool, for use from one event loop. The caller of `take` must call `give_back` or `discard`."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[asyncpg.Connection]],
        most: int,
        wait_s: float,
        idle_s: float,
        last_idle_s: float,
    ) -> None:
        """`most`: connections at once. `wait_s`: the time limit for a free place, and again for a new connection. Idle
        connections are closed after `idle_s` seconds, and the last one after `last_idle_s`."""
        self._connect = connect
        self._most = most
        self._wait_s = wait_s
        self._idle_s = idle_s
        self._last_idle_s = last_idle_s
        self._free = asyncio.Semaphore(most)
        self._idle: deque[_Idle] = deque()  # least recently used first
        self._taken: set[asyncpg.Connection] = set()
        self._held: asyncpg.Connection | None = None
        self._trimming: asyncio.TimerHandle | None = None
        self._closed = False

    async def take(self) -> asyncpg.Connection:
        """An idle connection, else a new one. Raises StoreUnavailable if all are busy for too long, TimeoutError if a
        new one takes too long, and the errors of `connect`."""
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
        if self._closed:  # while this connection was made
            connection.terminate()
            raise StoreUnavailable(store="postgres", reason="it was closed")
        self._taken.add(connection)
        return connection

    def _last_used(self) -> asyncpg.Connection | None:
        """The idle connection that was used last; the held one only if there is no other."""
        while self._idle:
            place = len(self._idle) - 1
            if self._idle[place].connection is self._held and place > 0:
                place -= 1
            connection = self._idle[place].connection
            del self._idle[place]
            if not connection.is_closed():
                return connection
        return None

    def give_back(self, connection: asyncpg.Connection) -> None:
        """Returns a usable connection to the pool; it must be in no transaction."""
        if connection not in self._taken:  # after discard_all
            return
        self._taken.remove(connection)
        self._idle.append(_Idle(connection, asyncio.get_running_loop().time()))
        self._free.release()
        self._trim()

    def discard(self, connection: asyncpg.Connection) -> None:
        """Closes a connection in an unknown state at once; the server rolls its transaction back."""
        if connection in self._taken:
            self._taken.remove(connection)
            self._free.release()
        connection.terminate()

    def adopt(self, connection: asyncpg.Connection) -> None:
        """Adds a connection that was made elsewhere, or closes it if the pool is full."""
        if len(self._idle) + len(self._taken) < self._most:
            self._idle.append(_Idle(connection, asyncio.get_running_loop().time()))
            self._trim()
        else:
            connection.terminate()

    def hold(self, connection: asyncpg.Connection) -> None:
        """Adds a connection that stays open while it is idle, until `let_go`. In a full pool it takes the place of an
        idle one. Raises StoreUnavailable, and closes it, if all are busy."""
        if len(self._idle) + len(self._taken) >= self._most:
            if not self._idle:
                connection.terminate()
                raise StoreUnavailable(store="postgres", reason=f"all {self._most} connections are busy")
            self._idle.popleft().connection.terminate()
        self._held = connection
        self._idle.appendleft(_Idle(connection, asyncio.get_running_loop().time()))
        self._trim()

    def let_go(self) -> None:
        """Ends `hold`. The connection is closed now, or by whoever uses it."""
        held, self._held = self._held, None
        if held is not None and held not in self._taken:
            self._idle = deque(idle for idle in self._idle if idle.connection is not held)
            held.terminate()

    def rest(self) -> None:
        """Closes idle connections at once, except the held one."""
        for idle in tuple(self._idle):
            if idle.connection is not self._held:
                self._idle.remove(idle)
                idle.connection.terminate()

    def discard_idle(self) -> None:
        """Closes all idle connections at once: after a server's failure none of them works."""
        while self._idle:
            self._idle.pop().connection.terminate()

    def discard_all(self) -> None:
        """Closes all connections at once. Callers that wait on one fail immediately."""
        self.discard_idle()
        for connection in tuple(self._taken):
            self.discard(connection)

    def close(self) -> None:
        """Closes all connections at once, including those that are being made."""
        self._closed = True
        if self._trimming is not None:
            self._trimming.cancel()
        self.discard_all()

    def _trim(self) -> None:
        """Closes connections that have been idle for too long, and returns for the next one."""
        loop = asyncio.get_running_loop()
        next_s: float | None = None
        for idle in tuple(self._idle):
            if idle.connection is self._held:
                continue
            due_s = idle.since_s + (self._last_idle_s if len(self._idle) == 1 else self._idle_s)
            if due_s <= loop.time():
                self._idle.remove(idle)
                idle.connection.terminate()
            else:
                next_s = due_s if next_s is None else min(next_s, due_s)
        if next_s is not None and (self._trimming is None or next_s < self._trimming.when()):
            if self._trimming is not None:
                self._trimming.cancel()
            self._trimming = loop.call_at(next_s, self._trim_again)

    def _trim_again(self) -> None:
        self._trimming = None
        self._trim()
