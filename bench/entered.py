"""What one event costs on two builds: `uv run python -m bench.entered FOLDER`. FOLDER holds the files of another build.

ReportEvents and RunTurn with events of one tool result of 2 KB: words, or lines of a log. The builds take turns within
a run, and the figure is the server's CPU for an event, the median over rounds.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import grpc

from bench.processes import cpu_s
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.architecture.repository import ROOT
from tests.faults.process import Process

_TEXT_CHARS = 2_048
_WORDS = "the quick user asked for order 42 and the tool said that nothing was found in /srv/data/orders.json, "
_LOG = "2026-11-22T10:00:01Z INFO server request_id=8f14e45fceea167a5a36dedd4bea2543 took 12 ms path=/v1/orders\n"
TEXTS = {name: (line * _TEXT_CHARS)[:_TEXT_CHARS] for name, line in (("words", _WORDS), ("log", _LOG))}
_AT_ONCE = 8


def _events(text: str, count: int) -> Iterator[pb.TurnEvent]:
    for number in range(count):
        yield pb.TurnEvent(event_id=f"e{number}", tool_returned=pb.ToolReturned(call_id="c", content=text))


async def _report(stub: Any, turn_id: str, text: str, count: int) -> None:
    events = _events(text, count)

    async def caller() -> None:
        for event in events:
            await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[event]))

    await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id))
    await asyncio.gather(*(caller() for _ in range(_AT_ONCE)))


async def _run_turn(stub: Any, turn_id: str, text: str, count: int) -> None:
    async def requests() -> AsyncIterator[pb.RunTurnRequest]:
        begun = pb.TurnEvent(turn_id=turn_id, event_id="start", turn_started=pb.TurnStarted())
        yield pb.RunTurnRequest(events=[begun])
        for event in _events(text, count):
            yield pb.RunTurnRequest(events=[event])
        yield pb.RunTurnRequest(events=[pb.TurnEvent(event_id="end", turn_finished=pb.TurnFinished())])

    async for _ in stub.RunTurn(requests()):
        pass


CALLS = {"ReportEvents": _report, "RunTurn": _run_turn}


async def measure(builds: dict[str, Path], rounds: int, count: int) -> dict[tuple[str, str, str], float]:
    """(call, text, build) → µs of the server's CPU for an event."""
    found: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    async with contextlib.AsyncExitStack() as stack:
        running = {}
        for build, tree in builds.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            process = await stack.enter_async_context(Process(folder, tree=tree))
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(process.address))
            running[build] = process, ThinkingServiceStub(channel)
        for number in range(rounds + 1):
            for call, make in CALLS.items():
                for name, text in TEXTS.items():
                    for build, (process, stub) in running.items():
                        before_s = cpu_s(process.pid)
                        await make(stub, f"{call}-{name}-{number}", text, count)
                        if number:  # the first round warms up
                            found[call, name, build].append((cpu_s(process.pid) - before_s) / count * 1e6)
    return {cell: median(times) for cell, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.entered")
    parser.add_argument("before", type=Path, help="the folder of another build, as git archive makes it")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--events", type=int, default=1_000)
    given = parser.parse_args()
    found = asyncio.run(measure({"before": given.before.resolve(), "now": ROOT}, given.rounds, given.events))
    for call in CALLS:
        for name in TEXTS:
            before, now = found[call, name, "before"], found[call, name, "now"]
            sys.stdout.write(f"{call}, {name}: {before:.0f} µs before, {now:.0f} µs now, {now / before:.2f}×\n")


if __name__ == "__main__":
    main()
