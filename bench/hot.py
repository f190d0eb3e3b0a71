"""Calls that need no disk: server CPU under load, and latency for one caller; and an event on an open stream."""

import asyncio
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import grpc

from bench import calls
from bench.figures import Figure, Scale, median, now, share, us
from bench.floor import CHAT, ECHO
from bench.http2 import Connection
from bench.processes import Server, Servers

_IN_FLIGHT = 32
_BLOCK = 50  # calls of one kind before the next kind has its turn


async def load(connection: Connection, path: str, message: bytes, count: int) -> None:
    """`count` calls, always `_IN_FLIGHT` at once."""
    done = asyncio.get_running_loop().create_future()
    begun = ended = 0

    def begin() -> None:
        nonlocal begun
        begun += 1
        answers = 0

        def on_message(got: bytes | None) -> None:
            nonlocal answers, ended
            if got is not None:
                answers += 1
                return
            ended += 1
            if answers != 1 and not done.done():
                done.set_exception(ConnectionError(f"{path}: {connection.failed or 'failed'}"))
            elif begun < count:
                begin()
            elif ended == count and not done.done():
                done.set_result(None)

        connection.open(path, on_message).send(message, last=True)

    for _ in range(min(_IN_FLIGHT, count)):
        begin()
    await done


Cell = tuple[Server, str, bytes]


async def unary(servers: Servers, scale: Scale) -> list[Figure]:
    floor, plain, traced = await servers.floor(), await servers.sidecar(), await servers.sidecar(traced=True)
    prompt = calls.get_thinking_prompt()
    cells: dict[str, Cell] = {}
    for name, server in (("tracing off", plain), ("tracing on", traced)):
        turn_id = calls.turn_of(await _call_once(server, calls.START_TURN, calls.start_turn("hot")))
        cells[f"ShouldReflect, {name}"] = (server, calls.SHOULD_REFLECT, calls.should_reflect(turn_id))
        cells[f"GetThinkingPrompt, {name}"] = (server, calls.GET_THINKING_PROMPT, prompt)
    small, large = (len(message) for _, _, message in list(cells.values())[:2])
    floors: dict[str, Cell] = {
        "ShouldReflect": (floor, ECHO, bytes(small)),
        "GetThinkingPrompt": (floor, ECHO, bytes(large)),
    }
    cpu = await _cpu({**floors, **cells}, scale)
    took = await _latencies({**floors, **cells}, scale)
    figures = []
    for name in cells:
        base = name.partition(",")[0]
        # Where few calls are measured on a fast machine, the floor takes less than a tick of the clock.
        ratios = [own / bare for own, bare in zip(cpu[name], cpu[base], strict=True) if bare]
        ratio = median(ratios) if ratios else math.nan
        detail = f"{us(median(cpu[name]))} against {us(median(cpu[base]))}"
        figures.append(Figure(f"{name}: server CPU / floor", ratio, 1.2, True, "×", detail))
        own, bare = median(took[name]), median(took[base])
        figures.append(
            Figure(f"{name}: p50 / floor", own / bare, 1.15, True, "×", f"{us(own)} against {us(bare)}, one caller")
        )
    return figures


async def _call_once(server: Server, path: str, message: bytes) -> bytes:
    connection = await server.connect()
    answer = await connection.call(path, message)
    connection.close()
    return answer


async def _cpu(cells: dict[str, Cell], scale: Scale) -> dict[str, list[float]]:
    """Server CPU seconds for a call, of each cell in each round."""
    connections = {name: await server.connect() for name, (server, _, _) in cells.items()}
    spent: dict[str, list[float]] = {name: [] for name in cells}
    for round_ in range(scale.rounds + 1):
        for name, (server, path, message) in cells.items():
            before = server.cpu_s()
            await load(connections[name], path, message, scale.calls)
            if round_:  # the first warms up
                spent[name].append((server.cpu_s() - before) / scale.calls)
    for connection in connections.values():
        connection.close()
    return spent


async def _latencies(cells: dict[str, Cell], scale: Scale) -> dict[str, list[float]]:
    """Seconds for a call by grpc.aio's client, one at a time; cells take turns every few calls."""
    channels = {name: grpc.aio.insecure_channel(server.address) for name, (server, _, _) in cells.items()}
    methods: dict[str, Any] = {name: channels[name].unary_unary(path) for name, (_, path, _) in cells.items()}
    took: dict[str, list[float]] = {name: [] for name in cells}
    for round_ in range(scale.rounds * 2 + 1):
        for name, (_, _, message) in cells.items():
            times = await timed(_BLOCK, partial(methods[name], message))
            if round_:
                took[name].extend(times)
    for channel in channels.values():
        await channel.close()
    return took


async def timed(count: int, call: Callable[[], Any]) -> list[float]:
    took = []
    for _ in range(count):
        began = now()
        await call()
        took.append(now() - began)
    return took


async def directive(servers: Servers, scale: Scale) -> list[Figure]:
    """From sending an event on an open stream to the first response that acknowledges it, against a unary call."""
    sidecar, floor = await servers.sidecar(), await servers.floor()
    turn_id = calls.turn_of(await _call_once(sidecar, calls.START_TURN, calls.start_turn("hot")))
    async with grpc.aio.insecure_channel(sidecar.address) as channel, grpc.aio.insecure_channel(floor.address) as bare:
        unary_call: Any = channel.unary_unary(calls.SHOULD_REFLECT)
        message = calls.should_reflect(turn_id)
        stream: Any = channel.stream_stream(calls.RUN_TURN)()
        await stream.write(calls.open_stream("streamed"))
        chat: Any = bare.stream_stream(CHAT)()
        sent = 1
        on_stream: list[float] = []
        on_call: list[float] = []
        on_floor: list[float] = []

        async def one_event() -> None:
            nonlocal sent
            prepared = calls.stream_events(sent, 1)
            sent += 1
            began = now()
            await stream.write(prepared)
            while calls.acked(await stream.read())[0] < sent:
                pass
            on_stream.append(now() - began)

        async def one_echo() -> None:
            prepared = calls.stream_events(sent, 1)
            began = now()
            await chat.write(prepared)
            await chat.read()
            on_floor.append(now() - began)

        for _ in range(scale.rounds * 2):
            for _ in range(_BLOCK):
                await one_event()
            on_call.extend(await timed(_BLOCK, lambda: unary_call(message)))
            for _ in range(_BLOCK):
                await one_echo()
        stream.cancel()
        chat.cancel()
    own, call = median(on_stream), median(on_call)
    detail = f"{us(own)} against ShouldReflect's {us(call)}; p99 {us(share(on_stream, 0.99))}; bare echo on a stream "
    detail += f"{us(median(on_floor))}, {median(on_floor) / call:.2f} × a unary call"
    return [Figure("directive for an event on an open stream: p50 / unary call", own / call, 0.4, True, "×", detail)]
