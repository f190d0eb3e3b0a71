"""Postgres stops answering, as a machine does whose disk hangs, and goes on later."""

import asyncio
import signal
import time
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.agents import failing_calls, record_of, started
from tests.faults.figures import show
from tests.faults.sidecars import Stub, channel, running
from tests.faults.talk import Talk
from tests.faults.waiting import until
from tests.postgres.databases import Databases

EVENTS = failing_calls("t", 200)


def calls(number: int) -> dict[str, object]:
    return {
        "CreateSession": pb.CreateSessionRequest(request_id=f"r{number}"),
        "GetSession": pb.GetSessionRequest(session_id="s"),
        "ListSessions": pb.ListSessionsRequest(),
        "StartTurn": pb.StartTurnRequest(session_id="s2"),
        "ReportEvents": pb.ReportEventsRequest(turn_id="u", events=[pb.TurnEvent(user_message=pb.UserMessage(text="x"))]),
        "GetTurn": pb.GetTurnRequest(turn_id="t"),
        "ListTurns": pb.ListTurnsRequest(),
    }


async def timed(stub: Stub, name: str, request: object, deadline_s: float) -> tuple[str, float]:
    """How a call ended, and how long it took."""
    began_s = time.monotonic()
    try:
        await getattr(stub, name)(request, timeout=deadline_s)
        code = "OK"
    except grpc.aio.AioRpcError as error:
        code = error.code().name
    return code, time.monotonic() - began_s


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("stopped_s", "deadline_s"),
    [
        pytest.param(7.0, 0.7, id="7-s"),
        pytest.param(30.0, 1.0, id="30-s", marks=pytest.mark.long),
        pytest.param(30.0, 12.0, id="30-s-and-patient-callers", marks=pytest.mark.long),
    ],
)
async def test_a_stopped_postgres(stopped_s: float, deadline_s: float, durable: Databases, tmp_path: Path) -> None:
    """Every call returns by its deadline + 100 ms; the turn goes on while `durable` stands still; the first success
    comes within 5 s of Postgres' return, without a restart of anything."""
    cluster = durable.cluster
    url = cluster.url("sidecar", await durable.create())
    async with running(tmp_path, database_url=url) as served, channel(served.address) as connection:
        info = sidecar_pb2_grpc.SidecarServiceStub(connection)
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="u", session_id="s"))
        talk = Talk(served.stub)
        await talk.say(started("t", "s"), *EVENTS[:10])
        await until(lambda: talk.durable() == 11)
        assert await is_available(info)

        cluster.send(signal.SIGSTOP)
        try:
            began_s = time.monotonic()
            codes, late_s = [], []
            first = 10
            while time.monotonic() - began_s < stopped_s:
                if first < 190:
                    await talk.say(*EVENTS[first : first + 10])
                    first += 10
                    await until(lambda first=first: talk.received() == first + 1, within_s=0.5)  # type: ignore[misc]
                ended = await asyncio.gather(
                    *(timed(served.stub, name, request, deadline_s) for name, request in calls(first).items())
                )
                codes += [code for code, _ in ended]
                late_s += [took_s - deadline_s for _, took_s in ended]
            received = talk.received()
            assert talk.durable() < received, "nothing became durable meanwhile"
            durable_meanwhile = talk.durable()
            assert not await is_available(info) or deadline_s < 5
        finally:
            cluster.send(signal.SIGCONT)
        back_s = time.monotonic()
        succeeded: dict[str, float] = {}
        while len(succeeded) < len(calls(0)):
            for name, request in calls(1000).items():
                if name not in succeeded and (await timed(served.stub, name, request, 0.5))[0] == "OK":
                    succeeded[name] = time.monotonic() - back_s
        caught_up_s = time.monotonic() - back_s + await until(lambda: talk.durable() == received, within_s=5)
        assert await is_available(info)
        talk.stream.cancel()
        _, entries = await record_of(served.stub, "t")
    assert max(late_s) < 0.1
    assert set(codes) <= {"DEADLINE_EXCEEDED", "UNAVAILABLE"}
    assert durable_meanwhile == 11
    assert max(succeeded.values()) < 5.0
    assert caught_up_s < 5.0
    ids = [entry.event.event_id for entry in entries if entry.HasField("event")]
    assert ids == ["t/0", *(event.event_id for event in EVENTS[: received - 1])]
    show(
        f"stopped for {stopped_s} s: {len(codes)} calls, the latest {max(late_s) * 1000:.0f} ms after its deadline; "
        f"after the return: first success {min(succeeded.values()):.2f} s, every kind of call "
        f"{max(succeeded.values()):.2f} s, the stream durable again {caught_up_s:.2f} s"
    )


async def is_available(info: sidecar_pb2_grpc.SidecarServiceStub) -> bool:
    answer = await info.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=1)  # type: ignore[misc]
    (store,) = answer.stores
    assert store.kind == "postgres"
    return bool(store.available)
