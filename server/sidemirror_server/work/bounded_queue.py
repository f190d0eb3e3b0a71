"""The port `Jobs` with a limit on the waiting jobs of each scope, so that no tenant's jobs fill the store.

`assembly/` gives it to rooms that put jobs; the worker uses the unbounded queue.
"""

from collections import OrderedDict
from collections.abc import Collection

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import LimitReached
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.telemetry import JOBS_PUT
from sidemirror_server.work.queue import Job, JobKey, JobState, NewJob, Work
from sidemirror_server.work.rotation import Rotation

# How long a count is valid, in seconds; jobs put meanwhile are added to it. Chosen here: a count is a query to the
# store, and the jobs put within a second over the limit do no harm.
_COUNT_AGAIN_S = 1.0
# How many counts are kept; the least recently used one is dropped.
_SCOPES = 1_000


class Bounded:
    """The port `Jobs` that refuses `put` while too many jobs wait; it passes on the other verbs."""

    def __init__(self, work: Work, most: int, clock: Clock, rotation: Rotation) -> None:
        """`most`: jobs of a kind that wait or run in one scope. `rotation`: is told whose jobs are put."""
        self._rotation = rotation
        self._work = work
        self._most = most
        self._clock = clock
        # By scope and kind: how many jobs wait, and when they were counted (monotonic seconds).
        self._counts: OrderedDict[tuple[Scope, str], tuple[int, float]] = OrderedDict()

    @property
    def waiting(self) -> dict[str, int]:
        """How many jobs waited at the last count, by kind; only for scopes that have put jobs here."""
        found: dict[str, int] = {}
        for (_, kind), (count, _) in tuple(self._counts.items()):
            found[kind] = found.get(kind, 0) + count
        return found

    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        """Like the queue's `put`, but raises LimitReached at the limit, unless the scope has this job already."""
        await self.check(scope, job.kind, job.job_id)
        return await self.follow(scope, job, now_us)

    async def check(self, scope: Scope, kind: str, job_id: JobId) -> None:
        """Raises LimitReached where a `put` of this job would."""
        count = await self._count(scope, kind)
        if count >= self._most and await self._work.get(scope, job_id) is None:
            whose = f"{kind} of tenant {scope.tenant_id}, project {scope.project_id}"
            raise LimitReached("queued_jobs", self._most, whose, passes=True)

    async def is_half_full(self, scope: Scope, kind: str) -> bool:
        """Whether half as many jobs wait as may. Raises what the store raises."""
        return await self._count(scope, kind) >= self._most / 2

    async def follow(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        """Like `put` without the limit, for a job that goes on with one of its kind that ends now: there are no more of
        them then, and refused it would be tried again and again."""
        count = await self._count(scope, job.kind)
        kept = await self._work.put(scope, job, now_us)
        self._rotation.expect(scope)
        known, as_of_s = self._counts.get((scope, job.kind), (count, self._clock.monotonic_s()))
        self._counts[scope, job.kind] = (known + 1, as_of_s)
        if kept.created_us == now_us:  # else it was there before
            JOBS_PUT.add(1, {"kind": job.kind})
        return kept

    async def revive(self, scope: Scope, job_id: JobId, now_us: int) -> None:
        await self._work.revive(scope, job_id, now_us)
        self._rotation.expect(scope)

    async def get(self, scope: Scope, job_id: JobId) -> Job | None:
        return await self._work.get(scope, job_id)

    async def list(
        self, scope: Scope, kind: str, states: Collection[JobState], after: JobKey | None, limit: int
    ) -> tuple[Job, ...]:
        return await self._work.list(scope, kind, states, after, limit)

    async def count_again(self) -> None:
        """Updates `waiting`. Raises what the store raises."""
        for scope, kind in tuple(self._counts):
            await self._recount(scope, kind)

    async def _count(self, scope: Scope, kind: str) -> int:
        known = self._counts.get((scope, kind))
        if known is not None and self._clock.monotonic_s() - known[1] < _COUNT_AGAIN_S:
            self._counts.move_to_end((scope, kind))
            return known[0]
        return await self._recount(scope, kind)

    async def _recount(self, scope: Scope, kind: str) -> int:
        as_of_s = self._clock.monotonic_s()
        count = await self._work.waiting(scope, kind)
        self._counts[scope, kind] = (count, as_of_s)
        if len(self._counts) > _SCOPES:
            self._counts.popitem(last=False)
        return count
