"""RetryGoalReport: queues a dead report again."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.report import KIND
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.goals.reflections import REPORT_STATES
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.work.queue import Jobs, JobState


async def retry_goal_report(work: Jobs, request: pb.RetryGoalReportRequest, call: Call) -> pb.RetryGoalReportResponse:
    job_id = JobId(request.report_id)
    job = await work.get(call.scope, job_id)
    if job is None or job.kind != KIND:
        raise NotFound("report", request.report_id)
    await work.revive(call.scope, job_id, call.clock.now_us())
    return pb.RetryGoalReportResponse(report_state=REPORT_STATES[JobState.QUEUED])
