"""Redis stops answering, or is gone, while the sidecar runs: reports go on being accepted, nobody waits past a
deadline, and what waited is drained when it is back."""

import asyncio
import contextlib
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from tests.faults.figures import show
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import channel
from tests.goals.agents import Stub, a_report, connected, until_ended
from tests.postgres.databases import Databases
from tests.redis.server import RedisServer

pytestmark = pytest.mark.slow("a store stands still for seconds")


class Caller:
    """Calls, and keeps how each kind ended and how late that was, beyond what this process was late by itself."""

    def __init__(self, stub: Stub, deadline_s: float) -> None:
        self.stub = stub
        self.deadline_s = deadline_s
        self.codes: dict[str, Counter[str]] = {}
        self.latest_s = -deadline_s
        self._own_lag_s = 0.0
        self._watch = asyncio.create_task(self._watch_own_lag())

    async def _watch_own_lag(self) -> None:
        while True:
            began_s = time.monotonic()
            await asyncio.sleep(0.01)
            self._own_lag_s = max(self._own_lag_s, time.monotonic() - began_s - 0.01)

    def late_s(self) -> float:
        """How late the latest answer was, without this process's own lag. Ends the watch."""
        self._watch.cancel()
        return self.latest_s - self._own_lag_s

    async def one(self, name: str, request: object) -> bool:
        """Whether the call succeeded."""
        began_s = time.monotonic()
        try:
            await getattr(self.stub, name)(request, timeout=self.deadline_s)
            code = "OK"
        except grpc.aio.AioRpcError as error:
            code = error.code().name
        self.codes.setdefault(name, Counter())[code] += 1
        self.latest_s = max(self.latest_s, time.monotonic() - began_s - self.deadline_s)
        return code == "OK"

    async def reads(self) -> None:
        """Each kind of call that needs Redis, at once."""
        await asyncio.gather(
            self.one("GetGoalReflections", pb.GetGoalReflectionsRequest(goal_id="g")),
            self.one("ListRecentGoals", pb.ListRecentGoalsRequest()),
            self.one("BuildGoalContext", pb.BuildGoalContextRequest(goal_id="g")),
            self.one("BuildGoalContext", pb.BuildGoalContextRequest(task="Reach the goal")),
            self.one("DeleteGoalReflections", pb.DeleteGoalReflectionsRequest(goal_id="other")),
        )


async def is_available(address: str) -> bool:
    """Whether the sidecar says that its Redis answers."""
    async with channel(address) as connection:
        stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
        answer = await stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=60)
    (redis,) = [store for store in answer.stores if store.kind == "redis"]
    return bool(redis.available)


async def go_away(server: RedisServer, fault: str) -> None:
    if fault == "stopped":
        server.send(signal.SIGSTOP)
    else:
        server.kill()


async def come_back(server: RedisServer, fault: str) -> None:
    if fault == "stopped":
        server.send(signal.SIGCONT)
    else:
        await asyncio.to_thread(server.start)


async def first_success_s(stub: Stub) -> float:
    """Calls until one succeeds; how long that took."""
    began_s = time.monotonic()
    again = Caller(stub, 5.0)
    succeeded = False
    while not succeeded:
        succeeded = await again.one("GetGoalReflections", pb.GetGoalReflectionsRequest(goal_id="g"))
        await asyncio.sleep(0.01)
    again.late_s()
    return time.monotonic() - began_s


@contextlib.asynccontextmanager
async def a_sidecar(server: RedisServer, databases: Databases, folder: Path) -> AsyncIterator[tuple[str, Stub]]:
    """A process with Postgres and Redis: its address, and a stub."""
    async with databases.fresh() as name:
        settings = {"database_url": databases.cluster.url("sidecar", name), "redis_url": server.url}
        async with (
            Process(folder, settings, module="tests.goals.serving") as process,
            connected(process.address) as stub,
        ):
            yield process.address, stub


@pytest.mark.parametrize("fault", ["stopped", "killed"])
@pytest.mark.parametrize(
    ("reports", "away_s"),
    [
        pytest.param(100, 3.0, id="100-reports", marks=pytest.mark.timeout(300)),
        pytest.param(1_000, 30.0, id="1000-reports", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
    ],
)
async def test_redis_is_away_and_comes_back(
    reports: int,
    away_s: float,
    fault: str,
    own_server: RedisServer,
    databases: Databases,
    machine: Machine,
    tmp_path: Path,
) -> None:
    """Seen to fail when a Redis that is away is asked again every 30 s only."""
    async with a_sidecar(own_server, databases, tmp_path) as (address, stub):
        await stub.ReportGoal(a_report("g"), timeout=60)
        await until_ended(stub, 1, within_s=60)
        caller = Caller(stub, 0.7)
        machine.late_s()
        await go_away(own_server, fault)
        try:
            gone_s = time.monotonic()
            free = asyncio.Semaphore(50)  # a connection takes 100 calls at once
            accepted_s = await asyncio.gather(*(accept(stub, number, free) for number in range(reports)))
            while time.monotonic() - gone_s < away_s:
                await caller.reads()
            assert not await is_available(address)
        finally:
            await come_back(own_server, fault)
        most_s = 0.1 + machine.late_s()
        back_s = time.monotonic()
        first_s = await first_success_s(stub)
        states = await until_ended(stub, reports + 1, within_s=60)
        drained_s = time.monotonic() - back_s
        assert await is_available(address)
    late_s = caller.late_s()
    show(
        f"Redis {fault} for {away_s} s: {reports} reports accepted meanwhile (slowest {max(accepted_s):.2f} s); the "
        f"latest answer {late_s * 1000:.0f} ms after its deadline; first success {first_s:.2f} s after the return, "
        f"the backlog drained after {drained_s:.1f} s"
    )
    assert states == {"DONE": reports + 1}
    assert {code for codes in caller.codes.values() for code in codes} <= {"DEADLINE_EXCEEDED", "UNAVAILABLE"}
    assert late_s < most_s
    assert first_s < 5 + machine.late_s()
    assert drained_s < 60


async def accept(stub: Stub, number: int, free: asyncio.Semaphore) -> float:
    """How long a report took to be accepted."""
    async with free:
        began_s = time.monotonic()
        await stub.ReportGoal(a_report(f"goal {number}", f"request {number}"), timeout=60)
        return time.monotonic() - began_s
