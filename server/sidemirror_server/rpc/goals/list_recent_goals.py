"""ListRecentGoals: the goals with the newest reflections."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.goals.reflections import reflection_to_wire


async def list_recent_goals(
    reflections: GoalReflections, request: pb.ListRecentGoalsRequest, call: Call
) -> pb.ListRecentGoalsResponse:
    goals = await reflections.recent(call.scope, call.clock.now_us())
    return pb.ListRecentGoalsResponse(goals=[_recent_to_wire(goal) for goal in goals])


def _recent_to_wire(goal: tuple[GoalReflection, ...]) -> pb.RecentGoal:
    """A goal from its reflections: at least one, the newest first."""
    return pb.RecentGoal(
        goal_id=goal[0].goal_id,
        objective=goal[0].objective,
        reflections=[reflection_to_wire(reflection) for reflection in goal],
    )
