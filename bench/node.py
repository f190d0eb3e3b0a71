"""Many agents on one sidecar of a node: `uv run python -m bench.node [--agents 200] [--seconds 6] [--rounds 5]`.

Each agent has a token and a project of its own, and a turn on a stream to which it adds an event twice a second. Told
are: the memory of each further agent; the 99th percentile of an acknowledgement for all agents but one, while nothing
else happens and while that one floods, sends messages of 1 MiB, has spent its cap, or waits for a model that does not
answer, each right after a quiet window; and, after a kill -9 under load, the seconds until each agent's turn goes on,
with the events that were durable before and are not there afterwards. The noisy agent is a process of its own.

A window has some 2,400 acknowledgements, and one stall of the machine is all of its 99th percentile. So each pair of
windows is measured once in each round, in another order, and what counts is the median of the rounds' ratios. How much
of the machine other processes took in the quiet windows is told beside it: where that is much, the figures say little.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from bench import calls
from bench.figures import median, now, share
from bench.processes import cpu_s, free_port, machine_s
from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc, thinking_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.process import Process
from tests.faults.waiting import until
from tests.models.endpoint import KEY, LOCAL, Endpoint, Slow

# What deploy/kubernetes/node sets.
LIMITS = {
    "limits__agent_calls": "16",
    "limits__agent_streams": "32",
    "limits__agent_bytes_per_second": "1048576",
    "limits__project_backlog_bytes": "4194304",
}
_EVERY_S = 0.5
# After a noise begins, so that it has used up what it may send at once, and after it has ended.
_SETTLE_S = 2.0
_NOISES = ("flood", "large", "cap", "dead")
_TENANT = "node"
_ADMIN = "admin"


def token_of(name: str) -> str:
    """The agent's token, which its process derives too."""
    return hashlib.sha256(f"bench {name}".encode()).hexdigest()


def bearer(name: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token_of(name)}"),)


def access_file(path: Path, names: list[str]) -> Path:
    """One token for each agent, good for its own project, and an admin's."""
    entries: list[dict[str, Any]] = [
        {"name": name, "token": token_of(name), "grants": [{"tenant_id": _TENANT, "project_id": name}]}
        for name in names
    ]
    entries.append({"name": _ADMIN, "token": token_of(_ADMIN), "grants": [{"tenant_id": _TENANT}], "admin": True})
    path.touch(mode=0o600)
    path.write_text(json.dumps({"tokens": entries}))
    return path


class Agent:
    """An agent on a connection of its own. Takes its turn up again when the sidecar was away, and says again what was
    not durable."""

    def __init__(self, name: str, address: str, phase_s: float) -> None:
        """`phase_s`: when in each period it sends."""
        self.name = name
        self._address = address
        self._phase_s = phase_s
        self._sent = 0
        # What the sidecar had made durable of the turn's events, `turn_started` among them.
        self.durable = 0
        self.took_s: list[float] = []
        self.resumed_at = 0.0
        self._waits: dict[int, float] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        begins = True
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError, ConnectionError):
                async with grpc.aio.insecure_channel(self._address, options=_OPTIONS) as channel:
                    await self._turn(thinking_pb2_grpc.ThinkingServiceStub(channel), begins=begins)
            begins = begins and not self.durable
            await asyncio.sleep(0.1)

    async def _turn(self, stub: Any, *, begins: bool) -> None:
        stream = stub.RunTurn(metadata=bearer(self.name))
        first = pb.RunTurnRequest(tenant_id=_TENANT, project_id=self.name)
        if begins:
            first.events.add(turn_id=self.name, event_id="0", turn_started=pb.TurnStarted(task="serve"))
            self._sent, base = 1, 0
        else:
            first.resume.turn_id = self.name
            base = self.durable
            first.events.extend(_event(number) for number in range(base, self._sent))
        self._waits = {}
        await stream.write(first)
        hearing = asyncio.create_task(self._hear(stream, base, first_events=len(first.events)))
        try:
            while not hearing.done():
                await asyncio.wait((hearing,), timeout=self._until_next_s())
                if hearing.done():
                    break
                self._waits[self._sent + 1 - base] = now()
                await stream.write(pb.RunTurnRequest(events=[_event(self._sent)]))
                self._sent += 1
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
            stream.cancel()

    def _until_next_s(self) -> float:
        """Until its next event is due. After a stall it goes on at its own times: agents that a stall has brought
        together would else go on sending together, and wait for each other in the windows that follow."""
        return _EVERY_S - (now() - self._phase_s) % _EVERY_S

    async def _hear(self, stream: Any, base: int, first_events: int) -> None:
        while isinstance(response := await stream.read(), pb.RunTurnResponse):
            for directive in response.directives:
                if directive.WhichOneof("kind") == "ack":
                    self._acked(directive.ack, base, first_events)

    def _acked(self, ack: pb.TurnAck, base: int, first_events: int) -> None:
        if base and not self.resumed_at and ack.received >= first_events:
            self.resumed_at = now()
        self.durable = max(self.durable, base + ack.durable)
        for number in [one for one in self._waits if one <= ack.received]:
            self.took_s.append(now() - self._waits.pop(number))


_OPTIONS = (
    *(("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)),
    *(("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 200)),
)


def _event(number: int) -> pb.TurnEvent:
    made = calls.event(number)
    made.event_id = str(number)
    return made


# --- noise -----------------------------------------------------------------------------------------------------------


async def make_noise(kind: str, address: str) -> None:
    """What the noisy agent does, until its process is ended."""
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        stub: Any = thinking_pb2_grpc.ThinkingServiceStub(channel)
        await channel.channel_ready()
        print("begins", flush=True)
        if kind in ("cap", "dead"):
            await asyncio.gather(*[_reflects(stub, kind, number) for number in range(16)])
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await _sends(stub, kind)


async def _sends(stub: Any, kind: str) -> None:
    stream = stub.RunTurn(metadata=bearer(kind))
    start = pb.TurnEvent(turn_started=pb.TurnStarted(task="be loud"))
    await stream.write(pb.RunTurnRequest(tenant_id=_TENANT, project_id=kind, events=[start]))
    large = pb.TurnEvent(tool_returned=pb.ToolReturned(content="row 12; " * 32_000))
    events = [large] * 4 if kind == "large" else [calls.event(1)]
    for _ in range(9_000 if kind == "flood" else 60):
        await stream.write(pb.RunTurnRequest(events=events))


async def _reflects(stub: Any, kind: str, number: int) -> None:
    turn_id = f"{kind}{number}"
    scope: dict[str, Any] = {"tenant_id": _TENANT, "project_id": kind}
    with contextlib.suppress(grpc.aio.AioRpcError):
        await stub.StartTurn(
            pb.StartTurnRequest(turn_id=turn_id, task="t", config={"level": "THINK_LEVEL_MEDIUM"}, **scope),
            metadata=bearer(kind),
        )
    while True:
        try:
            await stub.Reflect(pb.ReflectRequest(turn_id=turn_id, **scope), metadata=bearer(kind), timeout=20)
        except grpc.aio.AioRpcError:
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def noise(kind: str, address: str) -> AsyncIterator[None]:
    """The noisy agent, in a process of its own, which has begun."""
    # What it costs to be noisy is not what is measured.
    command = ("nice", "-n", "10", sys.executable, "-m", "bench.node", "--noise", kind, address)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert await process.stdout.readline(), f"{kind} has ended before it began"
        yield
    finally:
        process.kill()
        await process.wait()


# --- what is measured ------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """The 99th percentile of its acknowledgements, in ms, and how many there were."""

    p99_ms: float
    acknowledged: int


class Pair(NamedTuple):
    """A quiet window and the noisy one after it."""

    quiet: Window
    loud: Window

    @property
    def ratio(self) -> float:
        return self.loud.p99_ms / self.quiet.p99_ms


class Told(NamedTuple):
    """`agent_mb`: resident memory of each further agent. `pairs`: by noise, one for each round. `others`: by round, the
    part of the machine that other processes took in the quiet windows, 0 to 1. `goes_on_s`: of each agent after the
    kill. `lost`: events that were durable before."""

    agents: int
    agent_mb: float
    pairs: Mapping[str, Sequence[Pair]]
    others: Sequence[float]
    goes_on_s: list[float]
    lost: int


async def measure(agents: int, seconds: float, rounds: int, folder: Path, noises: tuple[str, ...] = _NOISES) -> Told:
    """Runs all of it."""
    names = [f"a{number}" for number in range(agents - 1)]
    settings = {
        "address": f"127.0.0.1:{free_port()}",
        "access_file": str(access_file(folder / "access.json", [*names, *_NOISES])),
        "log_level": "info",
        **LIMITS,
    }
    async with Endpoint() as endpoint:
        settings |= {
            "model__provider": "openai_compatible",
            "model__name": LOCAL,
            "model__base_url": endpoint.openai_url,
            "model__input_usd_per_mtok": "2",
            "model__output_usd_per_mtok": "8",
        }
        async with Process(folder, settings, secrets={"SIDEMIRROR_MODEL__API_KEY": KEY}) as process:
            return await _measure(process, endpoint, names, settings["address"], seconds, rounds, noises)


async def _measure(
    process: Process,
    endpoint: Endpoint,
    names: list[str],
    address: str,
    seconds: float,
    rounds: int,
    noises: tuple[str, ...],
) -> Told:
    await _cap(address)
    fleet = [Agent(name, address, number * _EVERY_S / len(names)) for number, name in enumerate(names)]
    tasks = [asyncio.create_task(fleet[0].run())]
    await asyncio.sleep(3)
    before_mb = resident_mb(process.pid)
    for agent in fleet[1:]:
        tasks.append(asyncio.create_task(agent.run()))
        await asyncio.sleep(_EVERY_S / len(fleet))  # so that not all of them connect at once
    await asyncio.sleep(5)
    agent_mb = (resident_mb(process.pid) - before_mb) / (len(fleet) - 1)
    pairs: dict[str, list[Pair]] = {kind: [] for kind in noises}
    others: list[float] = []
    try:
        for number in range(rounds):
            taken: list[float] = []
            for place in range(len(noises)):
                kind = noises[(place + number) % len(noises)]
                endpoint.slow_of = (lambda _: Slow.HANGS) if kind == "dead" else None
                with _others(process.pid, taken):
                    quiet = await _window(fleet, seconds)
                async with noise(kind, address):
                    await asyncio.sleep(_SETTLE_S)
                    loud = await _window(fleet, seconds)
                pairs[kind].append(Pair(quiet, loud))
                await asyncio.sleep(_SETTLE_S)
            others.append(sum(taken) / len(taken))
        endpoint.slow_of = None
        goes_on_s, lost = await _killed(process, fleet, address)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return Told(len(fleet) + 1, agent_mb, pairs, others, goes_on_s, lost)


@contextlib.contextmanager
def _others(pid: int, taken: list[float]) -> Iterator[None]:
    """Adds the part of the machine that neither this process nor that of `pid` took meanwhile."""

    def spent_s() -> tuple[float, float, float]:
        return *machine_s(), cpu_s(pid) + cpu_s(os.getpid())

    all_s, busy_s, own_s = spent_s()
    yield
    all_after_s, busy_after_s, own_after_s = spent_s()
    taken.append(max(0.0, busy_after_s - busy_s - (own_after_s - own_s)) / (all_after_s - all_s))


async def _cap(address: str) -> None:
    """The noisy agent `cap` may spend next to nothing."""
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        stub: Any = sidecar_pb2_grpc.SidecarServiceStub(channel)
        policy = sidecar_pb2.Policy(caps=[sidecar_pb2.PolicyCap(usd_per_day=0.000001)])
        request = sidecar_pb2.SetPolicyRequest(
            tenant_id=_TENANT, project_id="cap", level="POLICY_LEVEL_PROJECT", policy=policy
        )
        await stub.SetPolicy(request, metadata=bearer(_ADMIN), timeout=30)


async def _window(fleet: list[Agent], seconds: float) -> Window:
    for agent in fleet:
        agent.took_s.clear()
    await asyncio.sleep(seconds)
    took = [one for agent in fleet for one in agent.took_s]
    return Window(share(took, 0.99) * 1e3, len(took))


async def _killed(process: Process, fleet: list[Agent], address: str) -> tuple[list[float], int]:
    durable = {agent.name: agent.durable for agent in fleet}
    killed_at = now()
    process.kill()
    for agent in fleet:
        agent.resumed_at = 0.0
    await process.start()
    with contextlib.suppress(AssertionError):  # those that do not go on count as 60 s
        await until(lambda: all(agent.resumed_at for agent in fleet), 60)
    lost = 0
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        stub: Any = thinking_pb2_grpc.ThinkingServiceStub(channel)
        for agent in fleet:
            request = pb.GetTurnRequest(tenant_id=_TENANT, project_id=agent.name, turn_id=agent.name)
            found = await stub.GetTurn(request, metadata=bearer(agent.name), timeout=30)
            lost += max(0, durable[agent.name] - found.turn.event_count)
    return sorted(agent.resumed_at - killed_at if agent.resumed_at else 60.0 for agent in fleet), lost


def resident_mb(pid: int) -> float:
    """Of the process, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def table(told: Told) -> str:
    """As Markdown: medians of the rounds, with the least and the most."""
    lines = [
        f"{told.agents} agents; each further one takes {told.agent_mb:.2f} MiB.",
        f"Other processes took {_of_rounds(told.others, '.0%')} of the machine in the quiet windows.",
        "",
        f"| one agent, median of {len(told.others)} | quiet p99, ms | p99 beside it, ms | ratio | acknowledgements |",
        "|---|---|---|---|---|",
    ]
    for kind, pairs in told.pairs.items():
        quiet = _of_rounds([pair.quiet.p99_ms for pair in pairs], ".1f")
        loud = _of_rounds([pair.loud.p99_ms for pair in pairs], ".1f")
        ratio = _of_rounds([pair.ratio for pair in pairs], ".2f")
        lines.append(f"| {kind} | {quiet} | {loud} | {ratio} | {sum(pair.loud.acknowledged for pair in pairs)} |")
    goes_on = told.goes_on_s
    lines += ["", f"kill -9: turns go on after {share(goes_on, 0.5):.1f} s (median), {goes_on[-1]:.1f} s (the last);"]
    lines.append(f"{told.lost} durable events lost.")
    return "\n".join(lines)


def _of_rounds(values: Sequence[float], shown: str) -> str:
    return f"{median(values):{shown}} ({min(values):{shown}} to {max(values):{shown}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--noise", nargs=2, metavar=("KIND", "ADDRESS"), help="be the noisy agent")
    options = parser.parse_args()
    if options.noise:
        asyncio.run(make_noise(*options.noise))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(table(asyncio.run(measure(options.agents, options.seconds, options.rounds, Path(folder)))))


if __name__ == "__main__":
    main()
