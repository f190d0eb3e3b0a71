"""Durable background work: every job that was put ends as done, or as dead and listed, whatever crashes in between.

Rooms put jobs; `work/worker.py` claims and runs them. Adapters: `storage/*/work.py`.

    QUEUED ──claim──► RUNNING ──finish──► DONE
      ▲                │ │ ▲
      │         release│ │fail, attempts left
      └────────────────┘ ▼ │claim
      │               RETRYING
      └──revive── DEAD ◄── fail without a retry, or attempts used up
"""

import asyncio
import enum
from collections.abc import Collection, Mapping
from typing import Any, Protocol

import msgspec

from sidemirror_server.vocabulary.errors import AlreadyExists, LostClaim, NotFound, WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope, Serves

# Chosen here: with the worker's backoff (about 2, 4, 8 and 16 s) an outage of half a minute kills no job.
MAX_ATTEMPTS = 5
# Limit on the payload bytes of one `list`. Chosen here: a page of ordinary jobs, or a few of the largest.
LIST_BYTES = 8 * 1024 * 1024
# The `last_error` of a job whose worker vanished during the last attempt (clause WQ8).
VANISHED = "the worker vanished, and no attempt is left"


class JobState(enum.StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    DONE = "done"
    DEAD = "dead"


class NewJob(msgspec.Struct, frozen=True):
    """A job to put. `kind` chooses the handler; `run_at_us` None means at once; `max_attempts` is at least 1.
    `sources`: what a goal's report came from (keys of `trace/sources.py`)."""

    job_id: JobId
    kind: str
    payload: bytes
    max_attempts: int = MAX_ATTEMPTS
    run_at_us: int | None = None
    sources: tuple[str, ...] = ()


class Job(msgspec.Struct, frozen=True):
    """A stored job. `token`: the fencing token of the latest claim; `worker`: the claimant's name, for people."""

    scope: Scope
    job_id: JobId
    kind: str
    payload: bytes
    state: JobState
    attempts: int
    max_attempts: int
    run_at_us: int
    lease_until_us: int | None
    token: int
    worker: str | None
    checkpoint: bytes | None
    last_error: str | None
    result: bytes | None
    created_us: int
    updated_us: int


def job_of(tenant_id: str, project_id: str, job_id: JobId, kind: str, payload: bytes, state: str, *others: Any) -> Job:
    """A job from the columns of its row, in their order."""
    return Job(Scope(tenant_id, project_id), job_id, kind, payload, JobState(state), *others)


def same_job(job: NewJob, kept: Job | None) -> Job:
    """The result of a `put` (clauses WQ2 and WQ3). `kept`: the job that the scope has under this id. Raises
    AlreadyExists if its kind or payload differs."""
    if kept is None or (kept.kind, kept.payload) != (job.kind, job.payload):
        raise AlreadyExists("job", job.job_id)
    return kept


def wrong_state(job_id: JobId, kept: Job | None) -> NotFound | WrongState:
    """The error for a job that cannot be revived or forgotten."""
    return NotFound("job", job_id) if kept is None else WrongState("job", job_id, kept.state)


def not_claimed(job_id: JobId, token: int, kept: Job | None) -> NotFound | LostClaim:
    """The error for a token that is not valid for the job (clauses WQ15 and WQ17)."""
    return NotFound("job", job_id) if kept is None else LostClaim(job_id, token)


def lease_until_us(now_us: int, lease_s: float) -> int:
    """The end of a lease that begins now."""
    return now_us + round(lease_s * 1_000_000)


class JobKey(msgspec.Struct, frozen=True):
    """A position in the order of jobs: latest put first, then descending id."""

    created_us: int
    job_id: JobId


FIRST_JOB = JobKey(2**63 - 1, JobId(""))  # sorts before every job


class Jobs(Protocol):
    """The part of a queue for callers that put, read and revive jobs. `Work` has the clauses."""

    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job: ...

    async def revive(self, scope: Scope, job_id: JobId, now_us: int) -> None: ...

    async def get(self, scope: Scope, job_id: JobId) -> Job | None: ...

    async def list(
        self, scope: Scope, kind: str, states: Collection[JobState], after: JobKey | None, limit: int
    ) -> tuple[Job, ...]: ...


class Work(Jobs, Protocol):
    """Stores jobs and hands each job to one worker at a time. Each verb is one transaction, durable when it returns.

    WQ1  `put` stores a job: QUEUED, no attempts, token 0, due at `run_at_us` or at once. Its payload is returned byte
         for byte.
    WQ2  `put` with an id that the scope has, and with the same kind and payload, makes no second job. It returns the
         existing job, whatever its state.
    WQ3  `put` with an id that the scope has, but another kind or payload, changes nothing and raises AlreadyExists.
    WQ4  Scopes are isolated: the same id in two scopes is two jobs; `get`, `list` and `count` show only their scope.
         `get` of an id that the scope does not have returns None.
    WQ5  `claim` takes at most `limit` due jobs of the given kinds in the scopes served, the longest due first. Each
         becomes RUNNING, with one more attempt, a higher token, and a lease until `now_us` plus `lease_s`.
    WQ6  A claimed job is not claimed again while its lease lasts; concurrent claims never get the same job.
    WQ7  A job whose lease has ended can be claimed again: one more attempt, a higher token, its checkpoint kept.
    WQ8  `claim` makes a job DEAD, with `last_error` VANISHED, if its lease has ended and its attempts are used up. Such
         a job does not count towards `limit`.
    WQ9  `extend` moves the lease's end to `now_us` plus `lease_s`.
    WQ10 `checkpoint` keeps the handler's notes, replacing earlier ones; the next claim of the job returns them.
    WQ11 `finish` makes the job DONE and keeps the result.
    WQ12 `fail` with a time makes the job RETRYING, due at that time, and keeps the error.
    WQ13 `fail` without a time, or with the attempts used up, makes the job DEAD and keeps the error.
    WQ14 `release` returns a claimed job: it is QUEUED, due at once, and the attempt is not used up.
    WQ15 `extend`, `checkpoint`, `finish`, `fail` and `release` raise LostClaim and change nothing if the token is not
         that of the job's present claim, or if the job is no longer RUNNING.
    WQ16 A claim whose lease has ended stays valid until another claim takes the job.
    WQ17 `extend`, `checkpoint`, `finish`, `fail`, `release` and `revive` of an unknown job raise NotFound.
    WQ18 `revive` makes a DEAD job QUEUED, due at once, with all its attempts again and its checkpoint; a job in another
         state is refused (WrongState).
    WQ19 `list` returns jobs of a kind in one of `states` (any if empty), latest put first, after the cursor `after`, at
         most `limit`. Pages stay consistent while jobs are put, changed and purged. A page ends once its payloads add
         up to LIST_BYTES, so another page may follow a short one, but none follows an empty one.
    WQ20 `count` returns how many jobs of a kind are in each state, for every state.
    WQ21 `purge` removes at most `limit` jobs of the given kinds in the scopes served that became DONE before
         `done_before_us`, and returns how many. It never removes a job in another state.
    WQ22 A `put` or `revive` of this object that makes a job due sets the event `arrived`; the waiting caller clears it.
    WQ23 `scopes` returns every served scope that has DONE jobs of the given kinds, each once, in order.
    WQ24 `forget` removes a DONE or DEAD job; a job in another state is refused (WrongState), and so is an unknown one
         (NotFound).
    WQ25 `waiting` returns how many jobs of a kind are QUEUED, RUNNING or RETRYING, without reading jobs that have
         ended.
    WQ26 `purge_dead` removes at most `limit` jobs of the given kinds in the scopes served that became DEAD before
         `dead_before_us`, and returns how many. It never removes a job in another state.
    WQ27 `claim` skips jobs of a scope that is not served; they do not become DEAD, and do not count towards `limit`.
    WQ28 `purge`, `purge_dead` and `scopes` skip jobs of a scope that is not served.
    `sources` of a new job are noted, so that an erasure finds it (clause ER13).
    Raises StoreUnavailable (the call may or may not have taken effect), StoreFull (it has not).
    """

    @property
    def arrived(self) -> asyncio.Event: ...

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]: ...

    async def extend(self, scope: Scope, job_id: JobId, token: int, lease_s: float, now_us: int) -> None: ...

    async def checkpoint(self, scope: Scope, job_id: JobId, token: int, notes: bytes, now_us: int) -> None: ...

    async def finish(self, scope: Scope, job_id: JobId, token: int, result: bytes | None, now_us: int) -> None: ...

    async def fail(
        self, scope: Scope, job_id: JobId, token: int, error: str, retry_at_us: int | None, now_us: int
    ) -> None: ...

    async def release(self, scope: Scope, job_id: JobId, token: int, now_us: int) -> None: ...

    async def count(self, scope: Scope, kind: str) -> Mapping[JobState, int]: ...

    async def waiting(self, scope: Scope, kind: str) -> int: ...

    async def purge(self, serves: Serves, kinds: Collection[str], done_before_us: int, limit: int) -> int: ...

    async def purge_dead(self, serves: Serves, kinds: Collection[str], dead_before_us: int, limit: int) -> int: ...

    async def scopes(self, serves: Serves, kinds: Collection[str]) -> tuple[Scope, ...]: ...

    async def forget(self, scope: Scope, job_id: JobId) -> None: ...
