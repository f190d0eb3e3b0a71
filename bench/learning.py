"""`uv run python -m bench.learning [--seconds 60]`: what learning costs those who report beside it.

Agents report turns of ten events at a pace, one call of which fails and is repaired by a look-up. Two sidecars serve
them in turns, window by window: one learns from each turn that ends (the defaults), one learns nothing (`memory__mode`
is lite, `defaults__learning` is off). Told are the times until an event is acknowledged as received, the sidecar's CPU
a turn, and how its resident memory grows. By the clock, on an otherwise idle machine.
"""

import argparse
import asyncio
import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from bench.figures import now, share
from bench.processes import Server, Servers
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub

AGENTS = 8
PACE_S = 0.02
WINDOW_S = 5.0
NOTHING = ("--memory--mode", "lite", "--defaults--learning", "false")
ARMS = {"learns": (), "learns nothing": NOTHING}


class Seen:
    """What one sidecar's agents saw."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.took_s: list[float] = []
        self.turns = 0
        self.cpu_s = 0.0
        self.resident_mb: list[float] = []


class Row(NamedTuple):
    """`grown_kb`: of resident memory, a turn, from the first window's end on."""

    p50_ms: float
    p99_ms: float
    cpu_ms: float
    grown_kb: float
    turns: int


def _events(name: str) -> Iterator[pb.TurnEvent]:
    yield pb.TurnEvent(turn_started=pb.TurnStarted(task=f"Count the orders of {name}", session_id=name))
    steps = (
        ("sql", f"DESCRIBE orders -- {name}", "Table 'shop.orders' doesn't exist"),
        ("sql", "SHOW TABLES", ""),
        ("sql", f"DESCRIBE orders_2026 -- {name}", ""),
        ("send", f"{name} is counted", ""),
    )
    for place, (tool, arguments, error) in enumerate(steps):
        call_id = f"c{place}"
        yield pb.TurnEvent(tool_called=pb.ToolCalled(call_id=call_id, name=tool, arguments=arguments))
        if error:
            yield pb.TurnEvent(tool_failed=pb.ToolFailed(call_id=call_id, error=error))
        else:
            yield pb.TurnEvent(tool_returned=pb.ToolReturned(call_id=call_id, content=f"rows of {arguments}"))
    yield pb.TurnEvent(turn_finished=pb.TurnFinished(outcome="TASK_OUTCOME_SUCCESS"))


async def _turn(stub: Any, seen: Seen, name: str) -> None:
    stream = stub.RunTurn()
    received = 0
    for sent, event in enumerate(_events(name), start=1):
        began_s = now()
        await stream.write(pb.RunTurnRequest(events=[event]))
        while received < sent:
            # After the turn's early end it is no response, and has no directives.
            for directive in (await stream.read()).directives:
                received = max(received, directive.ack.received)
        seen.took_s.append(now() - began_s)
        await asyncio.sleep(PACE_S)
    await stream.done_writing()
    while isinstance(await stream.read(), pb.RunTurnResponse):
        pass
    seen.turns += 1


async def _agent(stub: Any, seen: Seen, agent: int, until_s: float) -> None:
    for number in itertools.count(seen.turns):
        if time.monotonic() >= until_s:
            return
        await _turn(stub, seen, f"customer {agent}-{number}")


async def _window(seen: Seen) -> None:
    before = seen.server.cpu_s()
    async with grpc.aio.insecure_channel(seen.server.address) as channel:
        stub: Any = ThinkingServiceStub(channel)
        until_s = time.monotonic() + WINDOW_S
        await asyncio.gather(*(_agent(stub, seen, agent, until_s) for agent in range(AGENTS)))
    await seen.server.quiet()  # what is learned afterwards counts too
    seen.cpu_s += seen.server.cpu_s() - before
    seen.resident_mb.append(seen.server.resident_mb())


async def measure(seconds: float) -> dict[str, Row]:
    """The row of each arm."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Servers(Path(folder)) as servers:
        arms = {name: Seen(await servers.sidecar(*flags)) for name, flags in ARMS.items()}
        first: dict[str, int] = {}
        for round_ in range(max(2, round(seconds / WINDOW_S))):
            for name in list(arms) if round_ % 2 == 0 else list(reversed(arms)):
                await _window(arms[name])
                if round_ == 0:  # what is loaded and compiled at first
                    first[name] = arms[name].turns
                    arms[name].took_s.clear()
        return {
            name: Row(
                share(seen.took_s, 0.5) * 1e3,
                share(seen.took_s, 0.99) * 1e3,
                seen.cpu_s / seen.turns * 1e3,
                (seen.resident_mb[-1] - seen.resident_mb[0]) * 1024 / (seen.turns - first[name]),
                seen.turns,
            )
            for name, seen in arms.items()
        }


def table(rows: dict[str, Row]) -> str:
    """As Markdown."""
    lines = [
        "| a sidecar that | p50, ms | p99, ms | CPU a turn, ms | memory grown a turn, KiB | turns |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        figures = f"{row.p50_ms:.2f} | {row.p99_ms:.2f} | {row.cpu_ms:.1f} | {row.grown_kb:.1f} | {row.turns}"
        lines.append(f"| {name} | {figures} |")
    with_it, without = rows.values()
    lines.append(f"\np99 beside learning: {with_it.p99_ms / without.p99_ms:.2f} times that without (1.1 wanted)")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each arm")
    print(table(asyncio.run(measure(parser.parse_args().seconds))))


if __name__ == "__main__":
    main()
