"""Every call that waits for a model answers before its caller's deadline, whatever the provider does meanwhile: over
HTTP, through the unmodified SDKs, in a sidecar that has just started and in one that has been at work."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import common_pb2, critique_pb2, critique_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.figures import show
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import Stub, channel
from tests.faults.waiting import until
from tests.memory.dreamers import lesson
from tests.models.endpoint import KEY, Call, Endpoint, Slow
from tests.models.talk import PROVIDERS, Talk, settings_of

DEADLINE_S = 0.8
# An answer comes no sooner than this: the provider has its time, but for what the server keeps for answering (0.2 s)
# and what a call takes on its way.
SOONEST_S = 0.4
# A round in which the machine itself may have taken this much of a call's time says nothing.
BUSY_S = 0.1
# Of rounds that say nothing, so many are held again.
MOST_AGAIN = 20
FAILED = "RESULT_STATUS_FAILED_MODEL"
# What each call comes to by its contract; or TOO_LATE, when the machine had no time for it until its end.
WANTED = {"reflect": FAILED, "critique": FAILED, "generate": "UNAVAILABLE", "revise": FAILED, "debate": FAILED}
TOO_LATE = "RESULT_STATUS_SKIPPED_DEADLINE"


class Callers:
    """Callers of everything that waits for a model. A call's text has its number, so that no two calls share an
    answer, and says how slowly it is answered."""

    def __init__(self, connection: grpc.aio.Channel, endpoint: Endpoint) -> None:
        self._thinking: Stub = pb_grpc.ThinkingServiceStub(connection)
        self._critique: Stub = critique_pb2_grpc.CritiqueServiceStub(connection)
        self.memory: Stub = ReflectiveMemoryServiceStub(connection)
        self._talk = Talk(endpoint, self._thinking, Stub)
        self._calls = 0
        endpoint.slow_of = _slow_of

    async def round(self) -> list[str]:
        """Each call with each slowness, all at once: those that did not end as they should."""
        names, calls = [], []
        for slow in Slow:
            for kind in WANTED:
                self._calls += 1
                turn_id, text = f"t{self._calls}", f"Call {self._calls} is answered slowly: {slow.name}."
                if kind == "reflect":
                    await self._talk.turn(turn_id)
                names.append((kind, slow))
                calls.append(self._timed(kind, turn_id, text))
        wrong = []
        for (kind, slow), (told, took_s) in zip(names, await asyncio.gather(*calls), strict=True):
            if told not in (WANTED[kind], TOO_LATE) or took_s <= SOONEST_S:
                wrong.append(f"{kind}, {slow.value}: {told} after {took_s:.3f} s")
        return wrong

    async def _timed(self, kind: str, turn_id: str, text: str) -> tuple[str, float]:
        began_s = time.monotonic()
        try:
            told = common_pb2.ResultStatus.Name(await self._called(kind, turn_id, text))
        except grpc.aio.AioRpcError as error:
            told = TOO_LATE if "status='skipped_deadline'" in (error.details() or "") else error.code().name
        return told, time.monotonic() - began_s

    def _called(self, kind: str, turn_id: str, text: str) -> Coroutine[None, None, common_pb2.ResultStatus]:
        match kind:
            case "reflect":
                return self._reflect(turn_id, text)
            case "critique":
                return self._judge(text)
            case "generate":
                return self._generate(text)
            case "revise":
                return self._revise(text)
            case _:
                return self._debate(text)

    async def _reflect(self, turn_id: str, text: str) -> common_pb2.ResultStatus:
        request = pb.ReflectRequest(turn_id=turn_id, tool_results=[common_pb2.ToolResult(name="search", error=text)])
        response: pb.ReflectResponse = await self._thinking.Reflect(request, timeout=DEADLINE_S)
        return response.result.status

    async def _judge(self, text: str) -> common_pb2.ResultStatus:
        request = critique_pb2.CritiqueRequest(user_message="Where is W17?", response=text)
        response: critique_pb2.CritiqueResponse = await self._critique.Critique(request, timeout=DEADLINE_S)
        return response.critique.status

    async def _generate(self, text: str) -> common_pb2.ResultStatus:
        event = memory_pb.ReflectionEvent(event_type=memory_pb.EVENT_TYPE_ERROR_EVENT, content=text)
        request = memory_pb.GenerateReflectionRequest(events=[event], outcome=common_pb2.TASK_OUTCOME_FAILURE)
        await self.memory.GenerateReflection(request, timeout=DEADLINE_S)
        return common_pb2.RESULT_STATUS_OK

    async def _revise(self, text: str) -> common_pb2.ResultStatus:
        request = critique_pb2.ReviseRequest(user_message="Where is W17?", response=text)
        steps: list[critique_pb2.ReviseResponse] = [
            step async for step in self._critique.Revise(request, timeout=DEADLINE_S)
        ]
        assert [step.WhichOneof("step") for step in steps] == ["critique", "result"]
        return steps[0].critique.critique.status

    async def _debate(self, text: str) -> common_pb2.ResultStatus:
        request = critique_pb2.DebateRequest(user_message="Where is W17?", response=text)
        parts: list[critique_pb2.DebateResponse] = [
            part async for part in self._critique.Debate(request, timeout=DEADLINE_S)
        ]
        assert [part.WhichOneof("part") for part in parts] == ["argument"] * 3 + ["verdict"]
        return parts[-1].verdict.critique.status


def _slow_of(call: Call) -> Slow | None:
    told = str(call.body)
    return next((slow for slow in Slow if f"slowly: {slow.name}." in told), None)


class Tally:
    """Rounds that count: a machine that is busy elsewhere holds up any of them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._again = 0
        self.held = 0

    async def hold(self, callers: Callers) -> None:
        """One round, which counts when all is well or the machine had time."""
        self._machine.late_s()
        own = asyncio.create_task(_late_s(asyncio.get_running_loop().create_future()))
        wrong = await callers.round()
        own.cancel()
        if not wrong:
            self.held += 1
            return
        busy_s = max(self._machine.late_s(), await own)
        assert busy_s > BUSY_S, "; ".join(wrong)
        self._again += 1
        assert self._again <= MOST_AGAIN, f"the machine is too busy (late by {busy_s:.2f} s): {'; '.join(wrong)}"


async def _late_s(ended: "asyncio.Future[None]") -> float:
    """By how much this process was late at most, until it is cancelled."""
    late_s = 0.0
    while True:
        began_s = time.monotonic()
        try:
            await asyncio.wait([ended], timeout=0.01)
        except asyncio.CancelledError:
            return late_s
        late_s = max(late_s, time.monotonic() - began_s - 0.01)


@contextlib.asynccontextmanager
async def serving(
    folder: Path, provider: str, endpoint: Endpoint, compiled: Path | None = None
) -> AsyncIterator[tuple[Process, Callers]]:
    """A sidecar that has just started. `compiled`: where its modules are compiled to, as an installation does once."""
    # A round has more calls than a provider is asked at once by default, and many rounds cost more than a day's cap.
    of_many = {"model__concurrency": "100", "spend__usd_per_day": "null"}
    key = {"SIDEMIRROR_MODEL__API_KEY": KEY}
    if compiled is not None:
        key |= {"PYTHONPYCACHEPREFIX": str(compiled), "PYTHONDONTWRITEBYTECODE": ""}
    settings = {**settings_of(provider, endpoint), **of_many}
    async with Process(folder, settings, secrets=key) as process, channel(process.address) as connection:
        yield process, Callers(connection, endpoint)


async def _told(call: AsyncIterator[memory_pb.DreamResponse]) -> list[memory_pb.DreamResponse]:
    """What a stream says until its end."""
    return [response async for response in call]


async def ready(process: Process) -> None:
    """Returns once the model's SDK is loaded."""
    await until(lambda: "model_ready" in process.text())


async def test_answers_come_before_the_deadline(machine: Machine, tmp_path: Path) -> None:
    """Seen to fail when a reflection's model has all of the call's time: DEADLINE_EXCEEDED."""
    tally = Tally(machine)
    async with Endpoint() as endpoint, serving(tmp_path / "1", "openai_compatible", endpoint) as (process, callers):
        await tally.hold(callers)
        await ready(process)
        while tally.held < 2:
            await tally.hold(callers)


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_pass_of_dreams_goes_on_when_its_callers_time_is_over(provider: str, tmp_path: Path) -> None:
    async with Endpoint() as endpoint, serving(tmp_path, provider, endpoint) as (process, callers):
        await ready(process)
        for number in range(3):
            result = memory_pb.ReflectionResult(**lesson(number))
            await callers.memory.StoreReflection(memory_pb.StoreReflectionRequest(result=result))
        endpoint.slow_of = lambda _: Slow.LATE
        first = await _told(callers.memory.Dream(memory_pb.DreamRequest(), timeout=DEADLINE_S))
        assert [step.WhichOneof("step") for step in first] == ["progress"] * len(first)
        assert first, "the pass was not heard of: the test shows nothing"
        rest = await _told(callers.memory.Dream(memory_pb.DreamRequest(), timeout=60))
        assert rest[-1].dream.dream_id == first[0].progress.dream_id
        assert rest[-1].dream.asked_count == 1
    assert len(endpoint.calls) == 1


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_sidecar_at_work_answers_before_the_deadline(provider: str, machine: Machine, tmp_path: Path) -> None:
    tally = Tally(machine)
    async with Endpoint() as endpoint, serving(tmp_path / "1", provider, endpoint) as (process, callers):
        await ready(process)
        while tally.held < 25:
            await tally.hold(callers)
    show(f"{provider}, at work: {tally.held * len(Slow)} of each call answered in time")


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_sidecar_that_has_just_started_answers_before_the_deadline(
    provider: str, machine: Machine, tmp_path: Path
) -> None:
    """The SDK is loaded meanwhile."""
    tally, folders, compiled = Tally(machine), itertools.count(), tmp_path / "compiled"
    async with Endpoint() as endpoint:
        async with serving(tmp_path / "compiles", provider, endpoint, compiled) as (process, _):
            await ready(process)
        while tally.held < 25:
            async with serving(tmp_path / str(next(folders)), provider, endpoint, compiled) as (_, callers):
                await tally.hold(callers)
    show(f"{provider}, just started: {tally.held * len(Slow)} of each call answered in time")
