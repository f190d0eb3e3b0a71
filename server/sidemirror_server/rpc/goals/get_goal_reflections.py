"""GetGoalReflections: the reflections of one goal."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.goals.reflections import reflection_to_wire


async def get_goal_reflections(
    reflections: GoalReflections, request: pb.GetGoalReflectionsRequest, call: Call
) -> pb.GetGoalReflectionsResponse:
    found = await reflections.of_goal(call.scope, request.goal_id, call.clock.now_us())
    return pb.GetGoalReflectionsResponse(reflections=[reflection_to_wire(reflection) for reflection in found])
