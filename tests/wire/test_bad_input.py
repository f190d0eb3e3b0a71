"""What is refused, with its code, reason and field, and that nothing of it is stored."""

import math
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.rpc.boundary.pages import token_for
from sidemirror_server.vocabulary.scope import Scope
from tests.wire.calls import (
    ALREADY_EXISTS,
    MALFORMED,
    NOT_FOUND,
    WRONG_STATE,
    Refusal,
    bad_field,
    called,
    code_of,
    failed,
    finished,
    refusal_of,
    refused,
    returned,
    said,
    started,
    stored,
)
from tests.wire.sidecar import sidecar, thinking

T = "bad input"  # the tenant of everything here
LONG = "ä" * (128 * 1024)  # 256 KiB of UTF-8
ANY = grpc.StatusCode


@pytest.fixture(scope="module")
def turn_id(stub: ThinkingServiceStub) -> str:
    """An open turn of session `s` with one event after its start."""
    plan = stub.StartTurn(pb.StartTurnRequest(tenant_id=T, session_id="s", turn_id="open")).plan
    stub.ReportEvents(pb.ReportEventsRequest(tenant_id=T, turn_id="open", events=[said("hello", "e1")]))
    other = stub.StartTurn(pb.StartTurnRequest(tenant_id=T, session_id="other", turn_id="over")).plan
    stub.FinishTurn(pb.FinishTurnRequest(tenant_id=T, turn_id=other.turn_id))
    return plan.turn_id


def run(stub: ThinkingServiceStub, *requests: pb.RunTurnRequest) -> Callable[[], object]:
    for request in requests[:1]:
        request.tenant_id = T
    return lambda: stub.RunTurn(iter(requests), timeout=60)


def batch(*events: pb.TurnEvent, **fields: Any) -> pb.RunTurnRequest:
    return pb.RunTurnRequest(events=events, **fields)


def report(*events: pb.TurnEvent, turn_id: str = "open") -> pb.ReportEventsRequest:
    return pb.ReportEventsRequest(turn_id=turn_id, events=events)


def start(**fields: Any) -> pb.StartTurnRequest:
    return pb.StartTurnRequest(**fields)


def session(**fields: Any) -> pb.CreateSessionRequest:
    return pb.CreateSessionRequest(config=pb.ThinkingConfig(**fields))


def unknown(number: int) -> Any:
    """A number that an enum does not have."""
    return number


# Each: the method, the request, the refusal.
UNARY: list[tuple[str, Message, Refusal]] = [
    # --- what does not exist, or not in this state
    ("GetTurn", pb.GetTurnRequest(turn_id="never"), NOT_FOUND),
    ("ReportEvents", report(said("x"), turn_id="never"), NOT_FOUND),
    ("FinishTurn", pb.FinishTurnRequest(turn_id="never"), NOT_FOUND),
    ("Reflect", pb.ReflectRequest(turn_id="never"), NOT_FOUND),
    ("GetReflectionPrompt", pb.GetReflectionPromptRequest(turn_id="never"), NOT_FOUND),
    ("ShouldReflect", pb.ShouldReflectRequest(turn_id="never"), NOT_FOUND),
    ("ShouldReflect", pb.ShouldReflectRequest(session_id="never"), NOT_FOUND),
    ("ReportEvents", report(said("x"), turn_id="over"), WRONG_STATE),
    ("FinishTurn", pb.FinishTurnRequest(turn_id="over"), WRONG_STATE),
    ("Reflect", pb.ReflectRequest(turn_id="over"), WRONG_STATE),
    ("StartTurn", start(session_id="s", turn_id="open"), ALREADY_EXISTS),
    ("StartTurn", start(session_id="other", turn_id="open"), bad_field("session_id")),
    # --- events out of place
    ("ReportEvents", report(said("x"), started(session_id="s")), bad_field("events[1].turn_started")),
    (
        "ReportEvents",
        report(said("x"), pb.TurnEvent(turn_id="over", user_message=pb.UserMessage())),
        bad_field("events[1].turn_id"),
    ),
    ("ReportEvents", report(finished(), said("late")), bad_field("events[1]")),
    ("ReportEvents", report(said("x"), pb.TurnEvent(event_id="empty")), bad_field("events[1].kind")),
    # --- too long, too many
    ("ReportEvents", report(said("x"), said(LONG + "x")), bad_field("events[1].user_message.text")),
    ("ReportEvents", report(called("t", LONG + "x")), bad_field("events[0].tool_called.arguments")),
    ("ReportEvents", report(returned(LONG + "x")), bad_field("events[0].tool_returned.content")),
    ("ReportEvents", report(failed(LONG + "x")), bad_field("events[0].tool_failed.error")),
    ("ReportEvents", report(*[said("x")] * 1001), bad_field("events")),
    ("StartTurn", start(task=LONG + "x"), bad_field("task")),
    ("StartTurn", start(base_prompt=LONG + "x"), bad_field("base_prompt")),
    ("StartTurn", start(provider="p" * 257), bad_field("provider")),
    ("ReportEvents", report(called("n" * 257)), bad_field("events[0].tool_called.name")),
    ("ReportEvents", report(said("x", event_id="e" * 129)), bad_field("events[0].event_id")),
    ("StartTurn", start(subject_ids=["s"] * 17), bad_field("subject_ids")),
    ("StartTurn", start(subject_ids=["anna", "s" * 129]), bad_field("subject_ids[1]")),
    ("StartTurn", start(subject_ids=["anna", "new\nline"]), bad_field("subject_ids[1]")),
    ("CreateSession", pb.CreateSessionRequest(subject_ids=[""]), bad_field("subject_ids[0]")),
    (
        "ReportEvents",
        report(said("x"), pb.TurnEvent(subject_ids=["\0"], user_message=pb.UserMessage())),
        bad_field("events[1].subject_ids[0]"),
    ),
    ("ListTurns", pb.ListTurnsRequest(page_token="t" * 1025), bad_field("page_token")),
    ("Reflect", pb.ReflectRequest(turn_id="open", messages=[common_pb2.Message()] * 101), bad_field("messages")),
    (
        "Reflect",
        pb.ReflectRequest(turn_id="open", tool_results=[common_pb2.ToolResult(name="n" * 257)]),
        bad_field("tool_results[0].name"),
    ),
    # --- missing
    ("ReportEvents", report(turn_id=""), bad_field("turn_id")),
    ("FinishTurn", pb.FinishTurnRequest(), bad_field("turn_id")),
    ("GetTurn", pb.GetTurnRequest(), bad_field("turn_id")),
    ("Reflect", pb.ReflectRequest(), bad_field("messages")),
    ("GetReflectionPrompt", pb.GetReflectionPromptRequest(), bad_field("turn_id")),
    ("ShouldReflect", pb.ShouldReflectRequest(), bad_field("target")),
    ("ShouldReflect", pb.ShouldReflectRequest(turn_id=""), bad_field("turn_id")),
    ("GetSession", pb.GetSessionRequest(), bad_field("session_id")),
    ("UpdateSession", pb.UpdateSessionRequest(), bad_field("session_id")),
    ("DeleteSession", pb.DeleteSessionRequest(), bad_field("session_id")),
    ("ReportEvents", report(called("")), bad_field("events[0].tool_called.name")),
    # --- ids that are not printable
    ("StartTurn", start(turn_id="a\0b"), bad_field("turn_id")),
    ("StartTurn", start(session_id="a\nb"), bad_field("session_id")),
    ("StartTurn", start(request_id="\u200e"), bad_field("request_id")),
    ("GetTurn", pb.GetTurnRequest(turn_id="\x7f"), bad_field("turn_id")),
    ("ReportEvents", report(said("x", event_id="\0")), bad_field("events[0].event_id")),
    ("ReportEvents", report(called("t", call_id="\x1b[0m")), bad_field("events[0].tool_called.call_id")),
    # --- numbers
    ("ListSessions", pb.ListSessionsRequest(page_size=-1), bad_field("page_size")),
    ("ListTurns", pb.ListTurnsRequest(page_size=-(2**31)), bad_field("page_size")),
    ("GetTurn", pb.GetTurnRequest(turn_id="open", page_size=-1), bad_field("page_size")),
    ("GetTurn", pb.GetTurnRequest(turn_id="open", after_sequence=2**64 - 1), bad_field("after_sequence")),
    ("CreateSession", session(reflect_every=10**9), bad_field("config.reflect_every")),
    ("CreateSession", session(reflect_every=-1), bad_field("config.reflect_every")),
    ("StartTurn", start(budget=pb.TurnBudget(max_reflections=-1)), bad_field("budget.max_reflections")),
    ("StartTurn", start(budget=pb.TurnBudget(max_reflections=1001)), bad_field("budget.max_reflections")),
    ("StartTurn", start(budget=pb.TurnBudget(max_tokens=-1)), bad_field("budget.max_tokens")),
    ("StartTurn", start(budget=pb.TurnBudget(max_usd=math.nan)), bad_field("budget.max_usd")),
    ("StartTurn", start(budget=pb.TurnBudget(max_usd=math.inf)), bad_field("budget.max_usd")),
    ("FinishTurn", pb.FinishTurnRequest(turn_id="open", score=math.nan), bad_field("score")),
    ("FinishTurn", pb.FinishTurnRequest(turn_id="open", score=1.01), bad_field("score")),
    ("ReportEvents", report(finished(score=-0.1)), bad_field("events[0].turn_finished.score")),
    (
        "ReportEvents",
        report(said("x"), pb.TurnEvent(uncertainty=pb.Uncertainty(score=math.nan))),
        bad_field("events[1].uncertainty.score"),
    ),
    (
        "ReportEvents",
        report(pb.TurnEvent(reflection_recorded=pb.ReflectionRecorded(confidence=-math.inf))),
        bad_field("events[0].reflection_recorded.confidence"),
    ),
    (
        "ReportEvents",
        report(pb.TurnEvent(model_returned=pb.ModelReturned(input_tokens=-1, output_tokens=2**62))),
        bad_field("events[0].model_returned.input_tokens", "events[0].model_returned.output_tokens"),
    ),
    # --- times
    *[
        ("StartTurn", start(budget=pb.TurnBudget(time_limit=limit)), bad_field("budget.time_limit"))
        for limit in (
            Duration(seconds=-1),
            Duration(nanos=-1),
            Duration(nanos=1_000_000_000),
            Duration(seconds=7 * 24 * 3600, nanos=1),
            Duration(seconds=2**62),
        )
    ],
    ("ReportEvents", pb.ReportEventsRequest(turn_id="open", wait=Duration(seconds=61)), bad_field("wait")),
    *[
        (
            "ReportEvents",
            report(pb.TurnEvent(time=time, user_message=pb.UserMessage())),
            bad_field("events[0].time"),
        )
        for time in (Timestamp(seconds=-1), Timestamp(nanos=-1), Timestamp(seconds=253_402_300_800))
    ],
    # --- unknown numbers of enums
    ("CreateSession", session(periodic_scope=unknown(9)), bad_field("config.periodic_scope")),
    ("StartTurn", start(reflection_mode=unknown(-1)), bad_field("reflection_mode")),
    ("FinishTurn", pb.FinishTurnRequest(turn_id="open", outcome=unknown(77)), bad_field("outcome")),
    ("ListTurns", pb.ListTurnsRequest(state=unknown(4)), bad_field("state")),
    (
        "Reflect",
        pb.ReflectRequest(turn_id="open", messages=[common_pb2.Message(role=unknown(6))]),
        bad_field("messages[0].role"),
    ),
    # --- tokens and cursors
    ("ListSessions", pb.ListSessionsRequest(page_token="garbage"), bad_field("page_token")),
    ("ListTurns", pb.ListTurnsRequest(page_token="é"), bad_field("page_token")),
    ("GetTurn", pb.GetTurnRequest(turn_id="open", page_token="AAAA"), bad_field("page_token")),
    ("WatchTurns", pb.WatchTurnsRequest(cursor="garbage"), bad_field("cursor")),
    # --- everything that is wrong is named at once
    (
        "StartTurn",
        start(turn_id="\0", provider="p" * 257, budget=pb.TurnBudget(max_usd=-1), reflection_mode=unknown(9)),
        bad_field("turn_id", "provider", "budget.max_usd", "reflection_mode"),
    ),
]


def prepared(request: Message) -> Message:
    request.tenant_id = T  # type: ignore[attr-defined]
    return request


@pytest.mark.parametrize(
    ("method", "request_", "refusal"), UNARY, ids=[f"{number} {case[0]}" for number, case in enumerate(UNARY)]
)
def test_refused_and_nothing_stored(
    stub: ThinkingServiceStub, turn_id: str, method: str, request_: Message, refusal: Refusal
) -> None:
    before = stored(stub, T)
    assert refused(lambda: getattr(stub, method)(prepared(request_), timeout=60)) == refusal
    assert stored(stub, T) == before


STREAMS: list[tuple[str, list[pb.RunTurnRequest], Refusal]] = [
    ("no start", [batch(said("x"))], bad_field("events[0]")),
    ("nothing", [batch()], bad_field("events[0]")),
    ("resume of what is not there", [pb.RunTurnRequest(resume=pb.TurnResume(turn_id="never"))], NOT_FOUND),
    ("resume of nothing", [pb.RunTurnRequest(resume=pb.TurnResume())], bad_field("resume.turn_id")),
    ("the start again, elsewhere", [batch(pb.TurnEvent(turn_id="open", turn_started=pb.TurnStarted(session_id="s")))],
     ALREADY_EXISTS),
    # Seen to fail: refused for a session that the call did not name.
    ("the start again, without its session", [batch(pb.TurnEvent(turn_id="open", turn_started=pb.TurnStarted()))],
     ALREADY_EXISTS),
    ("two starts at once", [batch(started(), started())], bad_field("events[1].turn_started")),
    ("an event after the end", [batch(started(), finished(), said("late"))], bad_field("events[2]")),
    ("half of the first request is bad", [batch(started(), said("x"), called(""))],
     bad_field("events[2].tool_called.name")),
    ("another turn", [batch(started(), pb.TurnEvent(turn_id="open", user_message=pb.UserMessage()))],
     bad_field("events[1].turn_id")),
    ("a NUL in the turn's id", [batch(pb.TurnEvent(turn_id="\0", turn_started=pb.TurnStarted()))],
     bad_field("events[0].turn_id")),
    ("a deadline before 1970", [batch(started(deadline=Timestamp(seconds=-1)))],
     bad_field("events[0].turn_started.deadline")),
    ("of another session", [batch(pb.TurnEvent(turn_id="open", turn_started=pb.TurnStarted(session_id="other")))],
     bad_field("events[0].turn_started.session_id")),
]  # fmt: skip


@pytest.mark.parametrize(("requests", "refusal"), [case[1:] for case in STREAMS], ids=[case[0] for case in STREAMS])
def test_a_stream_that_begins_wrong_stores_nothing(
    stub: ThinkingServiceStub, turn_id: str, requests: list[pb.RunTurnRequest], refusal: Refusal
) -> None:
    before = stored(stub, T)
    assert refused(run(stub, *requests)) == refusal
    assert stored(stub, T) == before


LATER: list[tuple[str, pb.RunTurnRequest, Refusal]] = [
    ("a second start", batch(started()), bad_field("events[0].turn_started")),
    ("resume in mid-stream", pb.RunTurnRequest(resume=pb.TurnResume(turn_id="open")), bad_field("resume")),
    ("another tenant", batch(said("x"), tenant_id="elsewhere"), bad_field("tenant_id")),
    ("another project", batch(said("x"), project_id="elsewhere"), bad_field("project_id")),
    ("half a bad batch", batch(said("good"), said(LONG + "x")), bad_field("events[1].user_message.text")),
    ("too many", batch(*[said("x")] * 1001), bad_field("events")),
]


@pytest.mark.parametrize(("request_", "refusal"), [case[1:] for case in LATER], ids=[case[0] for case in LATER])
def test_a_bad_request_later_on_a_stream_stores_nothing_of_it(
    stub: ThinkingServiceStub, request: pytest.FixtureRequest, request_: pb.RunTurnRequest, refusal: Refusal
) -> None:
    own = f"later {request.node.callspec.id}"
    begin = batch(pb.TurnEvent(turn_id=own, turn_started=pb.TurnStarted(session_id=own)), said("kept"))
    assert refused(run(stub, begin, request_)) == refusal
    turn = stub.GetTurn(pb.GetTurnRequest(tenant_id=T, turn_id=own))
    assert [entry.event.user_message.text for entry in turn.entries if entry.event.HasField("user_message")] == ["kept"]
    assert turn.turn.state == pb.TURN_STATE_OPEN


def test_at_the_limit_is_not_over_it(stub: ThinkingServiceStub) -> None:
    own: dict[str, Any] = {"tenant_id": "at the limit"}  # what others read again and again is small
    request = pb.StartTurnRequest(**own, task=LONG, provider="p" * 256, session_id="s" * 128)
    turn_id = stub.StartTurn(request).plan.turn_id
    over = pb.ReportEventsRequest(**own, turn_id=turn_id, events=[said(LONG + "x")])
    assert refused(stub.ReportEvents, over) == bad_field("events[0].user_message.text")
    events = [said(LONG), called("ä" * 256, "x" * 262_144, call_id="c" * 128)]
    stub.ReportEvents(pb.ReportEventsRequest(**own, turn_id=turn_id, events=events))
    answer = stub.ReportEvents(pb.ReportEventsRequest(**own, turn_id=turn_id, events=[said("x")] * 1000))
    assert (answer.ack.received, answer.ack.durable) == (1000, 1000)
    turn = stub.GetTurn(pb.GetTurnRequest(**own, turn_id=turn_id))
    assert turn.turn.event_count == 1003
    assert turn.entries[2].event.user_message.text == LONG
    assert turn.entries[3].event.tool_called.name == "ä" * 256


def test_a_message_over_4_mib_is_refused(stub: ThinkingServiceStub, turn_id: str) -> None:
    before = stored(stub, T)
    # 16 texts of 256 KiB, each within its own limit.
    request = pb.ReportEventsRequest(tenant_id=T, turn_id=turn_id, events=[said(LONG)] * 16)
    assert request.ByteSize() > 4 * 1024 * 1024
    # By gRPC itself, before we see it: no ErrorInfo.
    assert code_of(stub.ReportEvents, request) is ANY.RESOURCE_EXHAUSTED
    assert stored(stub, T) == before
    del request.events[:1]
    assert stub.ReportEvents(request).ack.durable == 15


@pytest.mark.parametrize("method", ["StartTurn", "GetTurn", "ReportEvents", "CreateSession", "WatchTurns", "RunTurn"])
@pytest.mark.parametrize("garbage", [b"\xff\xff\xff", b"\x0a\xff", b"\x0a\x02\xff\xfe", b"\x07"])
def test_bytes_that_do_not_parse(
    grpc_channel: grpc.Channel, stub: ThinkingServiceStub, method: str, garbage: bytes
) -> None:
    path = f"/sidemirror.v1.ThinkingService/{method}"
    before = stored(stub, "")
    same = {"request_serializer": bytes, "response_deserializer": bytes}

    def call() -> object:
        if method == "RunTurn":
            return grpc_channel.stream_stream(path, **same)(iter([garbage]), timeout=60)
        if method == "WatchTurns":
            return grpc_channel.unary_stream(path, **same)(garbage, timeout=60)
        return grpc_channel.unary_unary(path, **same)(garbage, timeout=60)

    assert refused(call) == MALFORMED
    assert stored(stub, "") == before


def test_bytes_that_do_not_parse_in_mid_stream(grpc_channel: grpc.Channel, stub: ThinkingServiceStub) -> None:
    begin = batch(pb.TurnEvent(turn_id="garbled", turn_started=pb.TurnStarted()), tenant_id=T).SerializeToString()
    run_turn = grpc_channel.stream_stream(
        "/sidemirror.v1.ThinkingService/RunTurn", request_serializer=bytes, response_deserializer=bytes
    )
    assert refused(lambda: run_turn(iter([begin, b"\xff"]), timeout=60)) == MALFORMED
    assert stub.GetTurn(pb.GetTurnRequest(tenant_id=T, turn_id="garbled")).turn.state == pb.TURN_STATE_OPEN


def test_tokens_and_cursors_belong_to_their_query(stub: ThinkingServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "tokens"}
    for session_id in ("a", "a"):
        stub.StartTurn(pb.StartTurnRequest(**scope, session_id=session_id))
    turn_id = stub.StartTurn(pb.StartTurnRequest(**scope, session_id="b")).plan.turn_id
    turns = stub.ListTurns(pb.ListTurnsRequest(**scope, page_size=1)).next_page_token
    sessions = stub.ListSessions(pb.ListSessionsRequest(**scope, page_size=1)).next_page_token
    page = stub.GetTurn(pb.GetTurnRequest(**scope, turn_id=turn_id, page_size=1))
    cursor = page.entries[0].cursor
    assert "" not in {turns, sessions, page.next_page_token, cursor}

    wrong = bad_field("page_token")
    for request in (
        pb.ListTurnsRequest(**scope, session_id="a", page_token=turns),
        pb.ListTurnsRequest(**scope, state=pb.TURN_STATE_OPEN, page_token=turns),
        pb.ListTurnsRequest(tenant_id="other", page_token=turns),
        pb.ListTurnsRequest(tenant_id="tokens", project_id="other", page_token=turns),
        pb.ListTurnsRequest(**scope, page_token=sessions),
        pb.ListTurnsRequest(**scope, page_token=cursor),
        pb.ListTurnsRequest(**scope, page_token=page.next_page_token),
        pb.ListTurnsRequest(**scope, page_token=turns[:-2]),
    ):
        assert refused(stub.ListTurns, request) == wrong, request
    assert refused(lambda: stub.ListSessions(pb.ListSessionsRequest(**scope, page_token=turns))) == wrong
    other_start = pb.GetTurnRequest(**scope, turn_id=turn_id, after_sequence=1, page_token=page.next_page_token)
    assert refused(lambda: stub.GetTurn(other_start)) == wrong
    for cursor_elsewhere in (
        pb.WatchTurnsRequest(tenant_id="other", cursor=cursor, follow=False),
        pb.WatchTurnsRequest(**scope, cursor=turns, follow=False),
        pb.WatchTurnsRequest(**scope, cursor=page.next_page_token, follow=False),
    ):
        assert refused(stub.WatchTurns, cursor_elsewhere) == bad_field("cursor")
    for beyond_any_store in (2**63, -1):
        made_up = token_for(beyond_any_store, Scope("tokens", "default"))
        made_up_cursor = pb.WatchTurnsRequest(**scope, cursor=made_up, follow=False)
        assert refused(stub.WatchTurns, made_up_cursor) == bad_field("cursor")
    both = pb.WatchTurnsRequest(**scope, cursor=cursor, new_only=True)
    assert refused(lambda: stub.WatchTurns(both, timeout=60)) == bad_field("new_only")


def test_of_a_thousand_bad_events_so_many_are_named_as_the_trailers_hold(stub: ThinkingServiceStub) -> None:
    """Trailers that are too long would cost the client code, reason and all."""
    with pytest.raises(grpc.RpcError) as raised:
        stub.ReportEvents(pb.ReportEventsRequest(tenant_id=T, turn_id="open", events=[pb.TurnEvent()] * 1000))
    error = raised.value
    fields = refusal_of(error).fields
    assert refusal_of(error) == bad_field(*(f"events[{i}].kind" for i in range(len(fields))))
    assert 5 <= len(fields) <= 10
    assert (error.details() or "").endswith(f" and {1000 - len(fields)} more")
    assert sum(len(item.key) + len(item.value) for item in error.trailing_metadata()) < 8192


def test_a_turn_holds_only_so_many_events(tmp_path: Any) -> None:
    limit = Refusal(ANY.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    with sidecar(tmp_path, settings={"limits__events_per_turn": "5"}) as server, thinking(server) as stub:
        turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
        stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said("1", "e1"), said("2"), said("3")]))
        before = stored(stub, "")
        two = pb.ReportEventsRequest(turn_id=turn_id, events=[said("4"), said("5")])
        assert refused(lambda: stub.ReportEvents(two)) == limit
        assert stored(stub, "") == before
        # What the turn has already is no more; its end is always let in.
        stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said("1", "e1"), said("4")]))
        assert refused(lambda: stub.ReportEvents(report(said("6"), turn_id=turn_id))) == limit
        assert stub.FinishTurn(pb.FinishTurnRequest(turn_id=turn_id)).summary.event_count == 6

        before = stored(stub, "")
        many = pb.RunTurnRequest(events=[started(), *[said("x")] * 6])
        assert refused(lambda: stub.RunTurn(iter([many]), timeout=60)) == limit
        assert stored(stub, "") == before


def test_a_pinned_scope_serves_no_other(tmp_path: Any) -> None:
    pinned: dict[str, Any] = {"pin_scope": "true", "tenant_id": "acme", "project_id": "shop"}
    not_permitted = Refusal(ANY.PERMISSION_DENIED, "SCOPE_NOT_PERMITTED")
    with sidecar(tmp_path, settings=pinned) as server, thinking(server) as stub:
        others: list[dict[str, Any]] = [
            {"tenant_id": "other"},
            {"project_id": "blog"},
            {"tenant_id": "default", "project_id": "default"},
        ]
        for other in others:
            assert refused(stub.StartTurn, pb.StartTurnRequest(**other)) == not_permitted
            assert refused(stub.WatchTurns, pb.WatchTurnsRequest(**other, follow=False)) == not_permitted
            assert refused(stub.RunTurn, iter([pb.RunTurnRequest(**other, events=[started()])])) == not_permitted
        own = pb.StartTurnRequest(tenant_id="acme", project_id="shop")
        assert stub.StartTurn(own).plan.turn_count == 1
        assert len(stub.ListTurns(pb.ListTurnsRequest()).turns) == 1


def test_a_sidecar_serves_what_is_listed(tmp_path: Any) -> None:
    not_permitted = Refusal(ANY.PERMISSION_DENIED, "SCOPE_NOT_PERMITTED")
    listed = {"serves": "acme/*, globex/shop"}
    with sidecar(tmp_path, settings=listed) as server, thinking(server) as stub:
        for tenant_id, project_id in (("acme", "shop"), ("acme", "blog"), ("globex", "shop")):
            request = pb.StartTurnRequest(tenant_id=tenant_id, project_id=project_id)
            assert stub.StartTurn(request).plan.turn_count == 1
        for tenant_id, project_id in (("globex", "blog"), ("other", "shop"), ("", "")):
            request = pb.StartTurnRequest(tenant_id=tenant_id, project_id=project_id)
            assert refused(stub.StartTurn, request) == not_permitted


def test_a_method_that_is_not_there(grpc_channel: grpc.Channel) -> None:
    for path in ("/sidemirror.v1.ThinkingService/Nope", "/sidemirror.v1.NopeService/Nope"):
        call: Any = grpc_channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
        assert code_of(call, b"") is ANY.UNIMPLEMENTED


def test_an_event_has_at_most_1_mib_and_its_turn_can_still_be_read(stub: ThinkingServiceStub) -> None:
    """Answers hold whole events: without the bound one could be too large for what a client takes by default."""
    said_before = common_pb2.Message(role=common_pb2.MESSAGE_ROLE_USER, content="x" * 209_500)
    large = pb.TurnEvent(turn_id="large", turn_started=pb.TurnStarted(session_id="large", messages=[said_before] * 5))
    assert 1024 * 1024 - 1_500 < large.ByteSize() <= 1024 * 1024
    assert list(stub.RunTurn(iter([batch(large, tenant_id=T)]), timeout=60))
    first = stub.GetTurn(pb.GetTurnRequest(turn_id="large", tenant_id=T)).entries[0]
    assert len(first.event.turn_started.messages) == 5
    large.turn_started.messages.add(content="x" * 1_500)
    large.turn_id = "larger"
    assert refused(run(stub, batch(large))) == bad_field("events[0]")
    assert refused(lambda: stub.GetTurn(pb.GetTurnRequest(turn_id="larger", tenant_id=T))) == NOT_FOUND
