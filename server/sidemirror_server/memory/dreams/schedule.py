"""Puts passes into the durable queue: on request, and when a project is due (decision 034).

Each pass is one job, named by its project and its number. A project therefore has one dreamer, whichever sidecar puts
or runs the job. `memory/dreams/dreaming.py` runs a pass.
"""

import contextlib
import logging

import msgspec

from sidemirror_server.memory.dreams.dreams import FIRST_REST_US, Dreams, Waiting, is_due
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreFull, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.ids import JobId, derived_id
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves, whose
from sidemirror_server.work.queue import Job, JobState, NewJob, Work

_log = logging.getLogger(__name__)

# The kind of the jobs. Stored; never changes.
KIND = "dream"
# Chosen here, as for reports of goals: with the worker's backoff a store may be away for an hour.
MAX_ATTEMPTS = 20
_SCOPES_AT_ONCE = 1_000


class _Pass(msgspec.Struct, frozen=True):
    """The payload of a job: the number of the pass within its project."""

    number: int


_decode = msgspec.json.Decoder(_Pass).decode


def number_of(job: Job) -> int:
    """The number, within its project, of the pass that this job runs."""
    return _decode(job.payload).number


class DreamSchedule:
    """Puts passes into the queue: on request, and for every project served that is due."""

    def __init__(self, dreams: Dreams, work: Work, log: TurnLog, clock: Clock, serves: Serves = SERVES_ALL) -> None:
        self._dreams = dreams
        self._work = work
        self._log = log
        self._clock = clock
        self._serves = serves
        # Projects whose check failed, and how often in a row.
        self._failed: dict[Scope, int] = {}

    async def start(self, scope: Scope) -> JobId:
        """Starts the project's next pass, or returns the pass in progress. A dead pass is tried again. Raises what the
        stores raise."""
        job = await self._put(scope)
        if job.state is JobState.DEAD:
            await self._revive(job)
        return job.job_id

    async def _put(self, scope: Scope) -> Job:
        number = (await self._dreams.standing(scope)).dreams + 1
        new = NewJob(
            JobId(derived_id(scope, KIND, str(number))), KIND, msgspec.json.encode(_Pass(number)), MAX_ATTEMPTS
        )
        return await self._work.put(scope, new, self._clock.now_us())

    async def _revive(self, job: Job) -> None:
        with contextlib.suppress(WrongState):  # another caller revived it
            await self._work.revive(job.scope, job.job_id, self._clock.now_us())

    async def look(self) -> int:
        """Starts a pass for each project that is due; returns how many. A dead pass rests like one that changed
        nothing, since it would probably fail again. A failed check of one project does not stop the others. Raises
        StoreUnavailable, StoreFull."""
        started = 0
        found = await self._dreams.waiting(self._serves, self._clock.now_us(), _SCOPES_AT_ONCE)
        self._failed = {
            waiting.scope: self._failed[waiting.scope] for waiting in found if waiting.scope in self._failed
        }
        for waiting in found:
            try:
                started += await self._start_if_due(waiting)
            except (StoreUnavailable, StoreFull):
                raise  # the store is away for all projects
            except SidemirrorError as error:
                self._count_failure(waiting.scope, error)
            else:
                self._failed.pop(waiting.scope, None)
        return started

    def _count_failure(self, scope: Scope, error: SidemirrorError) -> None:
        """Warns of the first failure in a row only: the next check comes in a minute."""
        failed = self._failed.get(scope, 0) + 1
        self._failed[scope] = failed
        told = {**whose(scope), "failed": failed, "reason": str(error)}
        _log.log(logging.WARNING if failed == 1 else logging.DEBUG, "dream_not_scheduled", extra=told)

    async def _start_if_due(self, waiting: Waiting) -> bool:
        heads = await self._log.heads(waiting.scope, None, None, None, 1)
        last_active_us = heads[0].updated_us if heads else 0
        if not is_due(waiting, last_active_us, self._clock.now_us()):
            return False
        job = await self._put(waiting.scope)
        if job.state is JobState.DEAD:
            if self._clock.now_us() < job.updated_us + FIRST_REST_US:
                return False
            await self._revive(job)
        return True
