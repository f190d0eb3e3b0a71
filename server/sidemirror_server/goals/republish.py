"""Publishes again the reflections that Redis has lost, from the finished reports of the last 7 days (decision 028).

`assembly` runs this if goal reflections and their reports are in different stores. Redis may evict entries, or lose
them when it restarts or is emptied; a signal says when that may have happened. On a signal and every hour, every
sidecar that serves the scope puts all reflections again. A `put` of a present, deleted or too old one changes nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.store import KEPT_FOR_US, MOST_PER_GOAL, GoalReflections
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import PlaceTaken, SidemirrorError
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves, whose
from sidemirror_server.work.queue import Job, JobKey, JobState, Work

_log = logging.getLogger(__name__)

# Chosen here. Covers losses without a signal, such as a key that somebody deleted.
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
        """`kind`: the kind of the jobs that make reflections. `reflection_of`: returns a job's reflection, or None.
        `serves`: the scopes whose reflections are put."""
        self._work = work
        self._kind = kind
        self._reflection_of = reflection_of
        self._reflections = reflections
        self._clock = clock
        self._serves = serves
        self._outage = Outage(_log, "goal_reflections_not_republished", "goal_reflections_looked_at_again", clock)

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
                self._outage.failed({"reason": str(error)})
                may_have_forgotten.set()
                await asyncio.sleep(_RETRY_S)
            else:
                self._outage.worked()
                if count:
                    _log.warning("goal_reflections_republished", extra={"count": count})

    async def republish(self) -> int:
        """Puts the reflections of finished reports, and returns how many the store did not have.

        Raises StoreUnavailable, StoreFull.
        """
        count = 0
        for scope in await self._work.scopes(self._serves, (self._kind,)):
            # By goal: creation times of its newest reflections. After a retry an early report may have the newest one.
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
            facts = {**whose(scope), "reflection_id": reflection.reflection_id, "reason": str(error)}
            _log.warning("goal_reflection_not_republished", extra=facts)
            return False

    async def _finished(self, scope: Scope) -> AsyncIterator[GoalReflection]:
        """The reflections of finished reports that are young enough to show, the latest report first."""
        after: JobKey | None = None
        while jobs := await self._work.list(scope, self._kind, (JobState.DONE,), after, _PAGE):
            after = JobKey(jobs[-1].created_us, jobs[-1].job_id)
            for job in jobs:
                reflection = self._reflection_of(job)
                if reflection is not None and reflection.created_us + KEPT_FOR_US > self._clock.now_us():
                    yield reflection
