"""What the adapters of agent frameworks add to a tool call: `uv run python -m bench.adapters`.

An agent calls tools that succeed and fail by turns. A call takes from the model's answer to the next request, as the
scripted endpoint sees it, which is a process of its own and takes 20 ms to answer; added is what the same quantile is
above that of the agent without the adapter. The sidecar is up, away (nobody listens), or stopped (SIGSTOP, from 5 s
before on). `again` is without the adapter once more: what that adds is the machine's. The situations take turns of five
runs, since a machine is not equally fast all the time. By the clock, on an otherwise idle machine.
What the frameworks need is installed first, into the environments that the adapters' tests use.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.figures import share
from bench.processes import Servers
from tests import npm
from tests.clients.adapters import ADAPTERS, AI_SDK, PYTHON, installed, packed, project

NAMES = (*PYTHON, AI_SDK.name)
SITUATIONS = ("without", "again", "up", "away", "stopped")
# In each the processes are new ones.
ROUNDS = 3
# Runs of an agent in a turn, of ten calls each.
TURN = 5


class Agent(NamedTuple):
    """What runs an adapter's agent: a command in the adapter's folder, and what it has in its environment."""

    folder: Path
    command: Sequence[str]
    settings: Mapping[str, str]


def agent_of(adapter: str, scratch: Path) -> Agent:
    """With the newest version of the framework. For the AI SDK a project is made in `scratch`."""
    folder = ADAPTERS / adapter
    if folder != AI_SDK:
        command = (str(installed(adapter, "newest")), "-m", "scripted.times")
        return Agent(folder, command, {"PYTHONPATH": f"{folder}:{ADAPTERS}"})
    npm.packages()
    project(scratch, "newest", packed())
    settings = {"PYTHONPATH": f"{folder}:{folder / 'tests'}:{ADAPTERS}", "AI_SDK_PROJECT": str(scratch)}
    return Agent(folder, (sys.executable, "-m", "tests.timed"), settings)


@contextmanager
def agent_in(situation: str, agent: Agent) -> Iterator["subprocess.Popen[str]"]:
    """The agent's process, which runs it as often as a line says (`scripted/times.py`), beside a sidecar of its own."""
    with ExitStack() as stack:
        settings = {"away": {"SIDEMIRROR_ADDRESS": "127.0.0.1:1"}}.get(situation, {})
        if situation in ("up", "stopped"):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
            served = asyncio.run(stack.enter_context(Servers(Path(folder))).sidecar())
            settings = {"SIDEMIRROR_ADDRESS": served.address}
            if situation == "stopped":
                settings["SIDECAR_PID"] = str(served.process.pid)
        foreign = ("SIDEMIRROR_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        process = subprocess.Popen(
            agent.command, cwd=agent.folder, env={**kept, **agent.settings, **settings},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        stack.enter_context(process)
        wait_for(process)
        yield process


def wait_for(process: "subprocess.Popen[str]") -> None:
    """Returns when the process is ready. Raises RuntimeError if it ends instead."""
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise RuntimeError("the agent has ended; what it printed says why")


def run_by(process: "subprocess.Popen[str]") -> None:
    """Has a process run its agent for a turn."""
    assert process.stdin is not None
    process.stdin.write(f"{TURN}\n")
    process.stdin.flush()
    wait_for(process)


def times_ms(process: "subprocess.Popen[str]") -> dict[str, list[float]]:
    """The times of all calls that a process has made, by tool. It ends."""
    found: dict[str, list[float]] = json.loads(process.communicate()[0].splitlines()[-1])
    return found


def times_of_round(agent: Agent, situations: Sequence[str], turns: int) -> dict[str, dict[str, list[float]]]:
    """The times in each situation, by tool. All of them have a process at the same time, and run by turns."""
    with ExitStack() as stack:
        processes = {situation: stack.enter_context(agent_in(situation, agent)) for situation in situations}
        for _ in range(turns):
            for process in processes.values():
                run_by(process)
        return {situation: times_ms(process) for situation, process in processes.items()}


def row(adapter: str, turns: int, situations: Sequence[str]) -> None:
    """Prints the figures of one adapter, situation by situation."""
    took: dict[str, dict[str, list[float]]] = {situation: {"works": [], "fails": []} for situation in situations}
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        agent = agent_of(adapter, Path(scratch))
        for _ in range(ROUNDS):
            for situation, found in times_of_round(agent, situations, turns).items():
                for tool, times in found.items():
                    took[situation][tool] += times
    for situation, found in took.items():
        for tool, times in found.items():
            figures = [share(times, part) for part in (0.5, 0.99)]
            figures += [share(times, part) - share(took["without"][tool], part) for part in (0.5, 0.99)]
            shown = "".join(f" {value:8.2f}" for value in figures)
            print(f"{adapter:14} {situation:8} {tool:6} {len(times):6}{shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=20, help="of each situation in a round; a turn is five runs")
    parser.add_argument("--only", nargs="+", choices=SITUATIONS[1:], help="besides the agent without the adapter")
    parser.add_argument("adapter", nargs="*", choices=[*NAMES, []], help="all unless named")
    given = parser.parse_args()
    print(f"{'ms':14} {'sidecar':8} {'call':6} {'n':>6} {'p50':>8} {'p99':>8} {'+p50':>8} {'+p99':>8}")
    for adapter in given.adapter or NAMES:
        row(adapter, given.turns, ("without", *(given.only or SITUATIONS[1:])))


if __name__ == "__main__":
    main()
