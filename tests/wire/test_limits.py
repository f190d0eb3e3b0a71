"""What the server takes on: each limit by its setting, refused with the limit's name and when to come again."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sidemirror.v1 import goal_reflection_pb2, goal_reflection_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import reflective_memory_pb2_grpc as memory_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.models.language_model import LanguageModel
from sidemirror_server.rpc.boundary import streams
from sidemirror_server.settings import Limits
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from tests.faults import floods
from tests.faults.models import NeverAnswers
from tests.wire.calls import LIMIT_REACHED, Refusal, bad_field, finished, refusal_of, refused, said, started
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar, thinking
from tests.wire.waiting import until


def test_the_defaults() -> None:
    assert Limits() == Limits(
        message_bytes=4_194_304,
        text_bytes=262_144,
        events_per_turn=10_000,
        turn_bytes=67_108_864,
        concurrent_calls=1_000,
        open_streams=8_000,
        stream_age_s=86_400.0,
        http_connections=256,
        http_requests_per_second=100.0,
        requests_per_second=5_000.0,
        queued_jobs=10_000,
        project_policies=1_000,
        tombstones=1_000_000,
        streams_per_connection=100,
        idle_stream_s=600.0,
        backlog_bytes=67_108_864,
        agent_calls=0,
        agent_streams=0,
        agent_bytes_per_second=0,
        agent_waiting_bytes=0,
        project_backlog_bytes=0,
    )


@contextlib.contextmanager
def limited(
    folder: Path, model: LanguageModel | None = None, **limits: float
) -> Iterator[tuple[SidecarThread, ThinkingServiceStub]]:
    given = {f"limits__{name}": str(value) for name, value in limits.items()}
    with sidecar(folder, settings=given, model=model) as server, thinking(server) as stub:
        yield server, stub


def told(error: grpc.RpcError) -> tuple[str, str, float]:
    """Of a refusal for a limit: the limit's name, what is limited, and seconds until there may be room again."""
    assert refusal_of(error) == LIMIT_REACHED
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None
    info, quota, retry = error_details_pb2.ErrorInfo(), error_details_pb2.QuotaFailure(), error_details_pb2.RetryInfo()
    for detail in status.details:
        for kind in (info, quota, retry):
            if detail.Is(kind.DESCRIPTOR):
                detail.Unpack(kind)
    assert quota.violations[0].description == f"{info.metadata['limit']} is {info.metadata['value']}"
    return info.metadata["limit"], quota.violations[0].subject, retry.retry_delay.seconds


def test_open_streams(tmp_path: Path) -> None:
    """Seen to fail when `enter_stream` only counts."""
    with limited(tmp_path, open_streams=2) as (_, stub):
        request = pb.WatchTurnsRequest(new_only=True)
        open_ = [stub.WatchTurns(request, timeout=PATIENCE_S) for _ in range(2)]
        assert [next(watch).entry.cursor for watch in open_]
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.WatchTurns(request, timeout=PATIENCE_S))
        assert told(caught.value) == ("open_streams", "streams of this server", 1)
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.RunTurn(iter([pb.RunTurnRequest(events=[started()])]), timeout=PATIENCE_S))
        assert told(caught.value)[0] == "open_streams"
        # Calls are counted by themselves, and a stream that ends makes room.
        stub.ListSessions(pb.ListSessionsRequest(), timeout=PATIENCE_S)
        open_[0].cancel()

        def there_is_room() -> bool:
            try:
                return bool(next(stub.WatchTurns(request, timeout=PATIENCE_S)))
            except grpc.RpcError:
                return False

        until(there_is_room)


def test_concurrent_calls(tmp_path: Path) -> None:
    """One call waits for its events' consequences while another comes. Seen to fail when `enter_call` only counts."""
    with limited(tmp_path, concurrent_calls=1) as (server, stub):
        plan = stub.StartTurn(pb.StartTurnRequest(turn_id="t"), timeout=PATIENCE_S).plan
        slow = Slow(server)
        with slow:
            waiting = stub.ListTurns.future(pb.ListTurnsRequest(), timeout=PATIENCE_S)
            until(lambda: slow.entered)
            with pytest.raises(grpc.RpcError) as caught:
                stub.ListSessions(pb.ListSessionsRequest(), timeout=PATIENCE_S)
            assert told(caught.value) == ("concurrent_calls", "calls of this server", 1)
        assert [turn.turn_id for turn in waiting.result().turns] == [plan.turn_id]
        stub.ListSessions(pb.ListSessionsRequest(), timeout=PATIENCE_S)


class Slow:
    """The server's log answers ListTurns only once this ends."""

    def __init__(self, server: SidecarThread) -> None:
        self._server = server
        self.entered = False

    def __enter__(self) -> None:
        self._go_on = asyncio.Event()
        self._patch = pytest.MonkeyPatch()
        for store in (SqliteTurnLog, PostgresTurnLog):
            self._patch.setattr(store, "heads", self._slow(store.heads))

    def _slow(self, answers: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def slowly(*arguments: Any, **more: Any) -> Any:
            self.entered = True
            await self._go_on.wait()
            return await answers(*arguments, **more)

        return slowly

    def __exit__(self, *_: object) -> None:
        self._server._loop.call_soon_threadsafe(self._go_on.set)
        self._patch.undo()


def test_requests_per_second_of_a_tenant(tmp_path: Path) -> None:
    """Another tenant has an allowance of its own. Seen to fail when `count_request` does not take from it."""
    with limited(tmp_path, requests_per_second=5) as (_, stub):
        request = pb.ListSessionsRequest(tenant_id="acme")

        def refused_at_once() -> grpc.RpcError | None:
            for _ in range(50):
                try:
                    stub.ListSessions(request, timeout=PATIENCE_S)
                except grpc.RpcError as error:
                    return error
            return None

        for _ in range(5):
            stub.ListSessions(request, timeout=PATIENCE_S)
        error = refused_at_once()
        assert error is not None
        assert told(error) == ("requests_per_second", "tenant acme", 1)
        stub.ListSessions(pb.ListSessionsRequest(tenant_id="other"), timeout=PATIENCE_S)

        def there_is_room() -> bool:
            try:
                stub.ListSessions(request, timeout=PATIENCE_S)
            except grpc.RpcError:
                return False
            return True

        until(there_is_room)


def test_no_requests_per_second(tmp_path: Path) -> None:
    with limited(tmp_path, requests_per_second=0) as (_, stub):
        for _ in range(20):
            stub.ListSessions(pb.ListSessionsRequest(), timeout=PATIENCE_S)


def test_the_age_of_a_watch(tmp_path: Path) -> None:
    """It says so, with a cursor to go on from, and ends. Seen to fail when `_tick` does not look at the age."""
    with limited(tmp_path, stream_age_s=0.2) as (_, stub):
        watch = stub.WatchTurns(pb.WatchTurnsRequest(new_only=True), timeout=PATIENCE_S)
        assert next(watch).entry.cursor
        closing = next(watch).entry
        assert closing.directive.closing.reason.startswith("the stream has been open for 0.2 s")
        assert closing.cursor
        with pytest.raises(grpc.RpcError) as caught:
            next(watch)
        assert told(caught.value) == ("stream_age_s", "this stream", 1)


def test_the_age_of_a_turns_stream(tmp_path: Path) -> None:
    """Everything that was sent is acknowledged as durable before it ends, and the turn goes on on a new stream."""
    with limited(tmp_path, stream_age_s=0.3) as (_, stub):
        heard: list[pb.TurnDirective] = []
        responses = stub.RunTurn(_never_closed(started(), said("hello")), timeout=PATIENCE_S)
        with pytest.raises(grpc.RpcError) as caught:
            heard.extend(directive for response in responses for directive in response.directives)
        assert told(caught.value)[0] == "stream_age_s"
        assert [directive.ack.durable for directive in heard if directive.HasField("ack")][-1] == 2
        assert [directive.HasField("closing") for directive in heard].count(True) == 1
        resume = pb.TurnResume(turn_id=heard[0].turn_id)
        again = stub.RunTurn(iter([pb.RunTurnRequest(resume=resume, events=[finished()])]), timeout=PATIENCE_S)
        assert list(again)[-1].directives[-1].turn_summary.event_count == 3


def _never_closed(*events: pb.TurnEvent) -> Iterator[pb.RunTurnRequest]:
    yield pb.RunTurnRequest(events=events)
    threading.Event().wait(PATIENCE_S / 8)


@pytest.mark.parametrize("restart", [False, True], ids=["in memory", "from the store"])
def test_bytes_of_a_turn(restart: bool, tmp_path: Path) -> None:
    """The end of a turn is let in. Seen to fail when `_check` does not look at the bytes and when `restore` does not
    count them."""
    with contextlib.ExitStack() as stack:
        _, stub = stack.enter_context(limited(tmp_path, turn_bytes=2_000))
        stub.StartTurn(pb.StartTurnRequest(turn_id="t"), timeout=PATIENCE_S)
        stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[said("x" * 3_000, "e")]), timeout=PATIENCE_S)
        if restart:
            stack.pop_all().close()
            _, stub = stack.enter_context(limited(tmp_path, turn_bytes=2_000))
        more = pb.ReportEventsRequest(turn_id="t", events=[said("y")])
        assert refused(stub.ReportEvents, more) == LIMIT_REACHED
        # What the turn has already is not more.
        stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[said("x", "e")]), timeout=PATIENCE_S)
        assert stub.FinishTurn(pb.FinishTurnRequest(turn_id="t"), timeout=PATIENCE_S).summary.event_count == 3


def test_bytes_of_a_text(tmp_path: Path) -> None:
    """Seen to fail when `_field` does not look at the setting."""
    with limited(tmp_path, text_bytes=1_000) as (_, stub):
        stub.StartTurn(pb.StartTurnRequest(turn_id="t", task="x" * 1_000), timeout=PATIENCE_S)
        assert refused(stub.StartTurn, pb.StartTurnRequest(task="x" * 1_001)) == bad_field("task")
        event = pb.ReportEventsRequest(turn_id="t", events=[said("é" * 501)])
        assert refused(stub.ReportEvents, event) == bad_field("events[0].user_message.text")


def test_bytes_of_a_message(tmp_path: Path) -> None:
    with limited(tmp_path, message_bytes=10_000) as (_, stub):
        stub.StartTurn(pb.StartTurnRequest(task="x" * 9_000), timeout=PATIENCE_S)
        with pytest.raises(grpc.RpcError) as caught:
            stub.StartTurn(pb.StartTurnRequest(task="x" * 11_000), timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_events_of_a_turn(tmp_path: Path) -> None:
    with limited(tmp_path, events_per_turn=3) as (_, stub):
        stub.StartTurn(pb.StartTurnRequest(turn_id="t"), timeout=PATIENCE_S)
        stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[said("1"), said("2")]), timeout=PATIENCE_S)
        more = pb.ReportEventsRequest(turn_id="t", events=[said("3")])
        assert refused(stub.ReportEvents, more) == LIMIT_REACHED


def test_queued_jobs(tmp_path: Path) -> None:
    """Goal reports that wait; one that is there already may come again, and another project has room of its own. Seen
    to fail when `Bounded.put` does not look at the count."""
    with (
        limited(tmp_path, queued_jobs=2, model=NeverAnswers()) as (server, _),
        grpc.insecure_channel(server.address) as channel,
    ):
        stub = goal_reflection_pb2_grpc.GoalReflectionServiceStub(channel)
        for number in range(2):
            stub.ReportGoal(goal_report(number), timeout=PATIENCE_S)
        with pytest.raises(grpc.RpcError) as caught:
            stub.ReportGoal(goal_report(2), timeout=PATIENCE_S)
        assert told(caught.value) == ("queued_jobs", "goal_report of tenant default, project default", 1)
        stub.ReportGoal(goal_report(1), timeout=PATIENCE_S)
        stub.ReportGoal(goal_report(3, "other"), timeout=PATIENCE_S)


def goal_report(number: int, project_id: str = "") -> goal_reflection_pb2.ReportGoalRequest:
    return goal_reflection_pb2.ReportGoalRequest(
        project_id=project_id,
        request_id=f"r{number}",
        goal_id=f"g{number}",
        objective="find it",
        state=goal_reflection_pb2.GOAL_STATE_FAILED,
    )


async def _never(*_: Any) -> Any:
    """A store that does not answer."""
    await asyncio.Event().wait()


@contextlib.contextmanager
def memories(server: SidecarThread) -> Iterator[memory_grpc.ReflectiveMemoryServiceStub]:
    with grpc.insecure_channel(server.address) as channel:
        yield memory_grpc.ReflectiveMemoryServiceStub(channel)


def test_the_age_of_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no way to say `closing`; how it ends says why. Seen to fail when `server_stream` enters no `Lasting`."""
    for store in (SqliteMemories, PostgresMemories):
        monkeypatch.setattr(store, "list", _never)
    with limited(tmp_path, stream_age_s=0.2) as (server, _), memories(server) as stub:
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.ExportReflections(memory_pb.ExportReflectionsRequest(), timeout=PATIENCE_S))
        assert told(caught.value) == ("stream_age_s", "this stream", 1)
        until(lambda: server.admission.streams == 0)


def _lines(*requests: memory_pb.ImportReflectionsRequest) -> Iterator[memory_pb.ImportReflectionsRequest]:
    yield from requests
    threading.Event().wait(PATIENCE_S / 8)


@pytest.mark.parametrize("requests", [(), (memory_pb.ImportReflectionsRequest(lines=[""]),)], ids=["silent", "begun"])
@pytest.mark.parametrize("limit", ["stream_age_s", "idle_stream_s"])
def test_the_age_of_an_import(limit: str, requests: tuple[Any, ...], tmp_path: Path) -> None:
    """Also of one that never says whose it is. Seen to fail when `_streams` enters no `Lasting`."""
    given = {f"limits__{limit}": "0.2"}
    with sidecar(tmp_path, settings=given) as server, memories(server) as stub:
        with pytest.raises(grpc.RpcError) as caught:
            stub.ImportReflections(_lines(*requests), timeout=PATIENCE_S)
        assert told(caught.value) == (limit, "this stream", 1)
        until(lambda: server.admission.streams == 0)


def test_a_turns_stream_that_never_begins(tmp_path: Path) -> None:
    """Seen to fail when `_streams` enters no `Lasting`."""
    with limited(tmp_path, idle_stream_s=0.2) as (server, stub):
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.RunTurn(_never_closed_silent(), timeout=PATIENCE_S))
        assert told(caught.value) == ("idle_stream_s", "this stream", 1)
        until(lambda: server.admission.streams == 0)


def _never_closed_silent() -> Iterator[pb.RunTurnRequest]:
    threading.Event().wait(PATIENCE_S / 8)
    yield from ()


def test_the_age_of_a_stream_that_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader takes nothing (it never gives room beyond HTTP/2's first 64 KiB), so that it cannot even be told. Seen
    to fail when `_tick` does not cancel the task."""
    monkeypatch.setattr(streams, "_STAYS_S", 0.2)
    with (
        limited(tmp_path, stream_age_s=2.0) as (server, stub),
        socket.socket(socket.AF_UNIX) as reader,
    ):
        stub.StartTurn(pb.StartTurnRequest(turn_id="t"), timeout=PATIENCE_S)
        for _ in range(10):
            event = said("x" * 200_000)
            stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[event]), timeout=PATIENCE_S)
        reader.connect(server.address.removeprefix("unix:"))
        reader.sendall(floods.watching(1, pb.WatchTurnsRequest()))
        until(lambda: server.admission.streams == 1)
        until(lambda: server.admission.streams == 0)


def test_an_import_ends_when_the_server_goes_away(tmp_path: Path) -> None:
    """At once, so that its client goes on elsewhere: what was imported is known there. Seen to fail when `_look` does
    not ask whether the server goes away: CANCELLED, at the end of the grace period."""
    server = SidecarThread(tmp_path, settings={"grace_s": "6"})
    server.start()
    with memories(server) as stub:
        lines = _lines(memory_pb.ImportReflectionsRequest(lines=[""]))
        answer = stub.ImportReflections.future(lines, timeout=PATIENCE_S)
        until(lambda: server.admission.streams == 1)
        server.stop()
        error = answer.exception()
        assert isinstance(error, grpc.RpcError)
        assert refusal_of(error) == Refusal(grpc.StatusCode.UNAVAILABLE, "DRAINING")
