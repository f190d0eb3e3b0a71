"""ListGoalReports: a page of reports with their states."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.publish import is_shown
from sidemirror_server.goals.report import KIND, reflection_of, report_in
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.goals.reflections import REPORT_STATES, STATES, reflection_to_wire
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.work.queue import LIST_BYTES, Job, JobKey, Jobs, JobState

_JOB_STATES = {number: state for state, number in REPORT_STATES.items()}


async def list_goal_reports(work: Jobs, request: pb.ListGoalReportsRequest, call: Call) -> pb.ListGoalReportsResponse:
    size = size_of(request.page_size, 50)
    query = (call.scope, "goal reports", request.report_state)
    after = place_in(request.page_token, JobKey, "page_token", *query)
    states = (_JOB_STATES[request.report_state],) if request.report_state else ()
    jobs = await work.list(call.scope, KIND, states, after, size + 1)
    page = jobs[:size]
    # The queue cuts a list at LIST_BYTES, because reports hold whole outputs: a page of large reports is short.
    is_cut = len(jobs) > size or sum(len(job.payload) for job in jobs) >= LIST_BYTES
    last = page[-1] if is_cut else None
    now_us = call.clock.now_us()
    return pb.ListGoalReportsResponse(
        reports=[_report_to_wire(job) for job in page if is_shown(job, now_us)],
        next_page_token=token_for(JobKey(last.created_us, last.job_id), *query) if last else "",
    )


def _report_to_wire(job: Job) -> pb.GoalReport:
    """A report with its state and its reflection."""
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
