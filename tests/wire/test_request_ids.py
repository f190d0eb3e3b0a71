"""The same request_id: the same content is answered the same for 24 hours, other content is refused."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.vocabulary.clock import SystemClock
from tests.wire.calls import (
    ALREADY_EXISTS,
    MEDIUM,
    NOT_FOUND,
    REUSED,
    called,
    entries,
    failed,
    kinds,
    refused,
    said,
    stored,
)
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar, thinking
from tests.wire.waiting import until

Raw = Callable[[Message], bytes]
HOURS = 3600.0


class ShiftedClock(SystemClock):
    """The machine's clocks, moved on by hand: time passes, for a database that goes on with them too."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now_us(self) -> int:
        return super().now_us() + int(self.ahead_s * 1e6)

    def monotonic_s(self) -> float:
        return time.monotonic() + self.ahead_s


def raw_method(channel: grpc.Channel, name: str) -> Raw:
    """A method that hands out its answer as the bytes that came."""
    path = f"/sidemirror.v1.ThinkingService/{name}"
    method: Any = channel.unary_unary(
        path, request_serializer=lambda message: message.SerializeToString(), response_deserializer=bytes
    )
    return lambda request: method(request, timeout=PATIENCE_S)


def write_requests(turn_id: str) -> dict[str, tuple[Message, Message]]:
    """For each write: a request, and another under the same id. All can be made on a session with one open turn."""
    rid: dict[str, Any] = {"request_id": "r", "tenant_id": "t"}
    return {
        "CreateSession": (
            pb.CreateSessionRequest(**rid, config=pb.ThinkingConfig(level=pb.THINK_LEVEL_LOW)),
            pb.CreateSessionRequest(**rid),
        ),
        "UpdateSession": (
            pb.UpdateSessionRequest(**rid, session_id="s", config=pb.ThinkingConfig(reflect_every=2)),
            pb.UpdateSessionRequest(**rid, session_id="s", config=pb.ThinkingConfig(reflect_every=3)),
        ),
        "StartTurn": (
            pb.StartTurnRequest(**rid, session_id="s", task="one", provider="anthropic", model="claude-opus-4-5"),
            pb.StartTurnRequest(**rid, session_id="s", task="other"),
        ),
        "ReportEvents": (
            pb.ReportEventsRequest(**rid, turn_id=turn_id, events=[called("sql"), failed(), said("so")]),
            pb.ReportEventsRequest(**rid, turn_id=turn_id, events=[said("other")]),
        ),
        "Reflect": (
            pb.ReflectRequest(**rid, turn_id=turn_id),
            pb.ReflectRequest(**rid, turn_id=turn_id, messages=[common_pb2.Message(content="other")]),
        ),
        "FinishTurn": (
            pb.FinishTurnRequest(**rid, turn_id=turn_id, score=0.5),
            pb.FinishTurnRequest(**rid, turn_id=turn_id, score=0.6),
        ),
        "DeleteSession": (
            pb.DeleteSessionRequest(**rid, session_id="doomed"),
            pb.DeleteSessionRequest(**rid, session_id="s"),
        ),
    }


def with_an_open_turn(stub: ThinkingServiceStub) -> str:
    stub.CreateSession(pb.CreateSessionRequest(tenant_id="t", session_id="doomed"))
    return stub.StartTurn(pb.StartTurnRequest(tenant_id="t", session_id="s", config=MEDIUM)).plan.turn_id


@pytest.fixture
def own(tmp_path: Path) -> Iterator[SidecarThread]:
    with sidecar(tmp_path) as server:
        yield server


WRITES = tuple(write_requests(""))


def until_said(stub: ThinkingServiceStub, method: str, request: Any) -> None:
    """Waits until the record has why nothing was told of a failure, which is looked up beside the call."""
    if method == "ReportEvents":
        until(lambda: "silence" in kinds(entries(stub, request.turn_id, "t")))


def test_every_write_is_tried_here() -> None:
    methods = pb.DESCRIPTOR.services_by_name["ThinkingService"].methods
    with_id = {method.name for method in methods if "request_id" in method.input_type.fields_by_name}
    assert set(WRITES) == with_id - {"RunTurn"}


@pytest.mark.parametrize("method", WRITES)
def test_the_same_request_is_answered_the_same(own: SidecarThread, method: str) -> None:
    with grpc.insecure_channel(own.address) as channel:
        stub = ThinkingServiceStub(channel)
        request, other = write_requests(with_an_open_turn(stub))[method]
        before = stored(stub, "t")
        answer = raw_method(channel, method)(request)
        until_said(stub, method, request)
        after = stored(stub, "t")
        assert after != before, "`stored` does not look at what this write changes"
        # What lies in between does not matter.
        stub.StartTurn(pb.StartTurnRequest(tenant_id="elsewhere"))
        assert raw_method(channel, method)(request) == answer
        assert stored(stub, "t") == after
        assert refused(lambda: getattr(stub, method)(other)) == REUSED
        assert stored(stub, "t") == after
        # In another scope, or by another method, it is another request.
        scoped = type(request).FromString(request.SerializeToString())
        scoped.tenant_id = "u"  # type: ignore[attr-defined]
        if method in {"CreateSession", "StartTurn"}:
            assert raw_method(channel, method)(scoped) != answer
        else:
            assert refused(lambda: getattr(stub, method)(scoped)) == NOT_FOUND


@pytest.mark.parametrize("method", WRITES)
def test_ten_at_once_have_one_effect(own: SidecarThread, method: str) -> None:
    with grpc.insecure_channel(own.address) as channel, ThreadPoolExecutor(10) as pool:
        stub = ThinkingServiceStub(channel)
        request, _ = write_requests(with_an_open_turn(stub))[method]
        before = len(stored(stub, "t"))
        send = raw_method(channel, method)
        answers = set(pool.map(lambda _: send(request), range(10)))
        assert len(answers) == 1
        # A session; its update; a turn with start and plan; three events and why nothing was told of the one that
        # failed; claim and reflection; end and summary.
        grown = {"CreateSession": 1, "UpdateSession": 0, "StartTurn": 3, "ReportEvents": 4, "Reflect": 2}
        grown |= {"FinishTurn": 2, "DeleteSession": -1}
        if method == "ReportEvents":  # the last one is looked up beside the call
            until(lambda: len(stored(stub, "t")) - before >= grown[method])
        assert len(stored(stub, "t")) - before == grown[method]


@pytest.mark.parametrize("method", WRITES)
def test_after_a_restart_it_is_still_the_same(tmp_path: Path, method: str) -> None:
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        stub = ThinkingServiceStub(channel)
        request, other = write_requests(with_an_open_turn(stub))[method]
        answer = raw_method(channel, method)(request)
        until_said(stub, method, request)
        after = stored(stub, "t")
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        stub = ThinkingServiceStub(channel)
        assert raw_method(channel, method)(request) == answer
        assert stored(stub, "t") == after
        assert refused(lambda: getattr(stub, method)(other)) == REUSED


def test_a_failed_try_does_not_bind_its_id(stub: ThinkingServiceStub) -> None:
    rid: dict[str, Any] = {"request_id": "tried", "tenant_id": "tries"}
    events = pb.ReportEventsRequest(**rid, turn_id="to come", events=[said("x")])
    assert refused(lambda: stub.ReportEvents(events)) == NOT_FOUND
    assert refused(lambda: stub.StartTurn(pb.StartTurnRequest(**rid, provider="p" * 300)))
    assert stub.StartTurn(pb.StartTurnRequest(**rid, turn_id="to come")).plan.turn_id == "to come"
    assert stub.ReportEvents(events).ack.durable == 1
    again = pb.ReportEventsRequest(**rid, turn_id="to come", events=[said("y")])
    assert refused(lambda: stub.ReportEvents(again)) == REUSED


@pytest.mark.parametrize("ahead_s", [23.9 * HOURS, 24.1 * HOURS])
def test_an_id_is_bound_for_24_hours(tmp_path: Path, ahead_s: float) -> None:
    clock = ShiftedClock()
    with sidecar(tmp_path, clock=clock) as server, thinking(server) as stub:
        session = pb.CreateSessionRequest(request_id="r", config=MEDIUM)
        turn = pb.StartTurnRequest(request_id="r", session_id="s", task="first")
        made, plan = stub.CreateSession(session).session, stub.StartTurn(turn).plan
        clock.ahead_s = ahead_s
        other_session = pb.CreateSessionRequest(request_id="r")
        other_turn = pb.StartTurnRequest(request_id="r", session_id="s", task="second")
        if ahead_s < 24 * HOURS:
            assert refused(lambda: stub.CreateSession(other_session)) == REUSED
            assert refused(lambda: stub.StartTurn(other_turn)) == REUSED
            assert stub.CreateSession(session).session == made
            assert stub.StartTurn(turn).plan == plan
            return
        fresh = stub.CreateSession(other_session).session
        assert fresh.session_id != made.session_id
        assert fresh.config.level == pb.THINK_LEVEL_OFF
        later = stub.StartTurn(other_turn).plan
        assert (later.turn_count, later.turn_id != plan.turn_id) == (2, True)
        assert stub.GetTurn(pb.GetTurnRequest(turn_id=later.turn_id)).turn.task == "second"


def test_a_batch_sent_twice_on_a_stream_is_recorded_once(stub: ThinkingServiceStub) -> None:
    begin = pb.RunTurnRequest(
        request_id="b0",
        events=[pb.TurnEvent(turn_id="twice", turn_started=pb.TurnStarted(session_id="twice")), said("a")],
    )
    batch = pb.RunTurnRequest(request_id="b1", events=[called("t"), failed(), said("b")])
    unnamed = pb.RunTurnRequest(events=[said("c")])

    first = list(stub.RunTurn(iter([begin, batch, batch, unnamed, unnamed]), timeout=PATIENCE_S))
    # The stream was cut off before it was acknowledged: the agent sends all of it again.
    second = list(stub.RunTurn(iter([begin, batch]), timeout=PATIENCE_S))
    resumed = pb.RunTurnRequest(resume=pb.TurnResume(turn_id="twice"), request_id="b1", events=batch.events)
    third = list(stub.RunTurn(iter([resumed]), timeout=PATIENCE_S))

    found = entries(stub, "twice")
    assert kinds(found).count("silence") == 1
    assert [kind for kind in kinds(found) if kind != "silence"] == [
        *("turn_started", "turn_plan", "user_message", "tool_called", "tool_failed"),
        *("user_message", "user_message", "user_message"),
    ]
    assert len({entry.event.event_id for entry in found if entry.HasField("event")}) == 7
    # What the turn has already is acknowledged like the rest.
    for responses, events in ((first, 10), (second, 5), (third, 3)):
        acks = [
            directive.ack for response in responses for directive in response.directives if directive.HasField("ack")
        ]
        assert (acks[-1].received, acks[-1].durable) == (events, events)
    assert second[0].directives[0].HasField("turn_plan")


def test_another_batch_under_the_same_id_on_a_stream_is_not_lost(stub: ThinkingServiceStub) -> None:
    def begin(turn_id: str, task: str) -> pb.RunTurnRequest:
        started = pb.TurnStarted(session_id="reused", task=task)
        return pb.RunTurnRequest(request_id="r0", events=[pb.TurnEvent(turn_id=turn_id, turn_started=started)])

    one, other = (pb.RunTurnRequest(request_id="r1", events=[said(text)]) for text in ("one", "other"))
    list(stub.RunTurn(iter([begin("reused", "first"), one, other, one]), timeout=PATIENCE_S))

    told = [entry.event.user_message.text for entry in entries(stub, "reused") if entry.event.HasField("user_message")]
    assert told == ["one", "other"]
    # Another start under the same id does not take up the first one's turn.
    assert refused(stub.RunTurn, iter([begin("reused", "second")])) == ALREADY_EXISTS
    (response, *_) = stub.RunTurn(iter([begin("", "third")]), timeout=PATIENCE_S)
    assert response.directives[0].turn_plan.turn_count == 2


def test_of_events_with_one_id_the_first_counts(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
    events: list[Any] = [called("first", event_id="a"), said("b", "b"), called("second", event_id="a")]
    answer = stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events))
    assert (answer.ack.received, answer.ack.durable) == (3, 3)
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said("third", "a")]))

    found = entries(stub, turn_id)[2:]
    assert [entry.event.event_id for entry in found] == ["a", "b"]
    assert found[0].event.tool_called.name == "first"


def test_a_start_sent_twice_is_one_turn(stub: ThinkingServiceStub) -> None:
    """Without a `request_id` nothing says that it is the same one."""
    stub.StartTurn(pb.StartTurnRequest(session_id="once", turn_id="once"))
    again = pb.StartTurnRequest(session_id="once", turn_id="once")
    assert refused(stub.StartTurn, again) == ALREADY_EXISTS
    begin = pb.TurnEvent(turn_id="once", turn_started=pb.TurnStarted(session_id="once"))
    assert refused(stub.RunTurn, iter([pb.RunTurnRequest(events=[begin])])) == ALREADY_EXISTS
    assert kinds(entries(stub, "once")) == ["turn_started", "turn_plan"]
