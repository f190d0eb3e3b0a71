"""What the adapters of agent frameworks add to a tool call: `uv run python -m bench.adapters`.

An agent calls tools that succeed and fail by turns. A call takes from the model's answer to the next request, as the
scripted endpoint sees it, which is a process of its own and takes 20 ms to answer; added is what the same quantile is
above that of the agent without the adapter. The sidecar is up, away (nobody listens), or stopped (SIGSTOP, from 5 s
before on). `again` is without the adapter once more: what that adds is the machine's. The situations take turns, since
a machine is not equally fast all the time, and what counts is the median of the rounds. By the clock, on an otherwise
idle machine.
What the frameworks need is installed first, into the environments that the adapters' tests use.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import median, share
from bench.processes import Servers
from tests import npm
from tests.clients.adapters import ADAPTERS, AI_SDK, PYTHON, installed, packed, project

NAMES = (*PYTHON, AI_SDK.name)
SITUATIONS = ("without", "again", "up", "away", "stopped")
ROUNDS = 5


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


def times_ms(agent: Agent, runs: int, **settings: str) -> dict[str, list[float]]:
    """The times of calls, by tool."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIDEMIRROR_", "VIRTUAL_ENV"))}
    ran = subprocess.run(
        (*agent.command, str(runs)), cwd=agent.folder, env={**kept, **agent.settings, **settings},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return found


async def situation_ms(agent: Agent, situation: str, runs: int) -> dict[str, list[float]]:
    """The times in one situation, beside a sidecar of its own."""
    if situation in ("without", "again"):
        return times_ms(agent, runs)
    if situation == "away":
        return times_ms(agent, runs, SIDEMIRROR_ADDRESS="127.0.0.1:1")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Servers(Path(folder)) as servers:
        served = await servers.sidecar()
        stops = {"SIDECAR_PID": str(served.process.pid)} if situation == "stopped" else {}
        found = await asyncio.to_thread(times_ms, agent, runs, SIDEMIRROR_ADDRESS=served.address, **stops)
        if stops:
            served.process.kill()
        return found


def row(adapter: str, runs: int, situations: Sequence[str]) -> None:
    """Prints the figures of one adapter, situation by situation."""
    took: dict[str, dict[str, list[list[float]]]] = {situation: {} for situation in situations}
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        agent = agent_of(adapter, Path(scratch))
        for _ in range(ROUNDS):
            for situation in situations:
                for tool, times in asyncio.run(situation_ms(agent, situation, runs)).items():
                    took[situation].setdefault(tool, []).append(times)
    for situation, found in took.items():
        for tool, rounds in found.items():
            base = took["without"][tool]
            figures = [median([share(times, part) for times in rounds]) for part in (0.5, 0.99)]
            figures += [
                median([share(times, part) - share(without, part) for times, without in zip(rounds, base, strict=True)])
                for part in (0.5, 0.99)
            ]
            shown = "".join(f" {value:8.2f}" for value in figures)
            print(f"{adapter:14} {situation:8} {tool:6} {sum(map(len, rounds)):6}{shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="runs of an agent in a round, of ten calls each")
    parser.add_argument("--only", nargs="+", choices=SITUATIONS[1:], help="besides the agent without the adapter")
    parser.add_argument("adapter", nargs="*", choices=[*NAMES, []], help="all unless named")
    given = parser.parse_args()
    print(f"{'ms':14} {'sidecar':8} {'call':6} {'n':>6} {'p50':>8} {'p99':>8} {'+p50':>8} {'+p99':>8}")
    for adapter in given.adapter or NAMES:
        row(adapter, given.runs, ("without", *(given.only or SITUATIONS[1:])))


if __name__ == "__main__":
    main()
