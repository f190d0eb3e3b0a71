"""From a report to a stored reflection: the handler of the report's job, and the deletion of a goal's records.

A job may run again after a crash at any moment. The model's answer is noted with the job before it is used. Storing and
announcing may then be repeated without effect, because the reflection's id is derived from its report.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.reflect import reflect
from sidemirror_server.goals.report import (
    KIND,
    GoalReport,
    reflection_body,
    reflection_id_of,
    reflection_in,
    reflection_of,
    report_in,
)
from sidemirror_server.goals.retired import Retired
from sidemirror_server.goals.store import KEPT_FOR_US, MOST_PER_GOAL, GoalReflections
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import Journal, Note
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.budget import LONGEST_MODEL_CALL_S
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed, NotFound, WrongState
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.telling import says_only_outcome
from sidemirror_server.work.queue import Job, JobKey, JobState, Work
from sidemirror_server.work.worker import PATIENCE_S, ClaimedJob, Hopeless, patiently

_log = logging.getLogger(__name__)

# The log topic that watches read. Stored; never changes.
TOPIC = "goal_reflection"
_PAGE = 100
# A report with the tasks of the turn that it names, if it has none of its own.
WithTasks = Callable[[Scope, GoalReport], Awaitable[GoalReport]]


class Publisher:
    """Makes reflections of reports, and stores and announces each once that tells something."""

    def __init__(
        self,
        model: ScopedModel,
        reflections: GoalReflections,
        journal: Journal,
        bell: Bell,
        clock: Clock,
        with_tasks: WithTasks,
        retired: Retired,
    ) -> None:
        self._model = model
        self._reflections = reflections
        self._journal = journal
        self._bell = bell
        self._clock = clock
        self._with_tasks = with_tasks
        self._retired = retired

    async def handle(self, task: ClaimedJob) -> bytes:
        """The worker's handler; its result is the reflection, or empty if it would say no more than how the goal ended,
        or what a retired lesson says. Raises ModelFailed, Hopeless, NotNow and what the stores raise."""
        job = task.job
        until_s = self._clock.monotonic_s() + PATIENCE_S + LONGEST_MODEL_CALL_S
        notes = job.checkpoint
        if notes is None:
            made = await patiently(lambda: self._reflect(job), self._clock, until_s)
            if says_only_outcome(made.insight) or await self._retired(job.scope, (made.insight,)):
                _log.info("reflection_not_stored", extra={**whose(job.scope), "report_id": job.job_id})
                return b""
            notes = reflection_body(made)
            await patiently(lambda: task.checkpoint(notes), self._clock, until_s)
        await patiently(lambda: self._publish(job, reflection_in(notes)), self._clock, until_s)
        return notes

    async def _reflect(self, job: Job) -> GoalReflection:
        facts = {**whose(job.scope), "report_id": job.job_id, "attempts": job.attempts}
        _log.info("reflection_generation_started", extra=facts)
        reflection_id = reflection_id_of(job.scope, job.job_id)
        report = await self._with_tasks(job.scope, report_in(job.payload))
        try:
            made = await reflect(self._model, job.scope, reflection_id, report, self._clock, LONGEST_MODEL_CALL_S)
        except ModelFailed as failure:
            _log.info("reflection_generation_failed", extra={**facts, "status": failure.status.value})
            if failure.status is ResultStatus.REFUSED:
                raise Hopeless(str(failure)) from failure
            raise
        _log.info("reflection_generated", extra={**facts, "importance": made.importance})
        return made

    async def _publish(self, job: Job, reflection: GoalReflection) -> None:
        """Stores and announces the reflection of a report; skips what an earlier attempt has done."""
        scope, now_us = job.scope, self._clock.now_us()
        is_new = await self._reflections.put(scope, reflection, now_us)
        if not is_new and not await self._may_be_told(scope, reflection, now_us):
            return
        note = Note(reflection.reflection_id, reflection.goal_id, reflection.created_us, reflection_body(reflection))
        own = key(SourceKind.GOAL_REFLECTION, reflection.reflection_id)
        sources = (own, key(SourceKind.GOAL_REPORT, job.job_id))
        if await self._journal.add(scope, TOPIC, note, KEPT_FOR_US, sources):
            _log.info("reflection_stored", extra={**whose(scope), "reflection_id": reflection.reflection_id})
            self._bell.ring(scope, {reflection.goal_id})

    async def _may_be_told(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
        """Whether to announce a reflection that `put` refused. A reflection that is already stored, or that newer ones
        replaced, is announced; a deleted one is not."""
        kept = await self._reflections.of_goal(scope, reflection.goal_id, now_us)
        is_kept = any(one.reflection_id == reflection.reflection_id for one in kept)
        return is_kept or (len(kept) == MOST_PER_GOAL and all(one.created_us >= reflection.created_us for one in kept))


class GoalRecords:
    """Deletes a goal's records from all stores."""

    def __init__(self, work: Work, reflections: GoalReflections, journal: Journal) -> None:
        self._work = work
        self._reflections = reflections
        self._journal = journal

    async def delete(self, scope: Scope, goal_id: str, now_us: int) -> int:
        """Deletes the goal's reflections, journal entries and ended reports; returns the number of deleted reflections.
        A repeated call continues an interrupted one. Raises what the stores raise."""
        deleted = await self._reflections.delete(scope, goal_id, now_us)
        await self._journal.remove(scope, TOPIC, goal_id)
        after: JobKey | None = None
        ended = (JobState.DONE, JobState.DEAD)
        while jobs := await self._work.list(scope, KIND, ended, after, _PAGE):
            after = JobKey(jobs[-1].created_us, jobs[-1].job_id)
            for job in jobs:
                if report_in(job.payload).goal_id == goal_id:
                    # Another call may have deleted the job meanwhile, or revived it.
                    with contextlib.suppress(NotFound, WrongState):
                        await self._work.forget(scope, job.job_id)
        return deleted


def is_shown(job: Job, now_us: int) -> bool:
    """Whether to list a report: always before it is done, and then for as long as its reflection is shown."""
    reflection = reflection_of(job)
    return reflection is None or reflection.created_us + KEPT_FOR_US > now_us
