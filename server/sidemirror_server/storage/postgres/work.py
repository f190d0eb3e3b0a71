"""Jobs in Postgres."""

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import asyncpg
from msgspec.structs import astuple

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sources import note_sources, refuse_erased
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.log import Sequel
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import AlreadyExists
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope, Serves
from sidemirror_server.work.queue import (
    FIRST_JOB,
    LIST_BYTES,
    VANISHED,
    Job,
    JobKey,
    JobState,
    NewJob,
    job_of,
    lease_until_us,
    not_claimed,
    same_job,
    wrong_state,
)

_SQL = load_statements(Path(__file__).with_name("work.sql"))


class PostgresWork:
    """The port `Work` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._arrived = asyncio.Event()

    @property
    def arrived(self) -> asyncio.Event:
        return self._arrived

    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        async with self._database.transaction(scope, derives=True) as transaction:
            kept = await put_job(transaction, scope, job, now_us)
        self._arrived.set()
        return kept

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        if limit < 1 or not kinds:
            return ()
        due = (now_us, list(kinds))
        claimed: dict[tuple[Scope, JobId], Job] = {}
        async with self._database.transaction(None) as transaction:
            tenants = _tenants(serves)
            if tenants and not await transaction.fetch(_SQL["any_due"], *due, tenants):
                return ()
            found = []
            for entry in map(astuple, serves.entries):
                used_up = await transaction.fetch(_SQL["used_up"], *due, *entry)
                async for scope, (job_ids,) in transaction.by_scope(used_up):
                    await transaction.change(_SQL["bury"], *ids_of(scope), job_ids, now_us, VANISHED)
                await transaction.leave()
                found += await transaction.fetch(_SQL["due"], *due, limit, *entry)
            found = sorted(found, key=lambda row: (row["due_us"], row["position"]))[:limit]
            async for scope, (job_ids, *_) in transaction.by_scope(found):
                values = (job_ids, now_us, lease_until_us(now_us, lease_s), worker)
                for job in _jobs(await transaction.fetch(_SQL["claim"], *ids_of(scope), *values)):
                    claimed[scope, job.job_id] = job
        order = [(Scope(tenant_id, project_id), JobId(job_id)) for tenant_id, project_id, job_id, *_ in found]
        return tuple(claimed[place] for place in order if place in claimed)

    async def extend(self, scope: Scope, job_id: JobId, token: int, lease_s: float, now_us: int) -> None:
        await self._as_claimant("extend", scope, job_id, token, now_us, lease_until_us(now_us, lease_s))

    async def checkpoint(self, scope: Scope, job_id: JobId, token: int, notes: bytes, now_us: int) -> None:
        await self._as_claimant("checkpoint", scope, job_id, token, now_us, notes)

    async def finish(self, scope: Scope, job_id: JobId, token: int, result: bytes | None, now_us: int) -> None:
        await self._as_claimant("finish", scope, job_id, token, now_us, result)

    async def fail(
        self, scope: Scope, job_id: JobId, token: int, error: str, retry_at_us: int | None, now_us: int
    ) -> None:
        await self._as_claimant("fail", scope, job_id, token, now_us, error, retry_at_us)

    async def release(self, scope: Scope, job_id: JobId, token: int, now_us: int) -> None:
        await self._as_claimant("release", scope, job_id, token, now_us)

    async def revive(self, scope: Scope, job_id: JobId, now_us: int) -> None:
        async with self._database.transaction(scope) as transaction:
            if await transaction.change(_SQL["revive"], *ids_of(scope), job_id, now_us) == 0:
                raise wrong_state(job_id, await _get(transaction, scope, job_id))
        self._arrived.set()

    async def get(self, scope: Scope, job_id: JobId) -> Job | None:
        async with self._database.transaction(scope, reads_only=True) as transaction:
            return await _get(transaction, scope, job_id)

    async def list(
        self, scope: Scope, kind: str, states: Collection[JobState], after: JobKey | None, limit: int
    ) -> tuple[Job, ...]:
        place = after or FIRST_JOB
        wanted = (kind, place.created_us, place.job_id, [state.value for state in states] or None, limit, LIST_BYTES)
        return _jobs(await self._database.fetch(scope, _SQL["list"], *wanted))

    async def count(self, scope: Scope, kind: str) -> Mapping[JobState, int]:
        found = dict([tuple(row) for row in await self._database.fetch(scope, _SQL["count"], kind)])
        return {state: found.get(state.value, 0) for state in JobState}

    async def waiting(self, scope: Scope, kind: str) -> int:
        found = await self._database.fetch(scope, _SQL["waiting"], kind)
        return int(found[0][0])

    async def purge(self, serves: Serves, kinds: Collection[str], done_before_us: int, limit: int) -> int:
        return await self._purge("done", "purge", serves, kinds, done_before_us, limit)

    async def purge_dead(self, serves: Serves, kinds: Collection[str], dead_before_us: int, limit: int) -> int:
        return await self._purge("dead", "purge_dead", serves, kinds, dead_before_us, limit)

    async def _purge(
        self, ended: str, purge: str, serves: Serves, kinds: Collection[str], before_us: int, limit: int
    ) -> int:
        """The statement `ended` finds jobs across scopes; the statement `purge` removes jobs of one scope."""
        purged = 0
        async with self._database.transaction(None) as transaction:
            found = await transaction.fetch_served(serves, limit, _SQL[ended], before_us, list(kinds))
            async for scope, (job_ids,) in transaction.by_scope(found):
                purged += await transaction.change(_SQL[purge], *ids_of(scope), job_ids, before_us)
        return purged

    async def scopes(self, serves: Serves, kinds: Collection[str]) -> tuple[Scope, ...]:
        async with self._database.transaction(None, reads_only=True) as transaction:
            found = [
                row
                for entry in serves.entries
                for row in await transaction.fetch(_SQL["scopes"], list(kinds), *astuple(entry))
            ]
        return tuple(sorted(Scope(tenant_id, project_id) for tenant_id, project_id in found))

    async def forget(self, scope: Scope, job_id: JobId) -> None:
        async with self._database.transaction(scope) as transaction:
            if await transaction.change(_SQL["forget"], *ids_of(scope), job_id) == 0:
                raise wrong_state(job_id, await _get(transaction, scope, job_id))

    async def _as_claimant(self, verb: str, scope: Scope, job_id: JobId, token: int, now_us: int, *values: Any) -> None:
        async with self._database.transaction(scope) as transaction:
            await _change_claimed(transaction, verb, scope, job_id, token, now_us, *values)


async def _change_claimed(
    transaction: Transaction, verb: str, scope: Scope, job_id: JobId, token: int, *values: Any
) -> None:
    if await transaction.change(_SQL[verb], *ids_of(scope), job_id, token, *values) == 0:
        raise not_claimed(job_id, token, await _get(transaction, scope, job_id))


async def put_job(transaction: Transaction, scope: Scope, job: NewJob, now_us: int) -> Job:
    """`Work.put` within the caller's transaction. The caller sets `arrived` once it has committed."""
    await refuse_erased(transaction, scope, job.sources, now_us)
    run_at_us = now_us if job.run_at_us is None else job.run_at_us
    values = (job.kind, job.payload, job.max_attempts, run_at_us, now_us)
    if await transaction.change(_SQL["put"], *ids_of(scope), job.job_id, *values):
        await note_sources(transaction, scope, key(SourceKind.GOAL_REPORT, job.job_id), job.sources)
    return same_job(job, await _get(transaction, scope, job.job_id))


async def put_sequel(transaction: Transaction, scope: Scope, sequel: Sequel, now_us: int) -> None:
    """Puts the job that follows a turn's end, within the append's transaction. A job with its id stays as it is."""
    with contextlib.suppress(AlreadyExists):
        await put_job(transaction, scope, NewJob(sequel.job_id, sequel.kind, sequel.payload), now_us)


async def _get(transaction: Transaction, scope: Scope, job_id: JobId) -> Job | None:
    jobs = _jobs(await transaction.fetch(_SQL["get"], *ids_of(scope), job_id))
    return jobs[0] if jobs else None


def _jobs(rows: Iterable[asyncpg.Record]) -> tuple[Job, ...]:
    return tuple(job_of(*row) for row in rows)


def _tenants(serves: Serves) -> list[str]:
    """The tenants with served scopes; empty if all tenants are served."""
    return sorted({entry.tenant_id for entry in serves.entries if entry.tenant_id is not None})
