"""Converters for goal reflections, and for the states of goals and reports."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.rpc.wire.common import ORIGINS, numbers_of, timestamp
from sidemirror_server.work.queue import JobState

STATES = numbers_of(GoalState, pb.GoalState)
REPORT_STATES = numbers_of(JobState, pb.GoalReportState)


def reflection_to_wire(reflection: GoalReflection) -> pb.GoalReflection:
    """A goal's reflection as a message."""
    return pb.GoalReflection(
        id=reflection.reflection_id,
        goal_id=reflection.goal_id,
        objective=reflection.objective,
        insight=reflection.insight,
        importance=reflection.importance,
        goal_state=STATES[reflection.goal_state],
        create_time=timestamp(reflection.created_us),
        origin=ORIGINS[reflection.origin],
    )
