"""A real HTTP service with two real problems: large requests are slow, and frequent requests keep it from starting.

`/payments?customer=&limit=` takes a fixed time for each row of `limit`. `/rate` answers 503 until `_START_S` passes
between two requests.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import msgspec

from sidemirror_server.operations.demo.books import PAYMENTS, USD_IN_EUR

_READ_ROW_S = 0.002
# Shorter than the agent's pause (policy.py), and far longer than the time between its tries without a pause.
_START_S = 0.6


class Service:
    """The service, at `url` while it runs."""

    def __init__(self) -> None:
        self.url = ""
        self._asked_for_rate_s: float | None = None
        self._started = False
        self._answering: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves on a free port of this machine until the context ends."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()
            for task in self._answering:
                task.cancel()
            await asyncio.gather(*self._answering, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._answer(reader, writer))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split(" ", 2)[1]
            asked = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
            status, body = await self._payments(asked) if target.startswith("/payments") else self._rate()
            writer.write(f"HTTP/1.0 {status}\r\nContent-Type: application/json\r\n\r\n".encode() + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The caller's time limit passed.
        finally:
            writer.close()

    async def _payments(self, asked: dict[str, str]) -> tuple[str, bytes]:
        limit = int(asked["limit"])
        await asyncio.sleep(limit * _READ_ROW_S)
        found = [cents for customer, cents in PAYMENTS if customer == asked["customer"]][:limit]
        return "200 OK", msgspec.json.encode({"paid_cents": found})

    def _rate(self) -> tuple[str, bytes]:
        now_s = asyncio.get_running_loop().time()
        last_s, self._asked_for_rate_s = self._asked_for_rate_s, now_s
        self._started = self._started or (last_s is not None and now_s - last_s >= _START_S)
        if not self._started:
            return "503 Service Unavailable", b"the rate service is starting"
        return "200 OK", msgspec.json.encode({"usd_in_eur": str(USD_IN_EUR)})
