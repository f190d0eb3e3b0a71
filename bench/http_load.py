"""Load on the HTTP door, from a process of its own: `python -m bench.http_load KIND PORT TOKEN SECONDS`.

Prints how many requests were answered, or how many connections refused, by what was answered.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable

LIST = "/sidemirror.v1.ThinkingService/ListTurns"
REPORT = "/sidemirror.v1.ThinkingService/ReportEvents"
# As many small fields as a long message can have.
LONG = json.dumps({"turnId": "t", "events": [{"eventId": f"e{n}", "toolCalled": {"name": "a"}} for n in range(5_000)]})


class Load:
    """A port, a token, and what came back until the end."""

    def __init__(self, port: int, token: str, seconds: float) -> None:
        self.port = port
        self.token = token
        self.ends_s = time.monotonic() + seconds
        self.seen: Counter[str] = Counter()

    def goes_on(self) -> bool:
        return time.monotonic() < self.ends_s

    def head(self, path: str, *more: str, length: int, token: str | None = None) -> bytes:
        lines = [
            f"POST {path} HTTP/1.1",
            f"host: 127.0.0.1:{self.port}",
            f"authorization: Bearer {self.token if token is None else token}",
            "content-type: application/json",
            f"content-length: {length}",
            *more,
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def answer(self, reader: asyncio.StreamReader) -> bool:
        """Reads an answer; returns whether the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.seen[head[9:12].decode()] += 1
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        return b"connection: close" not in head.lower()


async def repeat(load: Load, request: bytes) -> None:
    """One request after the other, on a new connection where the old one was closed."""
    while load.goes_on():
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await load.opened()
            try:
                stays = True
                while load.goes_on() and stays:
                    writer.write(request)
                    stays = await load.answer(reader)
            finally:
                writer.close()


async def calls(load: Load) -> None:
    """Good calls, from 50 connections."""
    await asyncio.gather(*(repeat(load, load.head(LIST, length=2) + b"{}") for _ in range(50)))


async def strangers(load: Load) -> None:
    """Calls with a wrong token, from 50 connections, each a new one."""
    await asyncio.gather(*(repeat(load, load.head(LIST, length=2, token="x" * 64) + b"{}") for _ in range(50)))


async def other_sites(load: Load) -> None:
    """Posts of a page of another site, from 20 connections."""
    request = load.head(LIST, "origin: https://evil.test", length=2) + b"{}"
    await asyncio.gather(*(repeat(load, request) for _ in range(20)))


async def connections(load: Load) -> None:
    """1,000 connections that are opened and say nothing, and opened anew when they are refused."""

    async def hold() -> None:
        while load.goes_on():
            with contextlib.suppress(OSError):
                reader, writer = await load.opened()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(0.1, load.ends_s - time.monotonic())):
                        load.seen[(await reader.read(12))[9:12].decode() or "closed"] += 1
                writer.close()
                await asyncio.sleep(1.0)

    await asyncio.gather(*(hold() for _ in range(1_000)))


async def slow_bodies(load: Load) -> None:
    """200 connections that send a byte of their body every 0.2 s."""

    async def drip() -> None:
        reader, writer = await load.opened()
        writer.write(load.head(LIST, length=100_000) + b"{")
        while load.goes_on() and not reader.at_eof() and not writer.is_closing():
            writer.write(b" ")
            load.seen["bytes"] += 1
            await asyncio.sleep(0.2)
        writer.close()

    await asyncio.gather(*(drip() for _ in range(200)), return_exceptions=True)


async def oversized(load: Load) -> None:
    """Bodies that are said to be a gigabyte, or are sent in chunks without end, from 20 connections."""
    chunked = load.head(LIST, "transfer-encoding: chunked", length=0).replace(b"content-length: 0\r\n", b"")
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"

    async def endless() -> None:
        while load.goes_on():
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await load.opened()
                writer.write(chunked)
                answer = asyncio.create_task(load.answer(reader))
                try:
                    while load.goes_on() and not answer.done():
                        writer.write(chunk)
                        await writer.drain()
                finally:
                    answer.cancel()
                    await asyncio.gather(answer, return_exceptions=True)
                    writer.close()

    said = load.head(LIST, length=1_000_000_000)
    await asyncio.gather(*(repeat(load, said) for _ in range(16)), *(endless() for _ in range(4)))


async def long_json(load: Load) -> None:
    """Calls with 300 KB of small fields, more than a request may have events, from 8 connections."""
    request = load.head(REPORT, length=len(LONG)) + LONG.encode()
    await asyncio.gather(*(repeat(load, request) for _ in range(8)))


KINDS: dict[str, Callable[[Load], Awaitable[None]]] = {
    "calls": calls,
    "strangers": strangers,
    "other-sites": other_sites,
    "connections": connections,
    "slow-bodies": slow_bodies,
    "oversized": oversized,
    "long-json": long_json,
}


def main(kind: str, port: str, token: str, seconds: str) -> None:
    # What it costs to make the load is not what is measured.
    os.nice(5)
    load = Load(int(port), token, float(seconds))
    asyncio.run(KINDS[kind](load))  # type: ignore[arg-type]  # they are coroutines
    print(json.dumps(load.seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
