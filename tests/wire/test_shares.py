"""What one agent may take of a sidecar that many share: its limits are its own, and its neighbours notice nothing."""

import asyncio
import contextlib
import itertools
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from sidemirror.v1 import critique_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.rpc.boundary.access import Grant, Token
from sidemirror_server.rpc.boundary.event_counts import event_counter_of
from sidemirror_server.rpc.boundary.shares import AgentLimits, Shares
from sidemirror_server.settings import load, without_effect
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import LimitReached
from sidemirror_server.vocabulary.traffic import Traffic
from tests.faults.clocks import SetClock
from tests.faults.sidecars import running
from tests.faults.stores import Fault, Switch
from tests.faults.talk import Talk
from tests.faults.waiting import until
from tests.wire.access import ACME, EVERYWHERE, INTRUDER, bearer, entry, write_access
from tests.wire.calls import said, started
from tests.wire.sidecar import sidecar
from tests.wire.test_limits import told

TOKEN = Token("checkout", b"", (Grant("acme"),), None)


def traffic() -> Traffic:
    return Traffic(SystemClock())


def settings(folder: Path, **limits: int) -> dict[str, Any]:
    access = {"access_file": str(write_access(folder / "access.json"))}
    return access | {f"limits__{name}": str(value) for name, value in limits.items()}


def test_streams_of_one_agent(tmp_path: Path) -> None:
    """Seen to fail when all agents have one share, and when a stream does not leave it."""
    with (
        sidecar(tmp_path, settings=settings(tmp_path, agent_streams=2)) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        stub = ThinkingServiceStub(channel)

        def watch(token: str, tenant: str) -> "grpc.Call":
            stream = stub.WatchTurns(pb.WatchTurnsRequest(tenant_id=tenant), metadata=bearer(token))
            stream.initial_metadata()
            return stream

        mine = [watch(ACME, "acme") for _ in range(2)]
        third = stub.WatchTurns(pb.WatchTurnsRequest(tenant_id="acme"), metadata=bearer(ACME))
        with pytest.raises(grpc.RpcError) as refused:
            next(third)
        assert told(refused.value)[:2] == ("agent_streams", "streams of acme")
        others = watch(INTRUDER, "intruder")
        assert others.is_active(), "a refused stream has ended by now"
        mine.pop().cancel()
        while True:  # the server hears of it a moment later
            try:
                next(stub.WatchTurns(pb.WatchTurnsRequest(tenant_id="acme"), metadata=bearer(ACME), timeout=0.5))
            except grpc.RpcError as error:
                if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                    break
        for stream in (*mine, others):
            stream.cancel()


async def test_a_flood_waits_and_its_neighbour_does_not(tmp_path: Path) -> None:
    """10 messages a second are the agent's; 25 on a stream take 2.3 s, and nothing is lost. Seen to fail when `pace`
    does not wait."""
    given = settings(tmp_path, agent_bytes_per_second=163_840)
    async with running(tmp_path, **given) as served, grpc.aio.insecure_channel(served.address) as channel:
        stub = ThinkingServiceStub(channel)
        stream = stub.RunTurn(metadata=bearer(ACME))
        began_s = time.monotonic()
        await stream.write(pb.RunTurnRequest(tenant_id="acme", events=[started()]))
        for _ in range(24):
            await stream.write(pb.RunTurnRequest(events=[said("again")]))
        asked_s = time.monotonic()
        await stub.StartTurn(pb.StartTurnRequest(tenant_id="intruder"), metadata=bearer(INTRUDER))
        neighbour_s = time.monotonic() - asked_s
        while True:
            response = await stream.read()
            assert isinstance(response, pb.RunTurnResponse)
            if any(directive.ack.received == 25 for directive in response.directives):
                break
        flood_s = time.monotonic() - began_s
        stream.cancel()
    assert flood_s > 2
    assert neighbour_s < flood_s / 2


async def test_others_come_between_any_two_messages_of_an_agent() -> None:
    """On however many streams it sends them, within its share. Seen to fail when all pass at once."""
    share = Shares(AgentLimits(agent_bytes_per_second=2**20), SystemClock(), traffic()).of(TOKEN)
    assert share is not None
    turns: list[int] = []
    others = 0

    async def sends() -> None:
        await share.pace(1, "RunTurn")
        turns.append(others)

    sending = [asyncio.create_task(sends()) for _ in range(5)]
    while not all(one.done() for one in sending):
        others += 1
        await asyncio.sleep(0)
    assert len(set(turns)) == 5


async def test_a_message_for_which_there_is_no_room_is_refused(tmp_path: Path) -> None:
    """By the limit's name, while another one of its agent waits: the first large message uses up 18 s of the share, and
    by then all streams are read from. Seen to fail when it waits all the same."""
    given = settings(tmp_path, agent_bytes_per_second=163_840, agent_waiting_bytes=300_000)
    async with running(tmp_path, **given) as served, grpc.aio.insecure_channel(served.address) as channel:
        stub = ThinkingServiceStub(channel)
        streams = [stub.RunTurn(metadata=bearer(ACME)) for _ in range(4)]

        async def hears(stream: Any, received: int) -> str:
            """Empty once so many events are received; the limit's name if the stream is refused."""
            try:
                while isinstance(response := await stream.read(), pb.RunTurnResponse):
                    if any(directive.ack.received == received for directive in response.directives):
                        return ""
                return str((await stream.code()).name)
            except grpc.aio.AioRpcError as error:
                return told(error)[0]

        for stream in streams:
            await stream.write(pb.RunTurnRequest(tenant_id="acme", events=[started()]))
        assert [await hears(stream, 1) for stream in streams] == [""] * 4
        await streams[0].write(pb.RunTurnRequest(events=[said("x" * 200_000)] * 15))
        assert await hears(streams[0], 16) == ""
        for stream in streams[1:]:
            await stream.write(pb.RunTurnRequest(events=[said("x" * 200_000)]))
        waiting = [asyncio.create_task(hears(stream, 2)) for stream in streams[1:]]
        refused = [await one for one in itertools.islice(asyncio.as_completed(waiting, timeout=15), 2)]
        assert refused == ["agent_waiting_bytes"] * 2
        assert sum(not one.done() for one in waiting) == 1
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def at_once(**how: bool) -> int:
    """How many messages pass one after the other, after a pause, until one has to wait, where a MiB a second may."""
    clock = SetClock()
    share = Shares(AgentLimits(agent_bytes_per_second=2**20), clock, traffic()).of(TOKEN)
    assert share is not None
    clock.advance(3600.0)
    for passed in range(30):
        sending = asyncio.create_task(share.pace(1, "S", **how))
        for _ in range(3):
            await asyncio.sleep(0)
        if not sending.done():
            sending.cancel()
            return passed
    return 30


async def test_after_a_pause_a_quarter_of_a_second_is_there_at_once() -> None:
    """Messages count as 12 KiB each. Seen to fail with a whole second's: all thirty."""
    assert await at_once() == 22


async def test_a_call_that_may_ask_a_model_counts_as_five() -> None:
    """As 64 KiB. Seen to fail when it counts as any other call does."""
    assert await at_once(asks=True) == 5


@pytest.mark.parametrize(
    ("stub", "request_type", "refused"),
    [
        (ThinkingServiceStub, pb.ReflectRequest, "agent_bytes_per_second"),
        (CritiqueServiceStub, critique_pb2.CritiqueRequest, "agent_bytes_per_second"),
        (CritiqueServiceStub, critique_pb2.EvaluateTraceRequest, "agent_bytes_per_second"),
        (ReflectiveMemoryServiceStub, memory_pb2.GenerateReflectionRequest, "agent_bytes_per_second"),
        (ReflectiveMemoryServiceStub, memory_pb2.QueryReflectionsRequest, ""),
    ],
)
async def test_which_calls_may_ask_a_model(stub: Any, request_type: Any, refused: str, tmp_path: Path) -> None:
    """At 12 KiB a second the call after one of them is four seconds away, and after another one less than a second.
    Seen to fail when a table does not say it."""
    given = settings(tmp_path, agent_bytes_per_second=12 * 1024)
    async with running(tmp_path, **given) as served, grpc.aio.insecure_channel(served.address) as channel:
        call = getattr(stub(channel), request_type.DESCRIPTOR.name.removesuffix("Request"))
        with contextlib.suppress(grpc.aio.AioRpcError):  # it is not whole
            await call(request_type(), metadata=bearer(ACME))
        info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), metadata=bearer(ACME))
        try:
            await info
            found = ""
        except grpc.aio.AioRpcError as error:
            found = told(error)[0]
    assert found == refused


async def test_events_cost_in_whatever_messages_they_come(tmp_path: Path) -> None:
    """As many events a second are the agent's in messages of ten: 200 take more than a second at 640 KiB. Seen to fail
    when bytes alone are counted."""
    given = settings(tmp_path, agent_bytes_per_second=655_360)
    async with running(tmp_path, **given) as served, grpc.aio.insecure_channel(served.address) as channel:
        stub = ThinkingServiceStub(channel)
        await stub.StartTurn(pb.StartTurnRequest(tenant_id="acme", turn_id="t"), metadata=bearer(ACME))
        began_s = time.monotonic()
        for _ in range(21):
            events = pb.ReportEventsRequest(tenant_id="acme", turn_id="t", events=[said("again")] * 10)
            await stub.ReportEvents(events, metadata=bearer(ACME))
        unary_s = time.monotonic() - began_s
        stream = stub.RunTurn(metadata=bearer(ACME))
        began_s = time.monotonic()
        await stream.write(pb.RunTurnRequest(tenant_id="acme", events=[started()]))
        for _ in range(20):
            await stream.write(pb.RunTurnRequest(events=[said("again")] * 10))
        while True:
            response = await stream.read()
            assert isinstance(response, pb.RunTurnResponse)
            if any(directive.ack.received == 201 for directive in response.directives):
                break
        stream_s = time.monotonic() - began_s
        stream.cancel()
    # 21 messages and 200 events are 1,052 KiB; the first 160 are there at once.
    assert unary_s > 0.4
    assert stream_s > 1.2


async def test_an_agent_that_is_held_back_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """One line, and one when it is over; a burst is none. Seen to fail when each look is a line, and when the waits of
    messages side by side are not summed."""
    caplog.set_level("INFO")
    clock = SetClock()
    account = Traffic(clock)
    share = Shares(AgentLimits(agent_bytes_per_second=1_000_000), clock, account).of(TOKEN)
    assert share is not None

    def minute(waited_s: float) -> None:
        share._waited(waited_s / 2, "S/M")
        clock.advance(60.0)
        share._waited(waited_s / 2, "S/M")

    def told() -> list[str]:
        return [record.message for record in caplog.records]

    minute(20.0)
    assert told() == []
    minute(40.0)
    minute(90.0)
    assert told() == ["agent_held_back"]
    line = vars(caplog.records[0])
    assert (line["token"], line["waited_s"], line["seconds"]) == ("checkout", 40.0, 60.0)
    assert line["agent_bytes_per_second"] == 1_000_000
    minute(0.0)
    assert told() == ["agent_held_back", "agent_not_held_back"]
    assert account.told().held_back == ()


async def test_an_agent_whose_load_ends_within_the_minute_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """Where waits of messages side by side add up to minutes; a burst of a few seconds is not. Seen to fail when the
    log waits for a minute, after which no message came: of two agents that doctor named it had one."""
    caplog.set_level("INFO")
    clock = SetClock()
    share = Shares(AgentLimits(agent_bytes_per_second=1_000_000), clock, Traffic(clock)).of(TOKEN)
    assert share is not None
    for _ in range(5):
        share._waited(60.0, "S/M")
        clock.advance(5.0)
    assert caplog.records == []
    clock.advance(5.0)
    share._waited(12.0, "S/M")
    (line,) = [vars(one) for one in caplog.records]
    assert (line["message"], line["waited_s"], line["seconds"]) == ("agent_held_back", 312.0, 30.0)


def test_agents_that_wait_for_a_moment_are_not_held_back() -> None:
    """Two hundred of them, whose waits together are longer than one agent's that is. Seen to fail when waits are summed
    over agents, and when those of long ago count."""
    clock = SetClock()
    account = Traffic(clock)
    clock.advance(60.0)
    for number in range(200):
        account.waited(f"agent-{number}", 1.0)
    assert account.held_back_count() == 0
    account.waited("agent-7", 35.0)
    assert account.held_back_count() == 1
    clock.advance(61.0)
    assert account.held_back_count() == 0


async def test_who_is_held_back_is_told_to_whoever_may_see_all(tmp_path: Path) -> None:
    """Seen to fail when a wait is counted for nobody."""
    everywhere = entry("platform", EVERYWHERE, ("*", "*"))
    access = write_access(tmp_path / "access.json", [entry("acme", ACME), everywhere])
    given: dict[str, Any] = {"access_file": str(access), "limits__agent_bytes_per_second": "163840"}
    async with running(tmp_path, **given) as served, grpc.aio.insecure_channel(served.address) as channel:
        stream = ThinkingServiceStub(channel).RunTurn(metadata=bearer(ACME))
        await stream.write(pb.RunTurnRequest(tenant_id="acme", events=[started()]))
        for _ in range(18):
            await stream.write(pb.RunTurnRequest(events=[said("again")]))
        info = SidecarServiceStub(channel).GetServerInfo

        async def held_back(token: str) -> list[sidecar_pb2.Sender]:
            request = sidecar_pb2.GetServerInfoRequest(tenant_id="acme")
            return list((await info(request, metadata=bearer(token))).traffic.held_back)

        while True:
            response = await stream.read()
            assert isinstance(response, pb.RunTurnResponse)
            if any(directive.ack.received == 19 for directive in response.directives):
                break
        (seen,) = await held_back(EVERYWHERE)
        assert await held_back(ACME) == []
        stream.cancel()
    assert seen.token == "acme"
    assert 0 < seen.waited.ToMicroseconds() < 60_000_000


async def test_a_unary_call_waits_for_a_second_at_most() -> None:
    share = Shares(AgentLimits(agent_calls=2, agent_bytes_per_second=100_000), SystemClock(), traffic()).of(TOKEN)
    assert share is not None
    await share.pace(75_000, "S")
    began_s = time.monotonic()
    share.check_turn()
    await share.pace(200_000, "S")
    assert time.monotonic() - began_s > 0.3
    with pytest.raises(LimitReached) as refused:
        share.check_turn()
    assert refused.value.limit == "agent_bytes_per_second"
    share.enter_call()
    share.enter_call()
    with pytest.raises(LimitReached) as refused:
        share.enter_call()
    assert (refused.value.limit, refused.value.value, refused.value.passes) == ("agent_calls", 2, True)


async def test_messages_that_wait_side_by_side_pass_one_after_the_other() -> None:
    """Seen to fail when the bytes are taken after the wait."""
    clock = SetClock()
    share = Shares(AgentLimits(agent_bytes_per_second=1_000_000), clock, traffic()).of(TOKEN)
    assert share is not None
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*[share.pace(4_000_000, "S") for _ in range(2)]), 0.01)
    clock.advance(22.5)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(share.pace(1, "S"), 0.01)
    clock.advance(2)
    await asyncio.wait_for(share.pace(1, "S"), 5)


async def test_batches_that_come_side_by_side_pass_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 32 messages with 1,000 short events each the second one's turn is after four seconds. Seen to fail when the
    events are taken after the wait: all of them pass in the first second."""
    clock = SetClock()
    share = Shares(AgentLimits(agent_bytes_per_second=1024 * 1024), clock, traffic()).of(TOKEN)
    assert share is not None
    passed_s: list[float] = []
    due: list[tuple[float, asyncio.Event]] = []

    async def sleep(seconds: float) -> None:
        due.append((clock.monotonic_s() + seconds, asyncio.Event()))
        await due[-1][1].wait()

    own = SimpleNamespace(sleep=sleep, get_running_loop=asyncio.get_running_loop)
    monkeypatch.setattr("sidemirror_server.rpc.boundary.shares.asyncio", own)
    began_s = clock.monotonic_s()

    async def batch() -> None:
        await share.pace(30_000, "S", events=1_000)
        passed_s.append(clock.monotonic_s() - began_s)

    batches = [asyncio.create_task(batch()) for _ in range(32)]
    for _ in range(130):
        await asyncio.sleep(0)
        for at_s, event in due:
            if at_s <= clock.monotonic_s():
                event.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.advance(1.0)
    assert sum(at_s <= 5 for at_s in passed_s) == 2
    await asyncio.gather(*batches)
    assert 120 < passed_s[-1] < 123


def test_events_are_counted_before_a_request_is_parsed() -> None:
    """Seen to fail when all fields count, when a long number is read as a short one, and when fields have no bound."""
    count = event_counter_of(pb.RunTurnRequest)
    for request in (
        pb.RunTurnRequest(),
        pb.RunTurnRequest(tenant_id="acme", project_id="p" * 128, events=[said("x" * length) for length in range(300)]),
        pb.RunTurnRequest(events=[pb.TurnEvent()] * 1_000, request_id="r", tenant_id="t"),
        pb.RunTurnRequest(resume=pb.TurnResume(turn_id="t"), events=[started(), said("x" * 20_000)]),
    ):
        assert count(request.SerializeToString()) == len(request.events)
    event, batch = b"\x22\x00", pb.RunTurnRequest(events=[said("again")] * 10).SerializeToString()
    unknown = b"\x50\x80\x01" + b"\x51" + bytes(8) + b"\x55" + bytes(4) + b"\x82\x7d\x01x"
    raw = unknown + event + b"\xa2\x80\x00\x00"
    assert count(raw) == len(pb.RunTurnRequest.FromString(raw).events) == 2
    # What is cut off counts as far as it is read, and what hides events counts as full of them.
    assert count(batch[:-1]) == 10
    assert count(batch + b"\x22\xff") == 10
    assert count(b"\x22" + b"\xff" * 20) == 0
    assert count(b"\x53" + event + b"\x54") == 1_000
    assert count(event * 1_000_000) == 1_000
    assert count(b"\x50\x00" * 1_000_000) == 1_000
    assert event_counter_of(pb.WatchTurnsRequest)(batch) == 0


async def test_what_waits_in_memory_is_bounded() -> None:
    """From half on no stream is read from; one that was read from already is refused at the whole. Seen to fail when
    nothing is counted, and when what has had its turn stays counted."""
    limits = AgentLimits(agent_bytes_per_second=100_000, agent_waiting_bytes=50_000)
    share = Shares(limits, SystemClock(), traffic()).of(TOKEN)
    assert share is not None
    await share.pace(105_000, "S")
    alone = asyncio.create_task(share.pace(60_000, "S"))
    await asyncio.sleep(0)
    with pytest.raises(LimitReached) as refused:
        await share.pace(1, "S")
    assert (refused.value.limit, refused.value.value, refused.value.passes) == ("agent_waiting_bytes", 50_000, True)
    reads = asyncio.create_task(share.room())
    await asyncio.sleep(0)
    assert not reads.done(), "a stream is read from while more than half waits"
    await alone
    await asyncio.wait_for(reads, 5)
    small = [asyncio.create_task(share.pace(12_000, "S")) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.wait_for(share.room(), 0.1)
    for task in small:
        task.cancel()
    await asyncio.gather(*small, return_exceptions=True)
    # None of the cancelled ones is counted, so that there is room for one message, and for no second one.
    again = [asyncio.create_task(share.pace(30_000, "S")) for _ in range(2)]
    done, waits = await asyncio.wait(again, timeout=0.2)
    assert [type(task.exception()) for task in done] == [LimitReached]
    for task in waits:
        task.cancel()
    await asyncio.gather(*waits, return_exceptions=True)


def test_whoever_has_no_token_of_its_own_has_no_share() -> None:
    shares = Shares(AgentLimits(agent_calls=1), SystemClock(), traffic())
    assert shares.of(None) is None
    assert shares.of(Token("http", b"", (Grant("*"),), None, is_shared=True)) is None
    assert Shares(AgentLimits(), SystemClock(), traffic()).of(TOKEN) is None
    assert shares.of(TOKEN) is shares.of(TOKEN)


def test_limits_of_agents_need_an_access_file() -> None:
    flags = {"limits__agent_calls": "4"}
    told_of = without_effect(load(flags, {}), flags, {})
    assert told_of == (("SIDEMIRROR_LIMITS__AGENT_CALLS", "SIDEMIRROR_ACCESS_FILE"),)


async def test_one_projects_backlog_leaves_room_for_the_others(tmp_path: Path) -> None:
    """While the store is away. Seen to fail when only the sum is limited."""
    switch = Switch()
    async with running(tmp_path, switch=switch, limits__project_backlog_bytes="20000") as served:
        loud, calm = Talk(served.stub), Talk(served.stub)
        for talk, project in ((loud, "loud"), (calm, "calm")):
            await talk.stream.write(pb.RunTurnRequest(project_id=project, events=[started()]))
        await until(lambda: loud.durable() == calm.durable() == 1)
        switch.turn(Fault.AWAY)
        await loud.say(said("x" * 30_000))
        await until(lambda: loud.received() == 2)
        await loud.say(said("one more"))
        assert await loud.broken() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await calm.say(said("hello"))
        await until(lambda: calm.received() == 2)
        switch.turn(Fault.NONE)
        await until(lambda: calm.durable() == 2)
        calm.stream.cancel()
