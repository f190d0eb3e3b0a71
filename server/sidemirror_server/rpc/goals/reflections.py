"""Goals, their reports and reflections between the wire and the records. Each text is entered here, once."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.goals.report import Report, Task, reflection_of, report_in
from sidemirror_server.rpc.wire.common import ORIGINS, timestamp
from sidemirror_server.vocabulary.text import enter
from sidemirror_server.work.queue import Job, JobState

STATES = {GoalState.COMPLETED: pb.GOAL_STATE_COMPLETED, GoalState.FAILED: pb.GOAL_STATE_FAILED}
STATE_NAMES = {number: state for state, number in STATES.items()}
REPORT_STATES = {
    JobState.QUEUED: pb.GOAL_REPORT_STATE_QUEUED,
    JobState.RUNNING: pb.GOAL_REPORT_STATE_RUNNING,
    JobState.RETRYING: pb.GOAL_REPORT_STATE_RETRYING,
    JobState.DONE: pb.GOAL_REPORT_STATE_DONE,
    JobState.DEAD: pb.GOAL_REPORT_STATE_DEAD,
}
JOB_STATES = {number: state for state, number in REPORT_STATES.items()}


def report_of(request: pb.ReportGoalRequest) -> Report:
    """The record of a report. Its state is said."""
    return Report(
        goal_id=request.goal_id,
        objective=enter(request.objective),
        state=STATE_NAMES[request.state],
        tasks=tuple(Task(enter(task.name), enter(task.output_summary), enter(task.error)) for task in request.tasks),
        error=enter(request.error),
    )


def reflection_to_wire(reflection: GoalReflection) -> pb.GoalReflection:
    """A reflection."""
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


def report_to_wire(job: Job) -> pb.GoalReport:
    """A report, and what became of it."""
    report = report_in(job.payload)
    reflection = reflection_of(job)
    return pb.GoalReport(
        report_id=job.job_id,
        goal_id=report.goal_id,
        objective=report.short_objective,
        state=STATES[report.state],
        report_state=REPORT_STATES[job.state],
        attempts=job.attempts,
        last_error=job.last_error or "",
        create_time=timestamp(job.created_us),
        update_time=timestamp(job.updated_us),
        retry_time=timestamp(job.run_at_us) if job.state is JobState.RETRYING else None,
        reflection=None if reflection is None else reflection_to_wire(reflection),
    )


def recent_to_wire(goal: tuple[GoalReflection, ...]) -> pb.RecentGoal:
    """A goal by its reflections, the newest first; at least one."""
    return pb.RecentGoal(
        goal_id=goal[0].goal_id,
        objective=goal[0].objective,
        reflections=[reflection_to_wire(reflection) for reflection in goal],
    )
