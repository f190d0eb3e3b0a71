"""The calls of GoalReflectionService that answer once."""

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.context import GoalContexts
from sidemirror_server.goals.publish import GoalRecords, is_shown
from sidemirror_server.goals.report import KIND, MAX_ATTEMPTS, report_body
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.rpc.blocks import block_to_wire
from sidemirror_server.rpc.call import Call
from sidemirror_server.rpc.goal_messages import (
    JOB_STATES,
    REPORT_STATES,
    recent_to_wire,
    reflection_to_wire,
    report_of,
    report_to_wire,
)
from sidemirror_server.rpc.pages import place_in, size_of, token_for
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.text import enter
from sidemirror_server.work.queue import LIST_BYTES, JobKey, Jobs, JobState, NewJob


class GoalCalls:
    """Takes reports, and shows what is kept."""

    def __init__(self, work: Jobs, reflections: GoalReflections, records: GoalRecords, contexts: GoalContexts) -> None:
        self._work = work
        self._reflections = reflections
        self._records = records
        self._contexts = contexts

    async def ReportGoal(self, request: pb.ReportGoalRequest, call: Call) -> pb.ReportGoalResponse:
        if request.state == pb.GOAL_STATE_UNSPECIFIED:
            raise BadInput([("state", "required")])
        job = NewJob(JobId(call.make_id()), KIND, report_body(report_of(request)), MAX_ATTEMPTS)
        kept = await self._work.put(call.scope, job, call.clock.now_us())
        return pb.ReportGoalResponse(report_id=kept.job_id, report_state=REPORT_STATES[kept.state])

    async def ListGoalReports(self, request: pb.ListGoalReportsRequest, call: Call) -> pb.ListGoalReportsResponse:
        size = size_of(request.page_size, 50)
        query = (call.scope, "goal reports", request.report_state)
        after = place_in(request.page_token, JobKey, "page_token", *query)
        states = (JOB_STATES[request.report_state],) if request.report_state else ()
        jobs = await self._work.list(call.scope, KIND, states, after, size + 1)
        page = jobs[:size]
        # Reports hold whole outputs, which are read to list them: a page of large ones is short.
        is_cut = len(jobs) > size or sum(len(job.payload) for job in jobs) >= LIST_BYTES
        last = page[-1] if is_cut else None
        now_us = call.clock.now_us()
        return pb.ListGoalReportsResponse(
            reports=[report_to_wire(job) for job in page if is_shown(job, now_us)],
            next_page_token=token_for(JobKey(last.created_us, last.job_id), *query) if last else "",
        )

    async def RetryGoalReport(self, request: pb.RetryGoalReportRequest, call: Call) -> pb.RetryGoalReportResponse:
        job_id = JobId(request.report_id)
        job = await self._work.get(call.scope, job_id)
        if job is None or job.kind != KIND:
            raise NotFound("report", request.report_id)
        await self._work.revive(call.scope, job_id, call.clock.now_us())
        return pb.RetryGoalReportResponse(report_state=REPORT_STATES[JobState.QUEUED])

    async def GetGoalReflections(
        self, request: pb.GetGoalReflectionsRequest, call: Call
    ) -> pb.GetGoalReflectionsResponse:
        found = await self._reflections.of_goal(call.scope, request.goal_id, call.clock.now_us())
        return pb.GetGoalReflectionsResponse(reflections=[reflection_to_wire(reflection) for reflection in found])

    async def ListRecentGoals(self, request: pb.ListRecentGoalsRequest, call: Call) -> pb.ListRecentGoalsResponse:
        goals = await self._reflections.recent(call.scope, call.clock.now_us())
        return pb.ListRecentGoalsResponse(goals=[recent_to_wire(goal) for goal in goals])

    async def DeleteGoalReflections(
        self, request: pb.DeleteGoalReflectionsRequest, call: Call
    ) -> pb.DeleteGoalReflectionsResponse:
        deleted = await self._records.delete(call.scope, request.goal_id, call.clock.now_us())
        return pb.DeleteGoalReflectionsResponse(deleted_count=deleted)

    async def BuildGoalContext(self, request: pb.BuildGoalContextRequest, call: Call) -> pb.BuildGoalContextResponse:
        block = await self._contexts.build(
            call.scope,
            request.goal_id,
            enter(request.task),
            request.max_items,
            receipt_id=call.make_id(),
            now_us=call.clock.now_us(),
        )
        return pb.BuildGoalContextResponse(block=block_to_wire(block))
