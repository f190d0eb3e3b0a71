"""ListGoalReports: a page of reports with their states."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.publish import is_shown
from sidemirror_server.goals.report import KIND, GoalReport, reflection_of, report_in
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.goals.reflections import REPORT_STATES, STATES, reflection_to_wire
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.work.queue import LIST_BYTES, Job, JobKey, Jobs, JobState

_JOB_STATES = {number: state for state, number in REPORT_STATES.items()}
# Contract: a page of one goal looks through 1,000 reports. Here in parts.
_PART, _PARTS = 200, 5


async def list_goal_reports(work: Jobs, request: pb.ListGoalReportsRequest, call: Call) -> pb.ListGoalReportsResponse:
    size, goal_id = size_of(request.page_size, 50), request.goal_id
    query = (call.scope, "goal reports", request.report_state, *((goal_id,) if goal_id else ()))
    after = place_in(request.page_token, JobKey, "page_token", *query)
    states = (_JOB_STATES[request.report_state],) if request.report_state else ()
    found: list[pb.GoalReport] = []
    is_cut, now_us = True, call.clock.now_us()
    # A goal's reports have no index: they are few among those of a week.
    for _ in range(_PARTS if goal_id else 1):
        most = _PART if goal_id else size
        jobs = await work.list(call.scope, KIND, states, after, most + 1)
        # The queue cuts a list at LIST_BYTES, because reports hold whole outputs: a page of large reports is short.
        is_cut = len(jobs) > most or sum(len(job.payload) for job in jobs) >= LIST_BYTES
        for job in jobs[:most]:
            report = report_in(job.payload)
            is_meant = is_shown(job, now_us) and goal_id in ("", report.goal_id)
            if is_meant and len(found) == size:
                is_cut = True
                break
            after = JobKey(job.created_us, job.job_id)
            if is_meant:
                found.append(_report_to_wire(job, report))
        if not is_cut or len(found) == size:
            break
    token = token_for(after, *query) if is_cut and after else ""
    return pb.ListGoalReportsResponse(reports=found, next_page_token=token)


def _report_to_wire(job: Job, report: GoalReport) -> pb.GoalReport:
    """A report with its state and its reflection."""
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
        turn_id=report.turn_id,
    )
