"""What the Python client costs an agent: `uv run python -m bench.client`.

An agent reports a call that succeeds, and one that fails, and asks for advice after each. The floor is what the same
machine needs for one round trip on a stream of a bare `grpc.aio` echo, from the loop that holds the stream. Times are
by the clock, one turn at a time, on a machine that does nothing else. The last line is the processor time that the
sidecar takes during each call that fails, for whatever it does then: it says something on a busy machine too.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from pathlib import Path

import grpc

from bench.figures import share
from bench.floor import CHAT
from bench.processes import Server, Servers
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client import Turn, connect

_CONFIG = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
_TIMEOUT_S = 20.0


async def floor_ms(address: str, rounds: int) -> list[float]:
    """One message out and one back, in milliseconds, on a stream of the echo."""
    took = []
    async with grpc.aio.insecure_channel(address) as channel:
        stream = channel.stream_stream(CHAT)()
        for _ in range(rounds):
            began_s = time.perf_counter()
            await stream.write(b"x" * 100)
            await stream.read()
            took.append((time.perf_counter() - began_s) * 1000)
        await stream.done_writing()
    return took


def busy_ms(server: Server) -> float:
    """The processor time of all the server's threads so far, as Linux accounts it in nanoseconds."""
    found = 0
    for thread in Path(f"/proc/{server.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has just ended
            found += int((thread / "schedstat").read_text().split()[0])
    return found / 1e6


async def agent_ms(served: Server, turns: int) -> dict[str, list[float]]:
    """What each use of the helper took, in milliseconds, by its name; and the sidecar in advice after a failure."""
    names = ("report", "advice after success", "advice after failure", "sidecar's CPU in it")
    took: dict[str, list[float]] = {name: [] for name in names}

    def timed(name: str, began_s: float) -> None:
        took[name].append((time.perf_counter() - began_s) * 1000)

    def report(turn: Turn, **event: object) -> None:
        began_s = time.perf_counter()
        turn.report(**event)
        timed("report", began_s)

    async with connect(served.address) as sidemirror:
        await sidemirror.wait_until_ready()
        for number in range(turns):
            budget = pb.TurnBudget(max_reflections=1000)
            turn = sidemirror.begin_turn(task="count the orders", config=_CONFIG, budget=budget)
            await turn.plan(_TIMEOUT_S)
            for place in range(5):
                report(turn, tool_called=pb.ToolCalled(name="look", arguments=f"{number}/{place}"))
                report(turn, tool_returned=pb.ToolReturned(content=f"orders {number}/{place}"))
                began_s = time.perf_counter()
                said = await turn.advice(_TIMEOUT_S)
                timed("advice after success", began_s)
                if said:
                    raise RuntimeError(f"advice after a call that succeeded: {said}")
            report(turn, tool_called=pb.ToolCalled(name="run_sql", arguments="SELECT 1"))
            report(turn, tool_returned=pb.ToolReturned(content="no such column: status", is_error=True))
            busy = busy_ms(served)
            began_s = time.perf_counter()
            said = await turn.advice(_TIMEOUT_S)
            timed("advice after failure", began_s)
            took["sidecar's CPU in it"].append(busy_ms(served) - busy)
            if not said:
                raise RuntimeError("no advice after a call that failed")
            turn.finish()
            await turn.summary(_TIMEOUT_S)
    return took


async def _measured(turns: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as folder, Servers(Path(folder)) as servers:
        echo = await servers.floor()
        base = await floor_ms(echo.address, 10 * turns)
        servers.stop(echo)
        served = await servers.sidecar()
        return {"floor: one round trip": base, **await agent_ms(served, turns)}


def _line(name: str, took: list[float]) -> str:
    return f"{name:22} {len(took):6} {share(took, 0.5):8.3f} {share(took, 0.99):8.3f} {max(took):8.3f}\n"


def main() -> None:
    """Prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=300)
    turns = parser.parse_args().turns
    took = asyncio.run(_measured(turns))
    sys.stdout.write(f"{'milliseconds':22} {'times':>6} {'p50':>8} {'p99':>8} {'most':>8}\n")
    for name, times in took.items():
        sys.stdout.write(_line(name, times))


if __name__ == "__main__":
    main()
