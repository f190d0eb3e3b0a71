"""Lives in the world of `conventions.py` with a sidecar and without one.

The sidecar is a real one, with a store of its own: in this process, or in one of its own (`process.py`). Agents report
by RunTurn alone, and speak of nothing else to it. Each seed is a project. All seeds live an episode at the same time;
then what ended is learned from, and in this process an hour passes on the sidecar's clock.
"""

import asyncio
import contextlib
import json
import math
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from bench.world.agent import Ear, Met, Told, live
from bench.world.conventions import Call, World, world
from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.vocabulary.clock import SystemClock
from tests.faults.sidecars import Running, Stub, channel, connected, running
from tests.wire.calls import called, finished, returned, started
from tests.wire.calls import failed as call_failed

HOUR_US: Final = 3_600 * 1_000_000
_WITHIN_S: Final = 60.0


class Arm(StrEnum):
    """With what the agents live."""

    NONE = "no sidecar"
    TEMPLATES = "templates"
    RECOVERIES = "recoveries"
    WITHHELD = "recoveries, one in ten withheld"


class Trials(NamedTuple):
    """What the sidecar counted of the failing calls at which a recovery was due, by `ListRecoveries`."""

    shown: int = 0
    shown_worked: int = 0
    held_back: int = 0
    held_back_worked: int = 0


class Host(NamedTuple):
    """A sidecar that agents live with. `rests`: returns once what ended is learned from."""

    address: str
    rests: Callable[[], Awaitable[None]]


class Lived(NamedTuple):
    """What became of an arm."""

    met: tuple[Met, ...]
    trials: tuple[Trials, ...]


class _Hours(SystemClock):
    """The machine's clock, some hours on."""

    def __init__(self) -> None:
        self.hours = 0

    def now_us(self) -> int:
        return super().now_us() + self.hours * HOUR_US


class _Stream:
    """A turn on a RunTurn stream."""

    def __init__(self, stub: Stub, project: str, name: str, task: str) -> None:
        self._stream = stub.RunTurn()
        self._project = project
        self._first: pb.TurnEvent | None = started(session_id=name, task=task)
        self._first.turn_id = name
        self._said = self._calls = 0
        self._ack = pb.TurnAck()
        self._heard: list[pb.TurnDirective] = []
        self._news = asyncio.Event()
        self._hearing = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        async for response in self._stream:
            for directive in response.directives:
                if directive.WhichOneof("kind") == "ack":
                    self._ack = directive.ack
                else:
                    self._heard.append(directive)
            self._news.set()

    async def ended(self, call: Call, text: str, *, failed: bool) -> Told:
        """A call has ended; what is said once nothing is in progress any more."""
        self._calls += 1
        call_id = f"c{self._calls}"
        answer = call_failed(text, call_id) if failed else returned(text, call_id)
        await self._say(called(call.tool, json.dumps(call.arguments), call_id), answer)
        async with asyncio.timeout(_WITHIN_S):
            while self._ack.received < self._said or self._ack.pending_ids:
                self._news.clear()
                await self._news.wait()
        heard, self._heard = self._heard, []
        return told(heard)

    async def finish(self, outcome: common_pb2.TaskOutcome) -> None:
        await self._say(finished(outcome=outcome))
        await asyncio.wait_for(self._hearing, _WITHIN_S)

    async def _say(self, *events: pb.TurnEvent) -> None:
        first = (self._first,) if self._first is not None else ()
        self._first = None
        request = pb.RunTurnRequest(project_id=self._project, events=(*first, *events))
        self._said += len(request.events)
        await self._stream.write(request)


def told(directives: Sequence[pb.TurnDirective]) -> Told:
    """What directives say: the sentences of recoveries, and everything else."""
    recoveries, others = list[str](), list[str]()
    for one in directives:
        match one.WhichOneof("kind"):
            case "advice":
                for item in one.advice.block.items:
                    (recoveries if item.kind == "recovery" else others).append(item.text)
            case "nudge":
                others.append(one.nudge.message)
            case "reflection":
                others += [one.reflection.reflection, one.reflection.suggested_action]
                others += [item.text for item in one.reflection.lessons.items]
            case _:
                pass
    return Told(tuple(recoveries), tuple(filter(None, others)))


def outcome_of(met: Sequence[Met]) -> common_pb2.TaskOutcome:
    """How the agent says that its task ended: it takes what passed for done."""
    if all(one.passed for one in met):
        return common_pb2.TASK_OUTCOME_SUCCESS
    partly = any(one.passed for one in met)
    return common_pb2.TASK_OUTCOME_PARTIAL if partly else common_pb2.TASK_OUTCOME_FAILURE


async def episode_of(of: World, episode: int, ear: Ear | None) -> list[Met]:
    """An agent's episode. `ear` None: it has no sidecar."""
    rng = Random(f"agent {of.seed}/{episode}")
    return [await live(situation, of, episode, ear, rng) for situation in of.situations(episode)]


async def _with_sidecar(stub: Stub, of: World, episode: int) -> list[Met]:
    if episode in of.plants:
        attacker = _Stream(stub, f"w{of.seed}", f"w{of.seed}-attacker-{episode}", "Join it")
        await plant(attacker, of, episode)
        await attacker.finish(common_pb2.TASK_OUTCOME_SUCCESS)
    stream = _Stream(stub, f"w{of.seed}", f"w{of.seed}-{episode}", f"Do what is asked in episode {episode}")
    met = await episode_of(of, episode, stream)
    await stream.finish(outcome_of(met))
    return met


async def plant(ear: Ear, of: World, episode: int) -> None:
    """What the attacker reports: its step, as if it had helped."""
    situation = of.situation("planted", episode, Random(f"attacker {of.seed}/{episode}"))
    planted = situation.planted
    if planted is None or planted.before is None:
        raise ValueError("nothing is planted")
    await ear.ended(situation.call, situation.refusal, failed=True)
    await ear.ended(planted.before, "ok", failed=False)
    await ear.ended(planted.call, "ok", failed=False)


@contextlib.asynccontextmanager
async def in_this_process(arm: Arm) -> AsyncIterator[Host]:
    """The sidecar of an arm, whose clock goes on by an hour when it rests."""
    clock = _Hours()
    with tempfile.TemporaryDirectory() as folder, _silence(arm):
        async with running(Path(folder), clock=clock, defaults__level="medium") as served:

            async def rests() -> None:
                await _learned(served)
                clock.hours += 1

            yield Host(served.address, rests)


async def lived(
    arm: Arm,
    seeds: Sequence[int],
    episodes: int,
    hosted: Callable[[Arm], contextlib.AbstractAsyncContextManager[Host]] = in_this_process,
    within_s: float = math.inf,
) -> Lived:
    """The lives of these seeds in an arm, each from an empty memory on. After `within_s` no other episode begins."""
    worlds = [world(seed) for seed in seeds]
    if arm is Arm.NONE:
        met = [one for of in worlds for episode in range(episodes) for one in await episode_of(of, episode, None)]
        return Lived(tuple(met), ())
    until_s = time.monotonic() + within_s
    async with hosted(arm) as host:
        if arm is Arm.TEMPLATES:
            await _no_recoveries(host.address, worlds)
        met = list[Met]()
        async with _stubs(host.address, worlds) as stubs:
            for episode in range(episodes):
                if time.monotonic() > until_s:
                    break
                lives = (_with_sidecar(stub, of, episode) for stub, of in zip(stubs, worlds, strict=True))
                met += [one for found in await asyncio.gather(*lives) for one in found]
                await host.rests()
        return Lived(tuple(met), await _trials(host.address, worlds))


@contextlib.contextmanager
def _silence(arm: Arm) -> Iterator[None]:
    """In one arm one showing in ten is held back, as in the product; in the others none is."""
    usual = moves.SILENT_FRACTION
    try:
        if arm is not Arm.WITHHELD:
            vars(moves)["SILENT_FRACTION"] = 0.0
        yield
    finally:
        vars(moves)["SILENT_FRACTION"] = usual


@contextlib.asynccontextmanager
async def _stubs(address: str, worlds: Sequence[World]) -> AsyncIterator[list[Stub]]:
    """A stub for each world, on a connection of its own."""
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connected(address)) for _ in worlds]


async def _no_recoveries(address: str, worlds: Sequence[World]) -> None:
    async with channel(address) as connection:
        stub: Stub = SidecarServiceStub(connection)
        policy = sidecar_pb2.Policy(advice=sidecar_pb2.AdvicePolicy(off=[sidecar_pb2.ADVICE_KIND_RECOVERIES]))
        for of in worlds:
            await stub.SetPolicy(sidecar_pb2.SetPolicyRequest(project_id=f"w{of.seed}", policy=policy), timeout=60)


async def _learned(served: Running) -> None:
    """Waits until the turns that ended are learned from."""
    learner = served.sidecar.memory.learner
    if learner is None:
        raise ValueError("this sidecar learns no recoveries")
    while await learner.learn_due():
        pass


async def _trials(address: str, worlds: Sequence[World]) -> tuple[Trials, ...]:
    """What each world's project counted of shown and withheld recoveries."""
    found = []
    async with channel(address) as connection:
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        for of in worlds:
            counts = Trials()
            request = memory_pb.ListRecoveriesRequest(project_id=f"w{of.seed}", page_size=1000)
            for signature in (await stub.ListRecoveries(request, timeout=60)).signatures:
                for move in signature.moves:
                    counts = Trials(
                        counts.shown + move.shown.success_count + move.shown.failure_count,
                        counts.shown_worked + move.shown.success_count,
                        counts.held_back + move.held_back.success_count + move.held_back.failure_count,
                        counts.held_back_worked + move.held_back.success_count,
                    )
            found.append(counts)
    return tuple(found)
