"""What the adapters of agent frameworks add to a tool call: `uv run python -m bench.adapters`.

An agent calls tools that succeed and fail by turns. A call takes from the model's answer to the next request, as the
scripted endpoint sees it; added is what the same quantile is above that of the agent without the adapter. The sidecar
is up, away (nobody listens), or stopped (SIGSTOP, from 5 s before on). By the clock, on an otherwise idle machine.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figures import share
from bench.processes import Servers

ADAPTERS = Path(__file__).resolve().parents[1] / "clients/adapters"
NAMES = ("google-adk", "langchain", "openai-agents", "pydantic-ai")
SITUATIONS = ("without", "up", "away", "stopped")


def times_ms(adapter: str, runs: int, **settings: str) -> dict[str, list[float]]:
    """The times of calls, by tool, in the adapter's newest environment, which its tests have made."""
    folder = ADAPTERS / adapter
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIDEMIRROR_", "VIRTUAL_ENV"))}
    command = [str(folder / ".venv/newest/bin/python"), "-m", "scripted.times", str(runs)]
    ran = subprocess.run(
        command, cwd=folder, env={**kept, **settings, "PYTHONPATH": f"{folder}:{folder.parent}"}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return found


async def situation_ms(adapter: str, situation: str, runs: int) -> dict[str, list[float]]:
    """The times in one situation, beside a sidecar of its own."""
    if situation == "without":
        return times_ms(adapter, runs)
    if situation == "away":
        return times_ms(adapter, runs, SIDEMIRROR_ADDRESS="127.0.0.1:1")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Servers(Path(folder)) as servers:
        served = await servers.sidecar()
        stops = {"SIDECAR_PID": str(served.process.pid)} if situation == "stopped" else {}
        found = await asyncio.to_thread(times_ms, adapter, runs, SIDEMIRROR_ADDRESS=served.address, **stops)
        if stops:
            served.process.kill()
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="runs of an agent, of ten calls each")
    parser.add_argument("adapter", nargs="*", choices=[*NAMES, []], help="all unless named")
    given = parser.parse_args()
    print(f"{'ms':14} {'sidecar':8} {'call':6} {'n':>6} {'p50':>8} {'p99':>8} {'+p50':>8} {'+p99':>8}")
    for adapter in given.adapter or NAMES:
        base: dict[str, list[float]] = {}
        for situation in SITUATIONS:
            found = asyncio.run(situation_ms(adapter, situation, given.runs))
            base = base or found
            for tool, took in found.items():
                p50, p99 = share(took, 0.5), share(took, 0.99)
                more = (p50 - share(base[tool], 0.5), p99 - share(base[tool], 0.99))
                figures = "".join(f" {value:8.2f}" for value in (p50, p99, *more))
                print(f"{adapter:14} {situation:8} {tool:6} {len(took):6}{figures}")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
