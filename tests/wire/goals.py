"""GoalReflectionService as tests call it, and a goal that failed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from sidemirror.v1 import common_pb2
from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from tests.wire.calls import (
    TIMEOUT_S,
)
from tests.wire.sidecar import SidecarThread

PRICING = "Research competitor pricing"


@contextmanager
def goals(server: SidecarThread) -> Iterator[GoalReflectionServiceStub]:
    with grpc.insecure_channel(server.address) as channel:
        yield GoalReflectionServiceStub(channel)


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
