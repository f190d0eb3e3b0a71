"""RunTurn under load against a bare bidi echo, and what thousands of idle watches take."""

import asyncio
from collections.abc import Callable, Sequence

from bench import calls
from bench.figures import Figure, Scale, median, now
from bench.floor import CHAT
from bench.http2 import Connection
from bench.processes import Server, Servers

_STREAMS, _WINDOW = 64, 8
_CONNECTIONS = 50
# Watches that are opened before the server is given time: gRPC refuses calls once 1,000 wait to be begun.
_AT_ONCE = 250
# Events a stream may send: below the turn's limit of 10,000.
_MOST_EVENTS = 9_600


class _Stream:
    """One stream that keeps `_WINDOW` messages in flight. A message is in flight until its events are acknowledged as
    received; the stream is done when all it sent is durable."""

    def __init__(self, connection: Connection, path: str, messages: Sequence[bytes], each: int, own: bool) -> None:
        self._messages, self._each, self._own = messages, each, own
        self._sent = 0
        self._before = 1 if own else 0  # the event that opens the turn
        self._received = self._durable = self._before
        self._going = self._stopped = False
        self.finished = asyncio.get_running_loop().create_future()
        self._stream = connection.open(path, self._on_message)

    @property
    def events(self) -> int:
        return self._sent * self._each

    def open(self, session_id: str) -> None:
        if self._own:
            self._stream.send(calls.open_stream(session_id))

    def go(self) -> None:
        self._going = True
        self._send()

    def _send(self) -> None:
        while self._going and self._sent < len(self._messages):
            if self._before + self.events - self._received >= _WINDOW * self._each:
                return
            self._stream.send(self._messages[self._sent])
            self._sent += 1

    def stop(self) -> None:
        self._going = False
        self._stopped = True
        self._check()

    def _on_message(self, got: bytes | None) -> None:
        if got is None:
            if not self.finished.done():
                self.finished.set_exception(ConnectionError("the stream ended"))
            return
        if self._own:
            received, durable = calls.acked(got)
            self._received, self._durable = max(self._received, received), max(self._durable, durable)
        else:
            self._received = self._durable = self._received + self._each
        self._send()
        self._check()

    def _check(self) -> None:
        if self._stopped and self._durable >= self._before + self.events and not self.finished.done():
            self.finished.set_result(None)
            self._stream.send(b"", last=True)


async def _rate(server: Server, path: str, messages: Sequence[bytes], each: int, seconds: float) -> tuple[float, float]:
    """Events a second, and server CPU seconds an event."""
    connection = await server.connect()
    streams = [_Stream(connection, path, messages, each, path != CHAT) for _ in range(_STREAMS)]
    for number, stream in enumerate(streams):
        stream.open(f"session{number}")
    await server.quiet(0.1)
    cpu_s, began = server.cpu_s(), now()
    for stream in streams:
        stream.go()
    await asyncio.sleep(seconds)
    for stream in streams:
        stream.stop()
    await asyncio.gather(*[stream.finished for stream in streams])
    elapsed_s, spent_s = now() - began, server.cpu_s() - cpu_s
    connection.close()
    events = sum(stream.events for stream in streams)
    return events / elapsed_s, spent_s / events


async def run_turn(servers: Servers, scale: Scale) -> list[Figure]:
    floor, sidecar = await servers.floor(), await servers.sidecar()
    single = [calls.stream_events(number, 1) for number in range(_MOST_EVENTS)]
    many = [calls.stream_events(number, 16) for number in range(0, _MOST_EVENTS, 16)]
    cells: dict[str, Callable[[], object]] = {
        "echo": lambda: _rate(floor, CHAT, single, 1, scale.stream_s),
        "one": lambda: _rate(sidecar, calls.RUN_TURN, single, 1, scale.stream_s),
        "sixteen": lambda: _rate(sidecar, calls.RUN_TURN, many, 16, scale.stream_s),
        "echo of sixteen": lambda: _rate(floor, CHAT, many, 16, scale.stream_s),
    }
    rates: dict[str, list[float]] = {name: [] for name in cells}
    cpu: dict[str, list[float]] = {name: [] for name in cells}
    for _ in range(max(2, scale.rounds // 3)):
        for name, cell in cells.items():
            rate, spent = await cell()  # type: ignore[misc]
            rates[name].append(rate)
            cpu[name].append(spent)

    def told(name: str) -> str:
        return f"{median(rates[name]):,.0f} events/s ({median(cpu[name]) * 1e6:.0f} µs of server CPU each)"

    of_echo = median([own / bare for own, bare in zip(rates["one"], rates["echo"], strict=True)])
    of_one = median([many_ / one for many_, one in zip(rates["sixteen"], rates["one"], strict=True)])
    return [
        Figure("RunTurn, 64 streams × 8 in flight: events / bidi echo's", of_echo, 0.6, False, "×",
               f"{told('one')} against {told('echo')}"),
        Figure("RunTurn, 16 events a message: events / those of one a message", of_one, 4.0, False, "×",
               f"{told('sixteen')}; echo {told('echo of sixteen')}"),
    ]  # fmt: skip


async def watches(servers: Servers, scale: Scale) -> list[Figure]:
    """Idle WatchTurns over 50 connections; that each lives is shown by an event that all of them must tell."""
    sidecar = await servers.sidecar()
    empty = sidecar.resident_mb()
    told: set[int] = set()
    ended = 0
    everyone = asyncio.Event()

    def listener(number: int) -> Callable[[bytes | None], None]:
        def on_message(got: bytes | None) -> None:
            nonlocal ended
            if got is None:
                ended += 1
            else:
                told.add(number)
            if len(told) + ended >= scale.watches:
                everyone.set()

        return on_message

    connections = [await sidecar.connect() for _ in range(_CONNECTIONS)]
    for number in range(scale.watches):
        stream = connections[number % _CONNECTIONS].open(calls.WATCH_TURNS, listener(number))
        stream.send(calls.watch(), last=True)
        if number % _AT_ONCE == _AT_ONCE - 1:
            await sidecar.quiet(0.05)
    await sidecar.quiet(0.5)
    resident = sidecar.resident_mb()
    other = await sidecar.connect()
    await other.call(calls.START_TURN, calls.start_turn("watched"))
    async with asyncio.timeout(60):
        await everyone.wait()
    for connection in (*connections, other):
        connection.close()
    if len(told) < scale.watches:
        raise RuntimeError(f"{scale.watches - len(told)} watches heard nothing")
    detail = f"empty {empty:.0f} MB, {(resident - empty) * 1024 / scale.watches:.1f} KB a stream"
    return [Figure(f"{scale.watches:,} idle WatchTurns over 50 connections", resident, 250, True, " MB", detail)]
