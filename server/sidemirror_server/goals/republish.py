"""Publishes again what Redis has lost: the finished reports of the last 7 days still hold their reflections.

`assembly` runs it where goal reflections are kept apart from the reports that they are made from. Such a store may
evict, be emptied, or forget on a restart, and says when that may have happened; besides, it is looked through now and
then. A `put` of what is there, was deleted, or is too old changes nothing, so everything is put, by every sidecar
that serves it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.store import KEPT_FOR_US, MOST_PER_GOAL, GoalReflections
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import PlaceTaken, SidemirrorError
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves
from sidemirror_server.work.queue import Job, JobKey, JobState, Work

_log = logging.getLogger(__name__)

# Chosen here. For what was lost without a sign, such as a key that somebody deleted.
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
        serves: Serves = SERVES_ALL,
    ) -> None:
        """`kind`: of the jobs that make reflections; `reflection_of`: the one that such a job has made, if any;
        `serves`: whose."""
        self._work = work
        self._kind = kind
        self._reflection_of = reflection_of
        self._reflections = reflections
        self._clock = clock
        self._serves = serves

    async def run(self, may_have_forgotten: asyncio.Event) -> None:
        """Publishes again whenever the event is set, which it clears, and every hour; until cancelled."""
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
        """Puts what finished reports hold, and returns how many reflections the store did not have.

        Raises StoreUnavailable, StoreFull.
        """
        count = 0
        for scope in await self._work.scopes(self._serves, (self._kind,)):
            # When the newest ones of each goal were made. Another try may make of an early report the newest of all.
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
        """Whether it had been lost. A goal whose place another program took does not hold up the others."""
        try:
            return await self._reflections.put(scope, reflection, self._clock.now_us())
        except PlaceTaken as error:
            facts = {"reflection_id": reflection.reflection_id, "reason": str(error)}
            _log.warning("goal_reflection_not_republished", extra=facts)
            return False

    async def _finished(self, scope: Scope) -> AsyncIterator[GoalReflection]:
        """What reports of the scope have come to and is young enough, those that were reported last first."""
        after: JobKey | None = None
        while jobs := await self._work.list(scope, self._kind, (JobState.DONE,), after, _PAGE):
            after = JobKey(jobs[-1].created_us, jobs[-1].job_id)
            for job in jobs:
                reflection = self._reflection_of(job)
                if reflection is not None and reflection.created_us + KEPT_FOR_US > self._clock.now_us():
                    yield reflection
