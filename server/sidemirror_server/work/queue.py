"""Durable background work: a job that was put is done, or dead and listed, whatever crashes in between.

Rooms put jobs; `work/worker.py` claims and runs them. Adapters: `storage/sqlite/work.py`.

    QUEUED ──claim──► RUNNING ──finish──► DONE
      ▲                │ │ ▲
      │         release│ │fail, attempts left
      └────────────────┘ ▼ │claim
      │               RETRYING
      └──revive── DEAD ◄── fail for good, or attempts used up
"""

import asyncio
import enum
from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope, Serves

# Chosen here: with the worker's waits (about 2, 4, 8 and 16 s) an outage of half a minute kills no job.
MAX_ATTEMPTS = 5
# How much one `list` reads. Chosen here: a page of ordinary jobs, and of the largest ones a few.
LIST_BYTES = 8 * 1024 * 1024
# What `last_error` says of a job whose worker vanished with the last attempt (clause WQ8).
VANISHED = "the worker vanished, and no attempt is left"


class JobState(enum.StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    DONE = "done"
    DEAD = "dead"


class NewJob(msgspec.Struct, frozen=True):
    """A job to put. `kind` chooses the handler; `run_at_us` None means at once; `max_attempts` is at least 1."""

    job_id: JobId
    kind: str
    payload: bytes
    max_attempts: int = MAX_ATTEMPTS
    run_at_us: int | None = None


class Job(msgspec.Struct, frozen=True):
    """A job as it is kept. `token` belongs to the latest claim; `worker` is its claimant's name, for people."""

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


class JobKey(msgspec.Struct, frozen=True):
    """A place in the order of jobs: newest put first, then by id downwards."""

    created_us: int
    job_id: JobId


class Work(Protocol):
    """Keeps jobs and hands each to one worker at a time. Each verb is one transaction, durable when it returns.

    WQ1  `put` keeps a job: QUEUED, no attempts, token 0, due at `run_at_us` or at once. Its payload comes back
         byte for byte.
    WQ2  `put` of an id that the scope has, with the same kind and payload, makes no second job, whatever state the
         first is in, and returns that one.
    WQ3  `put` of an id that the scope has, with another kind or payload, is refused (AlreadyExists), changing nothing.
    WQ4  Scopes never meet: the same id in two scopes is two jobs; `get`, `list` and `count` show their scope only, and
         `get` of an id that the scope does not have returns None.
    WQ5  `claim` takes jobs of the given kinds that are due, of the scopes served, the longest due first, at most
         `limit`. Each becomes RUNNING with one attempt more, a higher token, and a lease until `now_us` plus `lease_s`.
    WQ6  A claimed job is not claimed again while its lease lasts; concurrent claims never get the same job.
    WQ7  A job whose lease has ended is claimed again: one attempt more, a higher token, its checkpoint kept.
    WQ8  A job whose lease has ended and whose attempts are used up becomes DEAD, with `last_error` VANISHED, instead
         of being claimed, and does not count towards `limit`.
    WQ9  `extend` moves the lease's end to `now_us` plus `lease_s`.
    WQ10 `checkpoint` keeps the handler's notes, replacing earlier ones; the next claim of the job returns them.
    WQ11 `finish` makes the job DONE and keeps the result.
    WQ12 `fail` with a time makes the job RETRYING, due then, and keeps the error.
    WQ13 `fail` without a time, or with the attempts used up, makes the job DEAD and keeps the error.
    WQ14 `release` gives a claim back: QUEUED, due at once, and the attempt not used up.
    WQ15 `extend`, `checkpoint`, `finish`, `fail` and `release` with a token that is not that of the job's present
         claim raise LostClaim and change nothing; so they do when the job is no longer RUNNING.
    WQ16 A claim whose lease has ended still counts until another claim takes the job.
    WQ17 `extend`, `checkpoint`, `finish`, `fail`, `release` and `revive` of an unknown job raise NotFound.
    WQ18 `revive` makes a DEAD job QUEUED, due at once, with all its attempts again and its checkpoint; a job in
         another state is refused (WrongState).
    WQ19 `list` returns jobs of a kind, the newest put first, at most `limit`, after `after`, in one of `states` (any
         when empty); pages stay in step while jobs are put, change and are purged. None comes after those whose
         payloads add up to LIST_BYTES, so a page may be short although another one follows; it is never empty then.
    WQ20 `count` tells how many jobs of a kind are in each state; every state is there.
    WQ21 `purge` removes jobs of the given kinds that are DONE since before `done_before_us`, of the scopes served, at
         most `limit`, and returns how many; a job in another state is never removed.
    WQ22 `arrived` is set when a `put` or `revive` of this object has made a job due; whoever waits for it clears it.
    WQ23 `scopes` returns every scope served that has jobs of the given kinds that are DONE, each once, in order.
    WQ24 `forget` removes a job that is DONE or DEAD; a job in another state is refused (WrongState), an unknown one
         too (NotFound).
    WQ25 `waiting` tells how many jobs of a kind are QUEUED, RUNNING or RETRYING, without looking at those that have
         ended.
    WQ26 `purge_dead` removes jobs of the given kinds that are DEAD since before `dead_before_us`, of the scopes served,
         at most `limit`, and returns how many; a job in another state is never removed.
    WQ27 Jobs of a scope that is not served are neither claimed nor made DEAD, and do not count towards `limit`.
    WQ28 Jobs of a scope that is not served are neither purged nor listed by `scopes`.
    Raises StoreUnavailable (what was asked may or may not have happened), StoreFull (it has not).
    """

    @property
    def arrived(self) -> asyncio.Event: ...

    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job: ...

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

    async def revive(self, scope: Scope, job_id: JobId, now_us: int) -> None: ...

    async def get(self, scope: Scope, job_id: JobId) -> Job | None: ...

    async def list(
        self, scope: Scope, kind: str, states: Collection[JobState], after: JobKey | None, limit: int
    ) -> tuple[Job, ...]: ...

    async def count(self, scope: Scope, kind: str) -> Mapping[JobState, int]: ...

    async def waiting(self, scope: Scope, kind: str) -> int: ...

    async def purge(self, serves: Serves, kinds: Collection[str], done_before_us: int, limit: int) -> int: ...

    async def purge_dead(self, serves: Serves, kinds: Collection[str], dead_before_us: int, limit: int) -> int: ...

    async def scopes(self, serves: Serves, kinds: Collection[str]) -> tuple[Scope, ...]: ...

    async def forget(self, scope: Scope, job_id: JobId) -> None: ...
