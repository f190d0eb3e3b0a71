"""BuildGoalContext: a block of goal reflections for a task."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.context import GoalContexts
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.blocks import block_to_wire
from sidemirror_server.vocabulary.text import enter


async def build_goal_context(
    contexts: GoalContexts, request: pb.BuildGoalContextRequest, call: Call
) -> pb.BuildGoalContextResponse:
    block = await contexts.build(
        call.scope,
        request.goal_id,
        enter(request.task),
        request.max_items,
        receipt_id=call.make_id(),
        now_us=call.clock.now_us(),
    )
    return pb.BuildGoalContextResponse(block=block_to_wire(block))
