"""A TCP proxy on loopback that can delay, swallow, cut off, reset and half-close what passes through it."""

import asyncio
import contextlib
import socket
import struct
from types import TracebackType
from typing import Self

_MOST_CONNECTIONS = 64
_CHUNK_BYTES = 64 * 1024
# SO_LINGER on, 0 seconds: close sends RST instead of FIN.
_RESET = struct.pack("ii", 1, 0)


class _Pipe:
    """One connection through the proxy."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.near = near
        self.far = far


class FaultProxy:
    """Passes connections on to host:port. Faults hold for all connections, from the moment they are set."""

    def __init__(self, address: str) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self.latency_s = 0.0
        self.passed_bytes = 0
        self._open = asyncio.Event()
        self._open.set()
        self._cut_at_bytes: int | None = None
        self._pipes: set[_Pipe] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.reset()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def connections(self) -> int:
        return len(self._pipes)

    def swallow(self) -> None:
        """A black hole: connections stand, nothing passes, nobody is told."""
        self._open.clear()

    def pass_on(self) -> None:
        """What was swallowed passes, and all that follows."""
        self._open.set()

    def reset(self) -> None:
        """RST to both sides of every connection."""
        for pipe in tuple(self._pipes):
            for side in (pipe.near, pipe.far):
                raw = side.get_extra_info("socket")
                if raw is not None and raw.fileno() >= 0:
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                side.transport.abort()

    def cut_after(self, more_bytes: int) -> None:
        """When so many more bytes have passed, both directions together, connections end in the middle of what they
        carry; those that come later are not cut."""
        self._cut_at_bytes = self.passed_bytes + more_bytes

    def half_open(self) -> None:
        """The far side is gone, and the near side is not told."""
        self._open.clear()
        for pipe in tuple(self._pipes):
            pipe.far.transport.abort()

    def _accepted(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        if len(self._pipes) >= _MOST_CONNECTIONS:
            near.transport.abort()
            return
        task = asyncio.create_task(self._connect(reader, near))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        await self._open.wait()
        try:
            far_reader, far = await asyncio.open_connection(self._host, self._port)
        except OSError:
            near.transport.abort()
            return
        pipe = _Pipe(near, far)
        self._pipes.add(pipe)
        try:
            ways = [asyncio.create_task(self._carry(reader, far)), asyncio.create_task(self._carry(far_reader, near))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                await self._open.wait()  # while nothing passes, no end passes either
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            self._pipes.discard(pipe)
            near.close()
            far.close()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(_CHUNK_BYTES):
                if self.latency_s:
                    await asyncio.sleep(self.latency_s)
                await self._open.wait()
                if self._cut_at_bytes is not None and self.passed_bytes + len(data) >= self._cut_at_bytes:
                    target.write(data[: max(0, self._cut_at_bytes - self.passed_bytes)])
                    self._cut_at_bytes = None
                    return
                self.passed_bytes += len(data)
                target.write(data)
                await target.drain()
