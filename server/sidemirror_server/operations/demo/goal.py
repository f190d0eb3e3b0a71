"""Between the demonstration's attempts: the agent reports that the goal has failed, as it would at the end of any goal,
and the sidecar makes a reflection of it. The next attempt names the goal when it starts, and gets that back."""

import asyncio
from collections.abc import Sequence

import grpc

from sidemirror.v1 import common_pb2, goal_reflection_pb2_grpc
from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.operations.demo.books import QUESTION

GOAL_ID = "what-ortega-owes"
_DEADLINE_S = 5.0
# The built-in rules take milliseconds; a model of one's own may take a while.
_PATIENCE_S = 40.0


async def report_goal(channel: grpc.aio.Channel, results: Sequence[common_pb2.ToolResult]) -> pb.GoalReflection | None:
    """Reports that the goal has failed, with what each tool returned last, and returns what the sidecar makes of it;
    None when nothing comes."""
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
