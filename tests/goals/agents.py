"""Agents that report goals, whatever happens to the sidecar; and what is found afterwards."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import grpc

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1 import goal_reflection_pb2_grpc as pb_grpc
from tests.faults.sidecars import channel

Stub = Any  # the generated async stub has no runtime class
# What says nothing about whether it happened.
_UNKNOWN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Stub]:
    """A stub of the service of goals on a connection of its own."""
    async with channel(address) as connection:
        yield pb_grpc.GoalReflectionServiceStub(connection)


def a_report(goal_id: str, request_id: str = "", **fields: object) -> pb.ReportGoalRequest:
    given: dict[str, Any] = {"objective": f"Reach {goal_id}", "state": pb.GOAL_STATE_FAILED, **fields}
    return pb.ReportGoalRequest(request_id=request_id, goal_id=goal_id, **given)


async def report_until_accepted(address: Callable[[], str], request: pb.ReportGoalRequest) -> str:
    """The report's id. Asks again, as the same request, for as long as nobody knows whether it was heard."""
    async with asyncio.timeout(120):
        while True:
            try:
                async with connected(address()) as stub:
                    answer = await stub.ReportGoal(request, timeout=5)
                    return str(answer.report_id)
            except grpc.aio.AioRpcError as error:
                if error.code() not in _UNKNOWN:
                    raise
            await asyncio.sleep(0.05)


async def all_reports(stub: Stub, state: Any = pb.GOAL_REPORT_STATE_UNSPECIFIED) -> list[pb.GoalReport]:
    """Every page of them."""
    found: list[pb.GoalReport] = []
    token = ""
    while True:
        request = pb.ListGoalReportsRequest(report_state=state, page_size=1000, page_token=token)
        page = await stub.ListGoalReports(request, timeout=60)
        found += page.reports
        token = page.next_page_token
        if not token:
            return found


def ended(reports: Iterable[pb.GoalReport]) -> Counter[str]:
    """How many are in each state."""
    return Counter(pb.GoalReportState.Name(report.report_state).rpartition("_")[2] for report in reports)


async def until_ended(stub: Stub, count: int, within_s: float) -> Counter[str]:
    """Waits until so many reports are done or dead; returns how many are which."""
    deadline_s = asyncio.get_running_loop().time() + within_s
    while True:
        began_s = asyncio.get_running_loop().time()
        try:
            states = ended(await all_reports(stub))
        except grpc.aio.AioRpcError as error:
            if error.code() not in _UNKNOWN:
                raise
            states = Counter()
        if states["DONE"] + states["DEAD"] >= count:
            return states
        now_s = asyncio.get_running_loop().time()
        assert now_s < deadline_s, states
        # Whoever looks at thousands of reports all the time is what the workers wait for.
        await asyncio.sleep(max(0.2, 5 * (now_s - began_s)))


async def everything_told(stub: Stub) -> list[pb.GoalReflection]:
    """What a watch tells from the oldest to the present."""
    watch = stub.WatchGoalReflections(pb.WatchGoalReflectionsRequest(follow=False), timeout=60)
    return [response.reflection async for response in watch if response.HasField("reflection")]


async def reflections_of(stub: Stub, goal_id: str) -> list[pb.GoalReflection]:
    answer = await stub.GetGoalReflections(pb.GetGoalReflectionsRequest(goal_id=goal_id), timeout=60)
    return list(answer.reflections)
