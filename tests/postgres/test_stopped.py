"""Postgres stops answering, as a machine does whose disk hangs, and goes on later."""

import asyncio
import signal
import time
from collections import Counter
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import failing_calls, record_of, started
from tests.faults.figures import show
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import Stub, channel, stub_on
from tests.faults.talk import Talk
from tests.faults.waiting import until
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("a store stands still for seconds")

EVENTS = failing_calls("t", 400)


def calls(number: int) -> dict[str, object]:
    """One request for each kind of call that needs the store."""
    said = pb.TurnEvent(user_message=pb.UserMessage(text="x"))
    return {
        "CreateSession": pb.CreateSessionRequest(request_id=f"r{number}"),
        "GetSession": pb.GetSessionRequest(session_id="s"),
        "ListSessions": pb.ListSessionsRequest(),
        "StartTurn": pb.StartTurnRequest(session_id="s2"),
        "ReportEvents": pb.ReportEventsRequest(turn_id="u", events=[said]),
        "GetTurn": pb.GetTurnRequest(turn_id="t"),
        "ListTurns": pb.ListTurnsRequest(),
    }


class Caller:
    """Calls, and keeps how each ended and how late that was, beyond what this process itself was late by meanwhile."""

    def __init__(self, stub: Stub, deadline_s: float) -> None:
        self.stub = stub
        self.deadline_s = deadline_s
        self.codes: Counter[str] = Counter()
        self.latest_s = -deadline_s
        self._own_lag_s = 0.0
        self._watch = asyncio.create_task(self._watch_own_lag())

    async def _watch_own_lag(self) -> None:
        """On a machine that is busy with something else a timer is late too."""
        while True:
            began_s = time.monotonic()
            await asyncio.sleep(0.01)
            self._own_lag_s = max(self._own_lag_s, time.monotonic() - began_s - 0.01)

    def late_s(self) -> float:
        """How late the latest answer was, without this process's own lag. Ends the watch."""
        self._watch.cancel()
        return self.latest_s - self._own_lag_s

    async def all_kinds(self, number: int) -> None:
        """One call of each kind, at once."""
        await asyncio.gather(*(self.one(name, request) for name, request in calls(number).items()))

    async def one(self, name: str, request: object) -> bool:
        """Whether the call succeeded."""
        began_s = time.monotonic()
        try:
            await getattr(self.stub, name)(request, timeout=self.deadline_s)
            code = "OK"
        except grpc.aio.AioRpcError as error:
            code = error.code().name
        self.codes[code] += 1
        self.latest_s = max(self.latest_s, time.monotonic() - began_s - self.deadline_s)
        return code == "OK"

    async def first_successes(self) -> dict[str, float]:
        """Calls until one of each kind has succeeded: after how many seconds each did."""
        began_s = time.monotonic()
        succeeded: dict[str, float] = {}
        while len(succeeded) < len(calls(0)):
            for name, request in calls(1000).items():
                if name not in succeeded and await self.one(name, request):
                    succeeded[name] = time.monotonic() - began_s
        return succeeded


@pytest.mark.parametrize(
    ("stopped_s", "deadline_s"),
    [
        pytest.param(7.0, 0.7, id="7-s"),
        pytest.param(30.0, 1.0, id="30-s", marks=pytest.mark.long),
        pytest.param(30.0, 12.0, id="30-s-and-patient-callers", marks=pytest.mark.long),
    ],
)
async def test_a_stopped_postgres(
    stopped_s: float, deadline_s: float, durable: Databases, machine: Machine, tmp_path: Path
) -> None:
    """Every call returns by its deadline + 100 ms; the turn goes on while `durable` stands still; the first success
    comes within 5 s of Postgres' return, without a restart of anything. Seen to fail when a store that is away is
    asked again every 10 s instead of every half second: the first success then took 7.5 s."""
    cluster = durable.cluster
    url = cluster.url("sidecar", await durable.create())
    async with Process(tmp_path, {"database_url": url}) as process, channel(process.address) as connection:
        stub, info = stub_on(connection), sidecar_pb2_grpc.SidecarServiceStub(connection)
        await stub.StartTurn(pb.StartTurnRequest(turn_id="u", session_id="s"))
        talk = Talk(stub)
        await talk.say(started("t", "s"), *EVENTS[:10])
        await until(lambda: talk.durable() == 11)
        assert await is_available(info)
        caller = Caller(stub, deadline_s)
        machine.late_s()
        cluster.send(signal.SIGSTOP)
        try:
            await go_on(talk, caller, stopped_s)
            received = talk.received()
            assert received > 11
            assert talk.durable() == 11, "nothing became durable meanwhile"
            # Callers that are gone before the store's own limits tell it nothing; the recorder does.
            assert not await is_available(info)
        finally:
            cluster.send(signal.SIGCONT)
        late_s = machine.late_s()
        back_s = time.monotonic()
        succeeded = await Caller(stub, 5.0).first_successes()
        await until(lambda: talk.durable() == received, within_s=60)
        caught_up_s = time.monotonic() - back_s
        assert await is_available(info)
        talk.stream.cancel()
        _, entries = await record_of(stub, "t")
    assert caller.late_s() < 0.1 + late_s
    assert set(caller.codes) <= {"DEADLINE_EXCEEDED", "UNAVAILABLE"}
    late_s = machine.late_s()
    assert max(succeeded.values()) < 5.0 + late_s
    assert caught_up_s < 5.0 + late_s
    ids = [entry.event.event_id for entry in entries if entry.HasField("event")]
    assert ids == ["t/0", *(event.event_id for event in EVENTS[: received - 1])]
    show(
        f"stopped for {stopped_s} s: {dict(caller.codes)}, the latest {caller.latest_s * 1000:.0f} ms after its "
        f"deadline; after the return: first success {min(succeeded.values()):.2f} s, every kind of call "
        f"{max(succeeded.values()):.2f} s, the stream durable again {caught_up_s:.2f} s"
    )


async def go_on(talk: Talk, caller: Caller, for_s: float) -> None:
    """Calls, and ten events on the stream before each round of them, each acknowledged as received."""
    ends_s = time.monotonic() + for_s
    first = 10
    while time.monotonic() < ends_s:
        if first < len(EVENTS):
            await talk.say(*EVENTS[first : first + 10])
            first += 10
            await until(lambda first=first: talk.received() == first + 1, within_s=60)  # type: ignore[misc]
        await caller.all_kinds(first)


async def is_available(info: sidecar_pb2_grpc.SidecarServiceStub) -> bool:
    """Whether the sidecar says that its store answers."""
    answer = await info.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=60)  # type: ignore[misc]
    (store,) = answer.stores
    assert store.kind == "postgres"
    return bool(store.available)
