"""Many agents on one sidecar of a node: `uv run python -m bench.node [--agents 200] [--seconds 6] [--rounds 5]`.

Each agent has a token and a project of its own, and a turn on a stream to which it adds an event twice a second, all
by the Unix socket. Told are: the memory of each further agent; the 99th percentile of an acknowledgement for all agents
but one, while nothing else happens and while that one misbehaves, each right after a quiet window; and, after a kill -9
under load, the seconds until each agent's turn goes on, with the events, by their ids, that had been acknowledged as
durable and are not on record afterwards, and the calls that have failed in the sidecar itself, by its log.

The noisy agent and the provider of the models are processes of their own, of the same priority as all others. The
noisy one
- `computes`, and never speaks to the sidecar: what another busy process on the machine costs by itself;
- `floods` all the streams that it may have with messages of one event, as fast as they are taken;
- sends `batches` of 500 events in each message, on all of its streams;
- `calls`: 64 unary calls at once, 16 of which are served; what is refused is called again at once;
- `opens`: 64 streams at once, 32 of which are let in, each of them to be opened again at once;
- `connects`: on 16 connections at once, each for one call;
- sends `large` events: turns that begin with one of 1 MiB, then messages of 1 MiB, four events of the longest text;
- sends `oversized` events: a text of 1 MiB, which is more than the contract allows, and is refused;
- spends its `cap`: 16 calls at once ask a model until its cap is used up, and go on;
- waits for a `dead` model: 16 calls at once ask one that never answers.

A noisy window begins with the noise and ends with it. The two seconds after it are a window of their own, and then the
next quiet one begins: no moment is left out. What is not acknowledged when a window ends counts as it stands.

A window has some 2,400 acknowledgements, and one stall of the machine is all of its 99th percentile. So each pair of
windows is measured once in each round, in another order, and what counts is the median of the rounds' ratios. How much
of the machine other processes took in the quiet windows is told beside it: where that is much, the figures say little.
"""

import argparse
import asyncio
import contextlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from bench import calls
from bench.figures import median, now, share
from bench.node_noises import NOISES, OPTIONS, TENANT, bearer, noise, token_of
from bench.processes import cpu_s, free_port, machine_s
from bench.provider import Provider, provider
from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc, thinking_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.process import Process
from tests.faults.waiting import until
from tests.models.endpoint import KEY, LOCAL

# What deploy/kubernetes/node sets.
LIMITS = {
    "limits__agent_calls": "16",
    "limits__agent_streams": "32",
    "limits__agent_bytes_per_second": "1048576",
    "limits__agent_waiting_bytes": "16777216",
    "limits__project_backlog_bytes": "4194304",
}
_EVERY_S = 0.5
# The window after a noise.
_AFTER_S = 2.0
# What the agent `cap` may spend in a round: less than it spends in a window, more than 16 questions at once reserve.
_CAP_USD = 0.1
_ADMIN = "admin"


def access_file(path: Path, names: Sequence[str], noises: Sequence[str], rounds: int) -> Path:
    """One token for each agent, good for its own project, and an admin's. A noisy one has a project for each round."""
    owned = {name: [name] for name in names}
    owned |= {kind: [_project(kind, number) for number in range(rounds)] for kind in noises}
    entries: list[dict[str, Any]] = [
        {
            "name": name,
            "token": token_of(name),
            "grants": [{"tenant_id": TENANT, "project_id": project} for project in projects],
        }
        for name, projects in owned.items()
    ]
    entries.append({"name": _ADMIN, "token": token_of(_ADMIN), "grants": [{"tenant_id": TENANT}], "admin": True})
    path.touch(mode=0o600)
    path.write_text(json.dumps({"tokens": entries}))
    return path


def _project(kind: str, number: int) -> str:
    return f"{kind}{number}"


class Agent:
    """An agent on a connection of its own. Takes its turn up again when the sidecar was away, and says again what was
    not durable."""

    def __init__(self, name: str, address: str, phase_s: float) -> None:
        """`phase_s`: when in each period it sends."""
        self.name = name
        self._address = address
        self._phase_s = phase_s
        # Its events have the ids 0, 1, 2, …; `turn_started` is the first.
        self.sent = 0
        # How many of them, the first ones, are acknowledged as durable. None of these is ever sent again.
        self.durable = 0
        # How many were when the turn was taken up last.
        self.resumed_from = 0
        self.took_s: list[float] = []
        self.resumed_at = 0.0
        self._waits: dict[int, float] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        begins = True
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError, ConnectionError):
                async with grpc.aio.insecure_channel(self._address, options=OPTIONS) as channel:
                    await self._turn(thinking_pb2_grpc.ThinkingServiceStub(channel), begins=begins)
            begins = begins and not self.durable
            await asyncio.sleep(0.1)

    async def _turn(self, stub: Any, *, begins: bool) -> None:
        stream = stub.RunTurn(metadata=bearer(self.name))
        first = pb.RunTurnRequest(tenant_id=TENANT, project_id=self.name)
        if begins:
            first.events.add(turn_id=self.name, event_id="0", turn_started=pb.TurnStarted(task="serve"))
            self.sent, base = 1, 0
        else:
            first.resume.turn_id = self.name
            base = self.resumed_from = self.durable
            first.events.extend(_event(number) for number in range(base, self.sent))
        self._waits = {}
        await stream.write(first)
        hearing = asyncio.create_task(self._hear(stream, base, first_events=len(first.events)))
        try:
            while not hearing.done():
                await asyncio.wait((hearing,), timeout=self._until_next_s())
                if hearing.done():
                    break
                self._waits[self.sent + 1 - base] = now()
                await stream.write(pb.RunTurnRequest(events=[_event(self.sent)]))
                self.sent += 1
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

    def take(self) -> list[float]:
        """What was waited for acknowledgements since the last call; of those that are still to come, until now."""
        took = [*self.took_s, *(now() - since for since in self._waits.values())]
        self.took_s.clear()
        return took


def _event(number: int) -> pb.TurnEvent:
    made = calls.event(number)
    made.event_id = str(number)
    return made


# --- what is measured ------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """The 99th percentile of its acknowledgements, in ms, and how many there were."""

    p99_ms: float
    acknowledged: int


class Pair(NamedTuple):
    """A quiet window, the noisy one after it, and the seconds after that."""

    quiet: Window
    loud: Window
    after: Window

    @property
    def ratio(self) -> float:
        return self.loud.p99_ms / self.quiet.p99_ms


class Told(NamedTuple):
    """`agent_mb`: resident memory of each further agent. `pairs`: by noise, one for each round. `others`: by round, the
    part of the machine that other processes took in the quiet windows, 0 to 1. `goes_on_s`: of each agent after the
    kill. `durable`: events that had been acknowledged as durable before it; `lost`: those that are not on record;
    `doubled`: events that are there twice. `call_failed`: calls that failed by an error of the sidecar's own. `did`:
    what the noisy agents did, by noise."""

    agents: int
    agent_mb: float
    pairs: Mapping[str, Sequence[Pair]]
    others: Sequence[float]
    goes_on_s: Sequence[float]
    durable: int
    lost: int
    doubled: int
    call_failed: int
    did: Mapping[str, Mapping[str, int]]


async def measure(agents: int, seconds: float, rounds: int, folder: Path, noises: Sequence[str] = NOISES) -> Told:
    """Runs all of it."""
    names = [f"a{number}" for number in range(agents - 1)]
    socket = folder / "run" / "s.sock"
    settings = {
        "address": f"127.0.0.1:{free_port()}",
        "socket": str(socket),
        "access_file": str(access_file(folder / "access.json", names, noises, rounds)),
        # What a dead model is estimated to have cost must not end the noise.
        "spend__usd_per_day": "1000",
        "log_level": "info",
        **LIMITS,
    }
    async with provider() as models:
        settings |= {
            "model__provider": "openai_compatible",
            "model__name": LOCAL,
            "model__base_url": models.url,
            "model__input_usd_per_mtok": "2",
            "model__output_usd_per_mtok": "8",
        }
        # When it starts again it has its bytecode, as in the image.
        bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        given = {"SIDEMIRROR_MODEL__API_KEY": KEY, **bytecode}
        async with Process(folder, settings, secrets=given) as process:
            return await _measure(process, models, names, f"unix:{socket}", seconds, rounds, noises)


async def _measure(
    process: Process,
    models: Provider,
    names: list[str],
    address: str,
    seconds: float,
    rounds: int,
    noises: Sequence[str],
) -> Told:
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
    did: dict[str, Counter[str]] = {kind: Counter() for kind in noises}
    try:
        for number in range(rounds):
            taken: list[float] = []
            for place in range(len(noises)):
                kind = noises[(place + number) % len(noises)]
                await models.hang(hangs=kind == "dead")
                project = _project(kind, number)
                if kind == "cap":
                    await _cap(address, project)
                with _others(process.pid, taken):
                    quiet = await _window(fleet, seconds)
                async with noise(kind, address, project, did[kind]):
                    loud = await _window(fleet, seconds)
                pairs[kind].append(Pair(quiet, loud, await _window(fleet, _AFTER_S, begins=False)))
            others.append(sum(taken) / len(taken))
        await models.hang(hangs=False)
        goes_on_s = await _killed(process, fleet)
        durable, lost, doubled = await _kept(fleet, address)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    call_failed = process.text().count('"call_failed"')
    return Told(len(fleet) + 1, agent_mb, pairs, others, goes_on_s, durable, lost, doubled, call_failed, did)


@contextlib.contextmanager
def _others(pid: int, taken: list[float]) -> Iterator[None]:
    """Adds the part of the machine that neither this process nor that of `pid` took meanwhile."""

    def spent_s() -> tuple[float, float, float]:
        return *machine_s(), cpu_s(pid) + cpu_s(os.getpid())

    all_s, busy_s, own_s = spent_s()
    yield
    all_after_s, busy_after_s, own_after_s = spent_s()
    taken.append(max(0.0, busy_after_s - busy_s - (own_after_s - own_s)) / (all_after_s - all_s))


async def _cap(address: str, project: str) -> None:
    """The noisy agent may spend so much in this project."""
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        stub: Any = sidecar_pb2_grpc.SidecarServiceStub(channel)
        policy = sidecar_pb2.Policy(caps=[sidecar_pb2.PolicyCap(usd_per_day=_CAP_USD)])
        request = sidecar_pb2.SetPolicyRequest(
            tenant_id=TENANT, project_id=project, level="POLICY_LEVEL_PROJECT", policy=policy
        )
        await stub.SetPolicy(request, metadata=bearer(_ADMIN), timeout=30)


async def _window(fleet: list[Agent], seconds: float, *, begins: bool = True) -> Window:
    """`begins`: what was waited for before does not count."""
    if begins:
        for agent in fleet:
            agent.take()
    await asyncio.sleep(seconds)
    took = [one for agent in fleet for one in agent.take()]
    return Window(share(took, 0.99) * 1e3, len(took))


def _kill(process: Process, _fleet: Sequence[Agent]) -> None:
    process.kill()


async def _killed(process: Process, fleet: Sequence[Agent]) -> list[float]:
    """Ends the sidecar as a crash would and starts it again; the seconds until each agent's turn goes on, in order."""
    killed_at = now()
    for agent in fleet:
        agent.resumed_at = 0.0
        agent.resumed_from = 0
    _kill(process, fleet)
    await process.start()
    with contextlib.suppress(AssertionError):  # those that do not go on count as 60 s
        await until(lambda: all(agent.resumed_at for agent in fleet), 60)
    return sorted(agent.resumed_at - killed_at if agent.resumed_at else 60.0 for agent in fleet)


async def _kept(fleet: Sequence[Agent], address: str) -> tuple[int, int, int]:
    """How many events had been acknowledged as durable when the turns were taken up again, how many of these are not on
    record, and how many events are there twice. An agent that has not gone on has what it knew last."""
    durable = lost = doubled = 0
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        stub: Any = thinking_pb2_grpc.ThinkingServiceStub(channel)
        for agent in fleet:
            known = agent.resumed_from or agent.durable
            found = Counter(await _ids_of(stub, agent.name))
            durable += known
            lost += sum(str(number) not in found for number in range(known))
            doubled += sum(times > 1 for times in found.values())
    return durable, lost, doubled


async def _ids_of(stub: Any, name: str) -> list[str]:
    """The ids of the events on record of an agent's turn."""
    found: list[str] = []
    request = pb.GetTurnRequest(tenant_id=TENANT, project_id=name, turn_id=name, page_size=1000)
    while True:
        page = await stub.GetTurn(request, metadata=bearer(name), timeout=30)
        found += [entry.event.event_id for entry in page.entries if entry.HasField("event")]
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


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
        f"| one agent, median of {len(told.others)} | quiet p99, ms | beside it | ratio | 2 s after it | what it did |",
        "|---|---|---|---|---|---|",
    ]
    for kind, pairs in told.pairs.items():
        quiet = _of_rounds([pair.quiet.p99_ms for pair in pairs], ".1f")
        loud = _of_rounds([pair.loud.p99_ms for pair in pairs], ".1f")
        ratio = _of_rounds([pair.ratio for pair in pairs], ".2f")
        after = _of_rounds([pair.after.p99_ms for pair in pairs], ".1f")
        did = ", ".join(f"{count} {what}" for what, count in sorted(told.did[kind].items()))
        lines.append(f"| {kind} | {quiet} | {loud} | {ratio} | {after} | {did} |")
    goes_on = told.goes_on_s
    lines += ["", f"kill -9: turns go on after {share(goes_on, 0.5):.1f} s (median), {goes_on[-1]:.1f} s (the last);"]
    lines.append(f"of {told.durable} durable events {told.lost} are lost, and {told.doubled} are there twice.")
    lines.append(f"{told.call_failed} calls have failed in the sidecar itself (`call_failed` in its log).")
    return "\n".join(lines)


def _of_rounds(values: Sequence[float], shown: str) -> str:
    return f"{median(values):{shown}} ({min(values):{shown}} to {max(values):{shown}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--noises", nargs="+", choices=NOISES, default=NOISES, help="only these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = measure(options.agents, options.seconds, options.rounds, Path(folder), options.noises)
        print(table(asyncio.run(told)))


if __name__ == "__main__":
    main()
