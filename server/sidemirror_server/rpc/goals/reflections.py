"""Converters for goal reflections, and for the states of goals and reports."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.rpc.wire.common import ORIGINS, timestamp
from sidemirror_server.work.queue import JobState

STATES = {GoalState.COMPLETED: pb.GOAL_STATE_COMPLETED, GoalState.FAILED: pb.GOAL_STATE_FAILED}
REPORT_STATES = {
    JobState.QUEUED: pb.GOAL_REPORT_STATE_QUEUED,
    JobState.RUNNING: pb.GOAL_REPORT_STATE_RUNNING,
    JobState.RETRYING: pb.GOAL_REPORT_STATE_RETRYING,
    JobState.DONE: pb.GOAL_REPORT_STATE_DONE,
    JobState.DEAD: pb.GOAL_REPORT_STATE_DEAD,
}


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
