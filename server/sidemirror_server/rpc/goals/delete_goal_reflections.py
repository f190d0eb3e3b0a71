"""DeleteGoalReflections: removes a goal's reflections."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.publish import GoalRecords
from sidemirror_server.rpc.boundary.call import Call


async def delete_goal_reflections(
    records: GoalRecords, request: pb.DeleteGoalReflectionsRequest, call: Call
) -> pb.DeleteGoalReflectionsResponse:
    deleted = await records.delete(call.scope, request.goal_id, call.clock.now_us())
    return pb.DeleteGoalReflectionsResponse(deleted_count=deleted)
