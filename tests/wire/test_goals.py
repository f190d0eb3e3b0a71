"""GoalReflectionService over gRPC: from a report to the block that the next goal starts with."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import common_pb2, sidecar_pb2, thinking_pb2
from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.work.worker import Pace
from tests.wire.calls import (
    NOT_FOUND,
    REUSED,
    TIMEOUT_S,
    WRONG_STATE,
    bad_field,
    called,
    finished,
    refused,
    returned,
)
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar, thinking

T = TypeVar("T")

PRICING = "Research competitor pricing"


@contextmanager
def goals(server: SidecarThread) -> Iterator[GoalReflectionServiceStub]:
    with grpc.insecure_channel(server.address) as channel:
        yield GoalReflectionServiceStub(channel)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with sidecar(tmp_path_factory.mktemp("goals")) as running:
        yield running


@pytest.fixture(scope="module")
def stub(server: SidecarThread) -> Iterator[GoalReflectionServiceStub]:
    with goals(server) as made:
        yield made


def until(look: Callable[[], T]) -> T:
    """What `look` finds, once it finds anything."""
    ends_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < ends_s, "it did not come"
        time.sleep(0.01)
    return found


def failed_goal(tenant_id: str, goal_id: str = "g", **more: Any) -> pb.ReportGoalRequest:
    tasks = [
        pb.GoalTask(name="web_search", output_summary="Prices of 2023."),
        pb.GoalTask(name="fetch_page", error="HTTP status: 404 page 'prices.html' not found"),
    ]
    told = {"objective": PRICING, "state": pb.GOAL_STATE_FAILED, "tasks": tasks, "error": "no current prices"}
    return pb.ReportGoalRequest(tenant_id=tenant_id, goal_id=goal_id, **{**told, **more})


def report(stub: GoalReflectionServiceStub, request: pb.ReportGoalRequest) -> pb.ReportGoalResponse:
    return stub.ReportGoal(request, timeout=TIMEOUT_S)


def reflections(stub: GoalReflectionServiceStub, tenant_id: str, goal_id: str = "g") -> list[pb.GoalReflection]:
    request = pb.GetGoalReflectionsRequest(tenant_id=tenant_id, goal_id=goal_id)
    return list(stub.GetGoalReflections(request, timeout=TIMEOUT_S).reflections)


def reports(stub: GoalReflectionServiceStub, tenant_id: str, **more: Any) -> list[pb.GoalReport]:
    request = pb.ListGoalReportsRequest(tenant_id=tenant_id, **more)
    return list(stub.ListGoalReports(request, timeout=TIMEOUT_S).reports)


def block(stub: GoalReflectionServiceStub, tenant_id: str, **asked: Any) -> common_pb2.ContextBlock:
    return stub.BuildGoalContext(pb.BuildGoalContextRequest(tenant_id=tenant_id, **asked), timeout=TIMEOUT_S).block


def watched(stub: GoalReflectionServiceStub, tenant_id: str, **asked: Any) -> list[pb.WatchGoalReflectionsResponse]:
    """Everything that is there by now."""
    request = pb.WatchGoalReflectionsRequest(tenant_id=tenant_id, follow=False, **asked)
    return list(stub.WatchGoalReflections(request, timeout=TIMEOUT_S))


def _has(stub: GoalReflectionServiceStub, count: int) -> bool:
    return len(reflections(stub, "block")) == count


# --- the way of a report --------------------------------------------------------------------------------------------


def test_a_failed_goal_is_reflected_on(stub: GoalReflectionServiceStub) -> None:
    answer = report(stub, failed_goal("one"))
    assert answer.report_id
    assert answer.report_state == pb.GOAL_REPORT_STATE_QUEUED
    (reflection,) = until(lambda: reflections(stub, "one"))
    assert reflection.goal_id == "g"
    assert reflection.objective == PRICING
    assert reflection.importance == 1.0
    assert reflection.goal_state == pb.GOAL_STATE_FAILED
    assert reflection.origin == common_pb2.ORIGIN_TOOL
    assert "`fetch_page`" in reflection.insight
    assert "prices.html" in reflection.insight
    (done,) = until(lambda: reports(stub, "one", report_state=pb.GOAL_REPORT_STATE_DONE))
    assert done.report_id == answer.report_id
    assert done.reflection == reflection
    assert (done.attempts, done.last_error, done.state) == (1, "", pb.GOAL_STATE_FAILED)
    (goal,) = stub.ListRecentGoals(pb.ListRecentGoalsRequest(tenant_id="one"), timeout=TIMEOUT_S).goals
    assert (goal.goal_id, goal.objective, list(goal.reflections)) == ("g", PRICING, [reflection])
    assert [seen.reflection for seen in watched(stub, "one")] == [reflection]


def _turn(turns: ThinkingServiceStub, tenant_id: str, *events: thinking_pb2.TurnEvent) -> thinking_pb2.TurnPlan:
    """A turn that has ended."""
    plan = turns.StartTurn(thinking_pb2.StartTurnRequest(tenant_id=tenant_id), timeout=TIMEOUT_S).plan
    told = thinking_pb2.ReportEventsRequest(tenant_id=tenant_id, turn_id=plan.turn_id, events=[*events, finished()])
    turns.ReportEvents(told, timeout=TIMEOUT_S)
    return plan


def test_a_goal_that_names_its_turn_needs_no_tasks(server: SidecarThread, stub: GoalReflectionServiceStub) -> None:
    """What the turn's tools returned is told of the goal, and goes with the turn."""
    failing = (called("fetch"), returned("no such host: prices.example", is_error=True))
    repaired = (called("fetch"), returned("41 prices"))
    with thinking(server) as turns:
        plan = _turn(turns, "calls", *failing)
        reached = _turn(turns, "calls", *failing, *repaired)
    report(stub, failed_goal("calls", "missed", tasks=(), error="", turn_id=plan.turn_id))
    report(stub, failed_goal("calls", "own", turn_id=plan.turn_id))
    report(stub, failed_goal("calls", "unknown", tasks=(), turn_id="no-turn"))
    done = {"state": pb.GOAL_STATE_COMPLETED, "tasks": (), "error": ""}
    report(stub, failed_goal("calls", "reached", turn_id=reached.turn_id, **done))
    told = {}
    for goal_id in ("missed", "own", "unknown", "reached"):
        (told[goal_id],) = until(partial(reflections, stub, "calls", goal_id))
    assert told["missed"].insight.startswith("The goal failed at `fetch`: “no such host: prices.example”.")
    assert (told["missed"].importance, told["missed"].origin) == (1.0, common_pb2.ORIGIN_TOOL)
    assert "`fetch_page`" in told["own"].insight
    assert "no current prices" in told["unknown"].insight
    assert told["reached"].insight.startswith(
        "The goal was completed, last by `fetch`: “41 prices”. On the way `fetch` failed: “no such host"
    )
    with grpc.insecure_channel(server.address) as channel:
        request = sidecar_pb2.EraseRequest(tenant_id="calls", session_id=plan.session_id)
        SidecarServiceStub(channel).Erase(request, timeout=TIMEOUT_S)
    assert reflections(stub, "calls", "missed") == reflections(stub, "calls", "own") == []
    assert {one.goal_id for one in reports(stub, "calls")} == {"unknown", "reached"}


IMPORTANCE = [
    (pb.GOAL_STATE_COMPLETED, "", 0.5),
    (pb.GOAL_STATE_COMPLETED, "one did", 0.7),
    (pb.GOAL_STATE_FAILED, "", 0.8),
    (pb.GOAL_STATE_FAILED, "one did", 1.0),
]


@pytest.mark.parametrize(("state", "error", "importance"), IMPORTANCE)
def test_importance(stub: GoalReflectionServiceStub, state: Any, error: str, importance: float) -> None:
    """Seed goal-reflection, "Importance Scoring". An error is a field: the word in a text counts for nothing."""
    tenant_id = f"importance {importance}"
    tasks = [pb.GoalTask(name="a", output_summary="error: 404"), pb.GoalTask(name="b", error=error)]
    report(stub, failed_goal(tenant_id, state=state, tasks=tasks, error="why"))
    (reflection,) = until(lambda: reflections(stub, tenant_id))
    assert reflection.importance == importance


def test_the_next_goal_starts_with_the_block(stub: GoalReflectionServiceStub) -> None:
    for number in range(3):
        report(stub, failed_goal("block", error=f"reason {number}", tasks=()))
        until(partial(_has, stub, number + 1))
    report(stub, failed_goal("block", "mail", objective="Send weekly report", state=pb.GOAL_STATE_COMPLETED))
    until(lambda: reflections(stub, "block", "mail"))
    own = block(stub, "block", goal_id="g")
    lines = own.text.split("\n")
    assert lines[0] == "[PAST REFLECTIONS]"
    # Two at most, the most important first, then the newest.
    assert [line.startswith(f"• [Goal: {PRICING}] ") for line in lines[1:]] == [True, True]
    assert "reason 2" in lines[1]
    assert "reason 1" in lines[2]
    assert own.receipt_id
    assert own.token_count > 0
    assert [item.kind for item in own.items] == ["goal_reflection"] * 2
    assert [left.reason for left in own.omitted] == ["there is room for 2 items"]
    similar = block(stub, "block", task="Please research the pricing of a competitor", max_items=5)
    assert {item.id for item in similar.items} == {one.id for one in reflections(stub, "block")}
    recent = block(stub, "block", max_items=10)
    # 0.8, three times, after what a task's error made 0.7.
    assert [round(item.score, 1) for item in recent.items] == [0.8, 0.8, 0.8, 0.7]
    assert block(stub, "block", goal_id="unknown") == common_pb2.ContextBlock()
    assert block(stub, "block", task="Bake bread") == common_pb2.ContextBlock()
    both = block(stub, "block", goal_id="mail", task=PRICING, max_items=10)
    assert both.items[0].id == reflections(stub, "block", "mail")[0].id
    assert len(both.items) == 4


def test_a_turn_starts_with_the_block(server: SidecarThread, stub: GoalReflectionServiceStub) -> None:
    report(stub, failed_goal("turn"))
    (reflection,) = until(lambda: reflections(stub, "turn"))
    with thinking(server) as turns:
        wish = thinking_pb2.ContextWish(goal_id="g")
        start = thinking_pb2.StartTurnRequest(tenant_id="turn", task="Go on", context=wish)
        plan = turns.StartTurn(start, timeout=TIMEOUT_S).plan
        assert plan.context.text == f"[LESSONS FROM EARLIER WORK]\n• [Goal: {PRICING}] {reflection.insight}"
        assert [item.id for item in plan.context.items] == [reflection.id]
        assert plan.context.receipt_id
        by_task = thinking_pb2.StartTurnRequest(tenant_id="turn", task=PRICING, context=thinking_pb2.ContextWish())
        assert len(turns.StartTurn(by_task, timeout=TIMEOUT_S).plan.context.items) == 1
        without = turns.StartTurn(thinking_pb2.StartTurnRequest(tenant_id="turn"), timeout=TIMEOUT_S).plan
        assert not without.HasField("context")
        entries = turns.GetTurn(
            thinking_pb2.GetTurnRequest(tenant_id="turn", turn_id=plan.turn_id), timeout=TIMEOUT_S
        ).entries
        assert entries[0].event.turn_started.context == wish
        assert entries[1].directive.turn_plan.context == plan.context


def test_a_request_id_makes_one_reflection(stub: GoalReflectionServiceStub) -> None:
    first = report(stub, failed_goal("once", request_id="r"))
    assert report(stub, failed_goal("once", request_id="r")) == first
    assert refused(stub.ReportGoal, failed_goal("once", request_id="r", objective="other")) == REUSED
    for _ in range(2):
        report(stub, failed_goal("once"))
    until(lambda: len(reflections(stub, "once")) == 3)
    assert len(reports(stub, "once")) == 3
    assert len(watched(stub, "once")) == 3


def test_pages_of_reports(stub: GoalReflectionServiceStub) -> None:
    made = [report(stub, failed_goal("pages", f"g{number}")).report_id for number in range(5)]
    found: list[str] = []
    token = ""
    while True:
        request = pb.ListGoalReportsRequest(tenant_id="pages", page_size=2, page_token=token)
        page = stub.ListGoalReports(request, timeout=TIMEOUT_S)
        found += [one.report_id for one in page.reports]
        token = page.next_page_token
        if not token:
            break
    assert found == made[::-1]


def test_reports_of_one_goal(stub: GoalReflectionServiceStub) -> None:
    made = [report(stub, failed_goal("goal", "gh"[number % 2], turn_id=f"t{number}")).report_id for number in range(7)]
    asked = pb.ListGoalReportsRequest(tenant_id="goal", goal_id="g", page_size=2)
    pages = [stub.ListGoalReports(asked, timeout=TIMEOUT_S)]
    while pages[-1].next_page_token:
        asked.page_token = pages[-1].next_page_token
        pages.append(stub.ListGoalReports(asked, timeout=TIMEOUT_S))
    assert [[one.report_id for one in page.reports] for page in pages] == [[made[6], made[4]], [made[2], made[0]]]
    assert [one.turn_id for one in pages[0].reports] == ["t6", "t4"]
    assert reports(stub, "goal", goal_id="none") == []
    with pytest.raises(grpc.RpcError, match="page_token"):
        reports(stub, "goal", goal_id="h", page_token=pages[0].next_page_token)


def test_delete(stub: GoalReflectionServiceStub) -> None:
    for goal_id in ("g", "h"):
        report(stub, failed_goal("delete", goal_id))
    until(lambda: len(reports(stub, "delete", report_state=pb.GOAL_REPORT_STATE_DONE)) == 2)
    request = pb.DeleteGoalReflectionsRequest(tenant_id="delete", goal_id="g")
    assert stub.DeleteGoalReflections(request, timeout=TIMEOUT_S).deleted_count == 1
    assert stub.DeleteGoalReflections(request, timeout=TIMEOUT_S).deleted_count == 0
    assert reflections(stub, "delete") == []
    assert [seen.reflection.goal_id for seen in watched(stub, "delete")] == ["h"]
    assert [one.goal_id for one in reports(stub, "delete")] == ["h"]
    assert [item.id for item in block(stub, "delete").items] == [reflections(stub, "delete", "h")[0].id]


def test_secrets_are_redacted(stub: GoalReflectionServiceStub) -> None:
    secret = "sk-ant-api03-" + "a" * 80 + "AA"
    tasks = [pb.GoalTask(name="call", output_summary=secret, error=f"refused key {secret}")]
    report(stub, failed_goal("secret", objective=f"Use {secret}", tasks=tasks, error=secret))
    (reflection,) = until(lambda: reflections(stub, "secret"))
    everything = (*watched(stub, "secret"), *reports(stub, "secret"), block(stub, "secret"), reflection)
    assert not any(b"a" * 30 in message.SerializeToString() for message in everything)
    assert "[redacted:" in reflection.objective


# --- models ---------------------------------------------------------------------------------------------------------


class Slow:
    """Answers when it is let go, or as it is told to."""

    provider, name = "test", "slow"

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.asked: list[str] = []
        self.failing: ResultStatus | None = None
        self.insight = "One. Two! Three? Four."

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        self.asked.append(ask.prompt)
        await asyncio.to_thread(self.let_go.wait, PATIENCE_S)
        if self.failing is not None:
            raise ModelFailed(self.failing, "as told")
        answer = ask.answer_type(insight=self.insight)
        return Completion(answer, Usage(self.provider, self.name))


def test_a_report_does_not_wait_for_the_model(tmp_path: Path) -> None:
    model = Slow()
    with sidecar(tmp_path, model=model) as server, goals(server) as stub:
        report(stub, failed_goal("t"))
        until(lambda: model.asked)
        assert [one.report_state for one in reports(stub, "t")] == [pb.GOAL_REPORT_STATE_RUNNING]
        assert reflections(stub, "t") == []
        model.let_go.set()
        (reflection,) = until(lambda: reflections(stub, "t"))
        assert reflection.insight == "One. Two! Three?"
        (prompt,) = model.asked
        assert PRICING in prompt
        assert "no current prices" in prompt


def test_a_report_that_keeps_failing_is_dead_and_can_be_retried(tmp_path: Path) -> None:
    model = Slow()
    model.let_go.set()
    model.failing = ResultStatus.FAILED_MODEL
    pace = Pace(retry_s=0.0001, longest_retry_s=0.001, poll_s=0.01)
    with sidecar(tmp_path, model=model, pace=pace) as server, goals(server) as stub:
        report_id = report(stub, failed_goal("t")).report_id
        (dead,) = until(lambda: reports(stub, "t", report_state=pb.GOAL_REPORT_STATE_DEAD))
        assert (dead.report_id, dead.attempts) == (report_id, 20)
        assert "as told" in dead.last_error
        assert not dead.HasField("reflection")
        model.failing = None
        request = pb.RetryGoalReportRequest(tenant_id="t", report_id=report_id)
        assert stub.RetryGoalReport(request, timeout=TIMEOUT_S).report_state == pb.GOAL_REPORT_STATE_QUEUED
        until(lambda: reflections(stub, "t"))
        until(lambda: reports(stub, "t", report_state=pb.GOAL_REPORT_STATE_DONE))
        assert refused(stub.RetryGoalReport, request) == WRONG_STATE
        request.report_id = "unknown"
        assert refused(stub.RetryGoalReport, request) == NOT_FOUND
        model.failing = ResultStatus.REFUSED
        asked = len(model.asked)
        report(stub, failed_goal("t"))
        until(lambda: reports(stub, "t", report_state=pb.GOAL_REPORT_STATE_DEAD))
        assert len(model.asked) == asked + 1, "who refuses is not asked again"


# --- watches --------------------------------------------------------------------------------------------------------


def test_a_watch_goes_on_where_it_was(stub: GoalReflectionServiceStub) -> None:
    request = pb.WatchGoalReflectionsRequest(tenant_id="watch", new_only=True)
    stream = stub.WatchGoalReflections(request, timeout=60)
    first = next(stream)
    assert first.HasField("heartbeat")
    for number in range(3):
        report(stub, failed_goal("watch", f"g{number}"))
    seen = [next(stream) for _ in range(3)]
    assert {one.reflection.goal_id for one in seen} == {"g0", "g1", "g2"}
    stream.cancel()
    after = watched(stub, "watch", cursor=seen[0].cursor)
    assert after == seen[1:]
    assert watched(stub, "watch", cursor=seen[2].cursor) == []
    assert watched(stub, "watch", cursor=first.cursor) == seen
    assert [one.reflection.goal_id for one in watched(stub, "watch", goal_id="g1")] == ["g1"]
    # Whoever begins at the present and does not stay learns where that is.
    (now,) = watched(stub, "watch", new_only=True)
    assert now.HasField("heartbeat")
    report(stub, failed_goal("watch", "g3"))
    until(lambda: reflections(stub, "watch", "g3"))
    assert [one.reflection.goal_id for one in until(lambda: watched(stub, "watch", cursor=now.cursor))] == ["g3"]
    other = pb.WatchGoalReflectionsRequest(tenant_id="watch 2", cursor=seen[0].cursor)
    assert refused(stub.WatchGoalReflections, other) == bad_field("cursor")


# --- scopes and bad input -------------------------------------------------------------------------------------------


def test_tenants_never_meet(stub: GoalReflectionServiceStub) -> None:
    report(stub, failed_goal("mine", error="only mine"))
    report(stub, failed_goal("theirs", error="only theirs", state=pb.GOAL_STATE_COMPLETED))
    (mine,) = until(lambda: reflections(stub, "mine"))
    (theirs,) = until(lambda: reflections(stub, "theirs"))
    for tenant_id, own in (("mine", mine), ("theirs", theirs)):
        assert reflections(stub, tenant_id) == [own]
        (goal,) = stub.ListRecentGoals(pb.ListRecentGoalsRequest(tenant_id=tenant_id), timeout=TIMEOUT_S).goals
        assert list(goal.reflections) == [own]
        for asked in ({"goal_id": "g"}, {"task": PRICING}, {}):
            assert [item.id for item in block(stub, tenant_id, **asked).items] == [own.id]
        assert [seen.reflection for seen in watched(stub, tenant_id)] == [own]
        assert len(reports(stub, tenant_id)) == 1
    assert reflections(stub, "nobody") == []
    assert block(stub, "nobody") == common_pb2.ContextBlock()


@pytest.mark.parametrize("goal_id", ["recent_goals", "x" * 10_240, "a\0b", "a\nb", ""])
def test_hostile_goal_ids_are_refused_by_name(stub: GoalReflectionServiceStub, goal_id: str) -> None:
    assert refused(stub.ReportGoal, failed_goal("ids", goal_id)) == bad_field("goal_id")
    read = pb.GetGoalReflectionsRequest(tenant_id="ids", goal_id=goal_id)
    assert refused(stub.GetGoalReflections, read) == bad_field("goal_id")
    delete = pb.DeleteGoalReflectionsRequest(tenant_id="ids", goal_id=goal_id)
    assert refused(stub.DeleteGoalReflections, delete) == bad_field("goal_id")
    if goal_id:
        context = pb.BuildGoalContextRequest(tenant_id="ids", goal_id=goal_id)
        assert refused(stub.BuildGoalContext, context) == bad_field("goal_id")
        watch = pb.WatchGoalReflectionsRequest(tenant_id="ids", goal_id=goal_id)
        assert refused(stub.WatchGoalReflections, watch) == bad_field("goal_id")


@pytest.mark.parametrize("goal_id", ["a:b", "*", "[a-z]?", "%3A", "reflection:recent_goals", "ש \U0001f642", "x" * 128])
def test_odd_goal_ids_work(stub: GoalReflectionServiceStub, goal_id: str) -> None:
    report(stub, failed_goal("odd", goal_id))
    (reflection,) = until(lambda: reflections(stub, "odd", goal_id))
    assert reflection.goal_id == goal_id


def test_what_is_required(stub: GoalReflectionServiceStub) -> None:
    assert refused(stub.ReportGoal, failed_goal("bad", state=pb.GOAL_STATE_UNSPECIFIED)) == bad_field("state")
    for objective in ("", " ", "\n\t \u00a0\u2028"):
        assert refused(stub.ReportGoal, failed_goal("bad", objective=objective)) == bad_field("objective")
    many = failed_goal("bad", tasks=[pb.GoalTask()] * 101)
    assert refused(stub.ReportGoal, many) == bad_field("tasks")
    assert refused(stub.BuildGoalContext, pb.BuildGoalContextRequest(max_items=11)) == bad_field("max_items")
    assert refused(stub.RetryGoalReport, pb.RetryGoalReportRequest()) == bad_field("report_id")
    assert refused(stub.WatchGoalReflections, pb.WatchGoalReflectionsRequest(cursor="x", new_only=True)) == bad_field(
        "cursor"
    )


# --- the service ----------------------------------------------------------------------------------------------------


def test_health_and_server_info(server: SidecarThread) -> None:
    with grpc.insecure_channel(server.address) as channel:
        request = health_pb2.HealthCheckRequest(service="sidemirror.v1.GoalReflectionService")
        health: Any = health_pb2_grpc.HealthStub(channel)
        answer = health.Check(request, timeout=TIMEOUT_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)
        assert "goal_reflection" in {model.purpose for model in info.models}


# --- the end of a watch -----------------------------------------------------------------------------------------------


def test_a_watch_is_told_that_the_server_goes_away(tmp_path: Path) -> None:
    """With a cursor to go on from in the server's next life. Seen to fail when the watch does not look whether its end
    is due, and when `closing` carries no cursor (everything is told again)."""
    first = SidecarThread(tmp_path)
    first.start()
    with goals(first) as stub:
        watch = stub.WatchGoalReflections(pb.WatchGoalReflectionsRequest(tenant_id="t"), timeout=PATIENCE_S)
        report(stub, failed_goal("t", "before"))
        assert next(watch).reflection.goal_id == "before"
        first.stop()
        last = next(watch)
        assert last.closing.reason == "the server is shutting down"
        with pytest.raises(grpc.RpcError) as caught:
            next(watch)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    with sidecar(tmp_path) as server, goals(server) as stub:
        report(stub, failed_goal("t", "after"))
        request = pb.WatchGoalReflectionsRequest(tenant_id="t", cursor=last.cursor)
        assert next(stub.WatchGoalReflections(request, timeout=PATIENCE_S)).reflection.goal_id == "after"


def test_a_watch_that_is_old_says_so_and_ends(tmp_path: Path) -> None:
    """Seen to fail when the watch does not look whether its end is due."""
    with sidecar(tmp_path, settings={"limits__stream_age_s": "0.2"}) as server, goals(server) as stub:
        request = pb.WatchGoalReflectionsRequest(tenant_id="t", new_only=True)
        watch = stub.WatchGoalReflections(request, timeout=PATIENCE_S)
        assert next(watch).HasField("heartbeat")
        closing = next(watch)
        assert closing.closing.reason.startswith("the stream has been open for 0.2 s")
        assert closing.cursor
        with pytest.raises(grpc.RpcError) as caught:
            next(watch)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_pages_of_large_reports_are_short(stub: GoalReflectionServiceStub) -> None:
    """Whoever asks for a thousand makes the server hold a few. Seen to fail when `Work.list` has no bound in bytes."""
    tasks = [pb.GoalTask(name="read", output_summary="x" * 250_000) for _ in range(12)]
    ids = [report(stub, failed_goal("large", f"g{number}", tasks=tasks)).report_id for number in range(4)]
    pages: list[list[str]] = []
    token = ""
    while token or not pages:
        asked = pb.ListGoalReportsRequest(tenant_id="large", page_size=1_000, page_token=token)
        answer = stub.ListGoalReports(asked, timeout=TIMEOUT_S)
        pages.append([one.report_id for one in answer.reports])
        token = answer.next_page_token
    assert pages == [ids[:0:-1], ids[:1]]
