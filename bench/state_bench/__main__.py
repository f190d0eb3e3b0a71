"""`uv run python -m bench.state_bench CHECKOUT [--domain travel] [--tasks 3]`: STATE-Bench's Agent Learning Track,
without a key.

A sidecar learns from the benchmark's trajectories, without a language model. Then the benchmark's own runner plays test
tasks with an agent that asks the sidecar, and with models that are scripted: each asks once and is done. So it is
seen that everything fits together; a score needs real models. Figures: the turns reported, the failing calls whose
repair was counted, how often the agent asked, and what it was told. `--learn ADDRESS` only teaches the sidecar there.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from bench.processes import Servers
from bench.state_bench.learnings import Learnings
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
DOMAINS = ("travel", "customer_support", "shopping_assistant")
# The clients and adapters' scripted endpoint.
sys.path.append(str(ROOT / "clients" / "adapters"))
from scripted.endpoint import Endpoint, serving  # noqa: E402  # as above
from scripted.wire import Answer, Call, Request  # noqa: E402

_AGENT, _USER = "scripted-agent", "scripted-user"
_TOOL = "retrieve_learnings"
_LEARNED_S = 120.0


class Told(NamedTuple):
    """Of one domain. `asked`: how often the agent looked up learnings, `told`: how many texts it got."""

    domain: str
    trajectories: int
    turns: int
    signatures: int
    observations: int
    tasks: int
    asked: int
    told: int


def learned(address: str, domain: str, folder: Path) -> tuple[int, int, int]:
    """Teaches a sidecar the trajectories of a domain: turns, and the signatures and observations counted after it."""
    learnings = Learnings(domain, address)
    turns = learnings.learn(folder)
    learnings.close()
    with grpc.insecure_channel(address) as channel:
        sidecar: Any = SidecarServiceStub(channel)
        memory: Any = ReflectiveMemoryServiceStub(channel)
        until_s = time.monotonic() + _LEARNED_S
        before, calm = -1, 0
        while calm < 5 and time.monotonic() < until_s:
            busy = sidecar.GetServerInfo(sidecar_pb2.GetServerInfoRequest(project_id=domain), timeout=60).backlog
            asked = pb.ListRecoveriesRequest(project_id=domain, page_size=1000)
            found = memory.ListRecoveries(asked, timeout=60).signatures
            count = sum(one.observation_count for one in found)
            calm = calm + 1 if not busy and count == before else 0
            before = count
            time.sleep(0.3)
    return turns, len(found), count


def _agent(request: Request) -> Answer:
    """Looks up learnings once, and says that it is done."""
    if request.results:
        return "Done."
    return [Call(_TOOL, {"query": str(request.messages[-1].get("content", ""))[:2000] or "?", "top_k": 3})]


def _user(_: Request) -> Answer:
    return "[TASK_DONE]"


def played(checkout: Path, domain: str, tasks: list[str], address: str, output: Path) -> tuple[int, int]:
    """Runs the test tasks by the benchmark's runner: how often the agent looked up learnings, and the texts it got."""
    with serving() as endpoint:
        endpoint.scripts |= {_AGENT: _agent, _USER: _user}
        # Installed without an editable link: the benchmark's environment is its own.
        client = [part for name in ("generated/python", "clients/python") for part in ("--with", str(ROOT / name))]
        subprocess.run(
            [
                *("uv", "run", "--quiet", "--project", str(checkout), *client),
                *("python", "-m", "state_bench.scripts.run_batch", "--domain", domain),
                *("--tasks", ",".join(tasks), "--agent-class", "SidemirrorAgent", "--agent-model-name", "scripted"),
                *("--num-workers", "2", "--no-score", "--output-dir", str(output)),
            ],
            cwd=checkout,
            env={**_without_ours(), "SIDEMIRROR_ADDRESS": address, **_models(endpoint)},
            check=True,
            stdout=sys.stderr,
        )
        exchanges = endpoint.seen.get(_AGENT, [])
        told = [json.loads(text)["learnings"] for one in exchanges for text in one.request.results.values()]
    return sum(isinstance(one.answer, list) for one in exchanges), sum(map(len, told))


def _models(endpoint: Endpoint) -> dict[str, str]:
    """The benchmark's settings for models, all of them at the scripted endpoint."""
    given = {"PYTHONPATH": str(HERE)}
    for role, name in (("AGENT", _AGENT), ("EVAL", _USER)):
        given |= {
            f"STATE_BENCH_{role}_ENDPOINT": endpoint.url,
            f"STATE_BENCH_{role}_DEPLOYMENTS": name,
            f"STATE_BENCH_{role}_API_KEY": "none",
        }
    return given


def _without_ours() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("SIDEMIRROR_", "VIRTUAL_ENV"))}


def measured(checkout: Path, domain: str, count: int, address: str, scratch: Path) -> Told:
    """One domain."""
    trajectories = checkout / "datasets" / "train_task_trajectories" / domain
    turns, signatures, observations = learned(address, domain, trajectories)
    split = json.loads((checkout / "state_bench" / "domains" / domain / "splits" / "train_test.json").read_text())
    tasks = sorted(split["splits"]["test"])[:count]
    asked, told = played(checkout, domain, tasks, address, scratch / domain)
    done = len(list((scratch / domain).rglob("*.json")))
    return Told(domain, len(list(trajectories.glob("*.json"))), turns, signatures, observations, done, asked, told)


def table(rows: list[Told]) -> str:
    """As Markdown."""
    lines = [
        "| domain | trajectories | turns | kinds of failures | repairs counted | tasks played | asked | texts told |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + ["| " + " | ".join(map(str, one)) + " |" for one in rows])


async def run(checkout: Path, domains: list[str], count: int) -> list[Told]:
    """The domains, each with a project of its own on one sidecar."""
    agents = checkout / "agents"
    agents.mkdir(exist_ok=True)
    for file in (HERE / "agents").glob("*.py"):
        (agents / file.name).write_text(file.read_text())
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Servers(Path(folder)) as servers:
        sidecar = await servers.sidecar()
        return [
            await asyncio.to_thread(measured, checkout, domain, count, sidecar.address, Path(folder))
            for domain in domains
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a clone of github.com/microsoft/STATE-Bench")
    parser.add_argument("--domain", action="append", choices=DOMAINS, help="all unless named")
    parser.add_argument("--tasks", type=int, default=3, help="test tasks of each domain")
    parser.add_argument("--learn", metavar="ADDRESS", help="teach the sidecar there, and play nothing")
    given = parser.parse_args()
    checkout, domains = given.checkout.resolve(), given.domain or list(DOMAINS)
    if given.learn:
        for domain in domains:
            turns, signatures, count = learned(
                given.learn, domain, checkout / "datasets" / "train_task_trajectories" / domain
            )
            print(f"{domain}: {turns} turns, {signatures} kinds of failures, {count} repairs counted")
        return
    print(table(asyncio.run(run(checkout, domains, given.tasks))))


if __name__ == "__main__":
    main()
