"""ReportGoal: queues a finished goal for reflection in the background."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.report import KIND, MAX_ATTEMPTS, GoalReport, GoalTask, report_body
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.goals.reflections import REPORT_STATES, STATES
from sidemirror_server.rpc.wire.common import subjects_of
from sidemirror_server.trace.sources import SourceKind, keys
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.text import enter
from sidemirror_server.work.queue import Jobs, NewJob

_STATE_NAMES = {number: state for state, number in STATES.items()}


async def report_goal(work: Jobs, request: pb.ReportGoalRequest, call: Call) -> pb.ReportGoalResponse:
    if request.state == pb.GOAL_STATE_UNSPECIFIED:
        raise BadInput([("state", "required")])
    job = NewJob(
        *(JobId(call.make_id()), KIND, report_body(_report_of(request)), MAX_ATTEMPTS),
        sources=(
            *keys(SourceKind.SUBJECT, subjects_of(request.subject_ids)),
            *keys(SourceKind.TURN, (request.turn_id,)),
        ),
    )
    kept = await work.put(call.scope, job, call.clock.now_us())
    return pb.ReportGoalResponse(report_id=kept.job_id, report_state=REPORT_STATES[kept.state])


def _report_of(request: pb.ReportGoalRequest) -> GoalReport:
    """The record of a report, whose state must be set."""
    return GoalReport(
        goal_id=request.goal_id,
        objective=enter(request.objective),
        state=_STATE_NAMES[request.state],
        tasks=tuple(
            GoalTask(enter(task.name), enter(task.output_summary), enter(task.error)) for task in request.tasks
        ),
        error=enter(request.error),
        turn_id=request.turn_id,
        subject_ids=subjects_of(request.subject_ids),
    )
