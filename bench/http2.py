"""A client that costs a fraction of what a server costs: just enough HTTP/2 to make gRPC calls with prepared bytes.

grpc.aio's own client takes as long for a call as its server does; with it a measurement of throughput would be one of
the client. Not a general client: no padding, no CONTINUATION, one path a connection in the header table.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from typing import cast

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS = 0x1, 0x1, 0x4
_WIDEST = 2**31 - 1
_FRAME = 16_384

# Called with each message, and with None at the end of the stream.
OnMessage = Callable[[bytes | None], None]


class Stream:
    """One call."""

    __slots__ = ("_connection", "_number", "_on_message", "_part", "window")

    def __init__(self, connection: "Connection", number: int, on_message: OnMessage, window: int) -> None:
        self._connection = connection
        self._number = number
        self._on_message = on_message
        self._part = b""
        self.window = window

    def send(self, message: bytes, *, last: bool = False) -> None:
        """Sends a message; `last` closes this side."""
        body = b"\0" + struct.pack(">I", len(message)) + message
        self._connection.send(self, self._number, body, _END_STREAM if last else 0)

    def received(self, data: bytes) -> None:
        if self._part:
            data = self._part + data
        at, size = 0, len(data)
        while size - at >= 5:
            end = at + 5 + int.from_bytes(data[at + 1 : at + 5], "big")
            if end > size:
                break
            self._on_message(data[at + 5 : end])
            at = end
        self._part = data[at:]

    def ended(self) -> None:
        self._on_message(None)


class Connection(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._unread = b""
        self._streams: dict[int, Stream] = {}
        self._next = 1
        self._head = b""
        self._window = 65_535
        self._stream_window = 65_535
        self._blocked: deque[tuple[Stream, int, bytes, int]] = deque()
        self.ready = asyncio.get_running_loop().create_future()
        self.failed: str | None = None

    def open(self, path: str, on_message: OnMessage) -> Stream:
        """Begins a call."""
        number, self._next = self._next, self._next + 2
        stream = self._streams[number] = Stream(self, number, on_message, self._stream_window)
        self._write(_HEADERS, _END_HEADERS, number, self._head or self._first_head(path))
        return stream

    async def call(self, path: str, message: bytes) -> bytes:
        """One unary call; raises ConnectionError when it is answered without a message."""
        answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.open(path, lambda got: None if answer.done() else answer.set_result(got)).send(message, last=True)
        got = await answer
        if got is None:
            raise ConnectionError(f"{path} failed: {self.failed or 'status'}")
        return got

    def send(self, stream: Stream, number: int, body: bytes, flags: int) -> None:
        if len(body) > min(self._window, stream.window) or self._blocked:
            self._blocked.append((stream, number, body, flags))
            return
        self._window -= len(body)
        stream.window -= len(body)
        if len(body) <= _FRAME:
            self._write(_DATA, flags, number, body)
            return
        for at in range(0, len(body), _FRAME):
            self._write(_DATA, flags if at + _FRAME >= len(body) else 0, number, body[at : at + _FRAME])

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # --- asyncio.Protocol --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(_PREFACE)
        self._write(_SETTINGS, 0, 0, struct.pack(">HI", 4, _WIDEST))
        self._write(_WINDOW, 0, 0, struct.pack(">I", _WIDEST - 65_535))

    def data_received(self, data: bytes) -> None:
        if self._unread:
            data = self._unread + data
        at, size = 0, len(data)
        while size - at >= 9:
            end = at + 9 + int.from_bytes(data[at : at + 3], "big")
            if end > size:
                break
            number = int.from_bytes(data[at + 5 : at + 9], "big")
            self._frame(data[at + 3], data[at + 4], number, data[at + 9 : end])
            at = end
        self._unread = data[at:]

    def connection_lost(self, _: Exception | None) -> None:
        self.failed = self.failed or "connection lost"
        if not self.ready.done():
            self.ready.set_exception(ConnectionResetError())
        for stream in tuple(self._streams.values()):
            stream.ended()
        self._streams.clear()

    # --- frames ------------------------------------------------------------------------------------------------------

    def _frame(self, kind: int, flags: int, number: int, body: bytes) -> None:
        if kind == _DATA:
            stream = self._streams.get(number)
            if stream is not None:
                stream.received(body)
        elif kind == _SETTINGS and not flags & _ACK:
            self._settings(body)
        elif kind == _PING and not flags & _ACK:
            self._write(_PING, _ACK, 0, body)
        elif kind == _WINDOW:
            self._widen(number, struct.unpack(">I", body)[0])
        elif kind == _RST:
            self.failed = f"stream reset {int.from_bytes(body, 'big')}"
        elif kind == _GOAWAY:
            self.failed = f"goaway {body[8:]!r}"
        if kind == _RST or (kind in (_DATA, _HEADERS) and flags & _END_STREAM):
            stream = self._streams.pop(number, None)
            if stream is not None:
                stream.ended()

    def _settings(self, body: bytes) -> None:
        for name, value in struct.iter_unpack(">HI", body):
            if name == 4:
                for stream in self._streams.values():
                    stream.window += value - self._stream_window
                self._stream_window = value
        self._write(_SETTINGS, _ACK, 0, b"")
        if not self.ready.done():
            self.ready.set_result(None)
        self._unblock()

    def _widen(self, number: int, by: int) -> None:
        if number == 0:
            self._window += by
        elif number in self._streams:
            self._streams[number].window += by
        self._unblock()

    def _unblock(self) -> None:
        blocked, self._blocked = self._blocked, deque()
        for waiting in blocked:
            self.send(*waiting)

    def _first_head(self, path: str) -> bytes:
        """The call's headers; they enter the server's table, so that later calls name them with a byte each."""
        # Static table: 3 is POST, 6 http, 4 :path, 1 :authority, 31 content-type; "te" is spelt out.
        self._head = bytes([0x83, 0x86, 0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62])
        return (
            b"\x83\x86" + b"\x44" + _text(path.encode()) + b"\x41" + _text(b"localhost")
            + b"\x5f" + _text(b"application/grpc") + b"\x40" + _text(b"te") + _text(b"trailers")
        )  # fmt: skip

    def _write(self, kind: int, flags: int, number: int, body: bytes) -> None:
        if self._transport is not None:
            size = len(body)
            self._transport.write(struct.pack(">BHBBI", size >> 16, size & 0xFFFF, kind, flags, number) + body)


def _text(text: bytes) -> bytes:
    assert len(text) < 127
    return bytes([len(text)]) + text


async def connect(port: int) -> Connection:
    """A connection over which calls may begin."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    await connection.ready
    return connection
