"""Publishes again the reflections that Redis has lost, from the finished reports of the last 7 days (decision 028).

`assembly` runs it when goal reflections are kept apart from their reports. Such a store may evict, be emptied or lose
entries at a restart, and signals when that may have happened. Everything is put again on a signal and every hour, by
every sidecar: a `put` of a reflection that is there, was deleted or is too old changes nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.store import KEPT_FOR_US, MOST_PER_GOAL, GoalReflections
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import PlaceTaken, SidemirrorError
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import Job, JobKey, JobState, Work

_log = logging.getLogger(__name__)

# Chosen here. For losses without a signal, such as a key that somebody deleted.
_LOOK_EVERY_S = 3600.0
_RETRY_S = 1.0
_PAGE = 100


class Republisher:
    """Keeps the published reflections complete."""

    def __init__(
        self,
        work: Work,
        kind: str,
        reflection_of: Callable[[Job], GoalReflection | None],
        reflections: GoalReflections,
        clock: Clock,
    ) -> None:
        """`kind`: of the jobs that make reflections; `reflection_of`: a job's reflection, if it has made one."""
        self._work = work
        self._kind = kind
        self._reflection_of = reflection_of
        self._reflections = reflections
        self._clock = clock

    async def run(self, may_have_forgotten: asyncio.Event) -> None:
        """Publishes again whenever the event is set, and every hour, until cancelled. Clears the event."""
        while True:
            try:
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await may_have_forgotten.wait()
            except TimeoutError:
                pass
            may_have_forgotten.clear()
            try:
                count = await self.republish()
            except SidemirrorError as error:
                _log.warning("goal_reflections_not_republished", extra={"reason": str(error)})
                may_have_forgotten.set()
                await asyncio.sleep(_RETRY_S)
            else:
                if count:
                    _log.warning("goal_reflections_republished", extra={"count": count})

    async def republish(self) -> int:
        """Puts the reflections of finished reports, and returns how many the store did not have.

        Raises StoreUnavailable, StoreFull.
        """
        count = 0
        for scope in await self._work.scopes((self._kind,)):
            # By goal: creation times of its newest reflections. A retry can make an early report's one the newest.
            newest: dict[str, list[int]] = {}
            async for reflection in self._finished(scope):
                of_goal = newest.setdefault(reflection.goal_id, [])
                if len(of_goal) == MOST_PER_GOAL and reflection.created_us < of_goal[0]:
                    continue
                of_goal.append(reflection.created_us)
                of_goal.sort()
                del of_goal[:-MOST_PER_GOAL]
                count += await self._put(scope, reflection)
        return count

    async def _put(self, scope: Scope, reflection: GoalReflection) -> bool:
        """Puts a reflection; returns whether it was lost. PlaceTaken is only logged, to go on with the other goals."""
        try:
            return await self._reflections.put(scope, reflection, self._clock.now_us())
        except PlaceTaken as error:
            facts = {"reflection_id": reflection.reflection_id, "reason": str(error)}
            _log.warning("goal_reflection_not_republished", extra=facts)
            return False

    async def _finished(self, scope: Scope) -> AsyncIterator[GoalReflection]:
        """The reflections of the scope's finished reports that are young enough to show, latest report first."""
        after: JobKey | None = None
        while jobs := await self._work.list(scope, self._kind, (JobState.DONE,), after, _PAGE):
            after = JobKey(jobs[-1].created_us, jobs[-1].job_id)
            for job in jobs:
                reflection = self._reflection_of(job)
                if reflection is not None and reflection.created_us + KEPT_FOR_US > self._clock.now_us():
                    yield reflection
