"""GoalReflectionService over gRPC: from a report to the block that the next goal starts with."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import common_pb2, sidecar_pb2, thinking_pb2
from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.calls import (
    TIMEOUT_S,
    bad_field,
    called,
    finished,
    refused,
    returned,
)
from tests.wire.goals import PRICING, block, failed_goal, goals, reflections, report, reports, watched
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until_found


@pytest.fixture(scope="module")
def stub(server: SidecarThread) -> Iterator[GoalReflectionServiceStub]:
    with goals(server) as made:
        yield made


def _has(stub: GoalReflectionServiceStub, count: int) -> bool:
    return len(reflections(stub, "block")) == count


def test_a_failed_goal_is_reflected_on(stub: GoalReflectionServiceStub) -> None:
    answer = report(stub, failed_goal("one"))
    assert answer.report_id
    assert answer.report_state == pb.GOAL_REPORT_STATE_QUEUED
    (reflection,) = until_found(lambda: reflections(stub, "one"))
    assert reflection.goal_id == "g"
    assert reflection.objective == PRICING
    assert reflection.importance == 1.0
    assert reflection.goal_state == pb.GOAL_STATE_FAILED
    assert reflection.origin == common_pb2.ORIGIN_TOOL
    assert "`fetch_page`" in reflection.insight
    assert "prices.html" in reflection.insight
    (done,) = until_found(lambda: reports(stub, "one", report_state=pb.GOAL_REPORT_STATE_DONE))
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
        (told[goal_id],) = until_found(partial(reflections, stub, "calls", goal_id))
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
    (reflection,) = until_found(lambda: reflections(stub, tenant_id))
    assert reflection.importance == importance


def test_the_next_goal_starts_with_the_block(stub: GoalReflectionServiceStub) -> None:
    for number in range(3):
        report(stub, failed_goal("block", error=f"reason {number}", tasks=()))
        until_found(partial(_has, stub, number + 1))
    report(stub, failed_goal("block", "mail", objective="Send weekly report", state=pb.GOAL_STATE_COMPLETED))
    until_found(lambda: reflections(stub, "block", "mail"))
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
    (reflection,) = until_found(lambda: reflections(stub, "turn"))
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


def test_delete(stub: GoalReflectionServiceStub) -> None:
    for goal_id in ("g", "h"):
        report(stub, failed_goal("delete", goal_id))
    until_found(lambda: len(reports(stub, "delete", report_state=pb.GOAL_REPORT_STATE_DONE)) == 2)
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
    (reflection,) = until_found(lambda: reflections(stub, "secret"))
    everything = (*watched(stub, "secret"), *reports(stub, "secret"), block(stub, "secret"), reflection)
    assert not any(b"a" * 30 in message.SerializeToString() for message in everything)
    assert "[redacted:" in reflection.objective


def test_tenants_never_meet(stub: GoalReflectionServiceStub) -> None:
    report(stub, failed_goal("mine", error="only mine"))
    report(stub, failed_goal("theirs", error="only theirs", state=pb.GOAL_STATE_COMPLETED))
    (mine,) = until_found(lambda: reflections(stub, "mine"))
    (theirs,) = until_found(lambda: reflections(stub, "theirs"))
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
    (reflection,) = until_found(lambda: reflections(stub, "odd", goal_id))
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


def test_health_and_server_info(server: SidecarThread) -> None:
    with grpc.insecure_channel(server.address) as channel:
        request = health_pb2.HealthCheckRequest(service="sidemirror.v1.GoalReflectionService")
        health: Any = health_pb2_grpc.HealthStub(channel)
        answer = health.Check(request, timeout=TIMEOUT_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)
        assert "goal_reflection" in {model.purpose for model in info.models}
