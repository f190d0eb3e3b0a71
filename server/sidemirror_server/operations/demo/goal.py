"""Between the attempts, the agent reports the failed goal, as it would at the end of any goal. The sidecar makes a
reflection of the report, and returns it when the next attempt names the goal."""

import asyncio
from collections.abc import Sequence

import grpc

from sidemirror.v1 import common_pb2, goal_reflection_pb2_grpc
from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.operations.demo.books import QUESTION

GOAL_ID = "what-ortega-owes"
_DEADLINE_S = 5.0
# The built-in rules take milliseconds; a local model may take much longer.
_PATIENCE_S = 40.0


async def report_goal(channel: grpc.aio.Channel, results: Sequence[common_pb2.ToolResult]) -> pb.GoalReflection | None:
    """Reports the failed goal with the last result of each tool. Returns the sidecar's reflection, or None if there is
    none in time."""
    stub = goal_reflection_pb2_grpc.GoalReflectionServiceStub(channel)
    last = {result.name: result for result in results}
    tasks = [
        pb.GoalTask(name=name, **{"error" if result.is_error else "output_summary": result.content})
        for name, result in last.items()
    ]
    request = pb.ReportGoalRequest(goal_id=GOAL_ID, objective=QUESTION, state=pb.GOAL_STATE_FAILED, tasks=tasks)
    await stub.ReportGoal(request, timeout=_DEADLINE_S)
    watch = stub.WatchGoalReflections(pb.WatchGoalReflectionsRequest(goal_id=GOAL_ID))
    try:
        async with asyncio.timeout(_PATIENCE_S):
            async for response in watch:
                if response.HasField("reflection"):
                    return response.reflection
    except TimeoutError:
        pass
    finally:
        watch.cancel()
    return None
