"""Jobs in SQLite."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import fetch_served, remove_served
from sidemirror_server.storage.sqlite.sources import note_sources, refuse_erased
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


class SqliteWork:
    """The port `Work` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._arrived = asyncio.Event()

    @property
    def arrived(self) -> asyncio.Event:
        return self._arrived

    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        kept = await self._database.write(partial(put_job, scope=scope, job=job, now_us=now_us))
        self._arrived.set()
        return kept

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        due = {"kinds": json_of(kinds), "now_us": now_us}
        if limit < 1 or not self._database.read(partial(fetch_served, serves, 1, _SQL["any_due"], due)):
            return ()  # an idle worker must not write to the disk

        def change(connection: sqlite3.Connection) -> tuple[Job, ...]:
            rows: list[tuple[int, int]] = []
            for entry in serves.entries:
                wanted = {**due, **asdict(entry), "error": VANISHED, "limit": limit}
                connection.execute(_SQL["bury"], wanted)
                rows += connection.execute(_SQL["due"], wanted).fetchall()
            positions = json_of(position for _, position in sorted(rows)[:limit])
            lease = {"lease_until_us": lease_until_us(now_us, lease_s), "worker": worker, "now_us": now_us}
            connection.execute(_SQL["claim"], {**lease, "positions": positions})
            return _jobs(connection.execute(_SQL["claimed"], {"positions": positions}))

        return await self._database.write(change)

    async def extend(self, scope: Scope, job_id: JobId, token: int, lease_s: float, now_us: int) -> None:
        await self._as_claimant("extend", scope, job_id, token, now_us, lease_until_us=lease_until_us(now_us, lease_s))

    async def checkpoint(self, scope: Scope, job_id: JobId, token: int, notes: bytes, now_us: int) -> None:
        await self._as_claimant("checkpoint", scope, job_id, token, now_us, notes=notes)

    async def finish(self, scope: Scope, job_id: JobId, token: int, result: bytes | None, now_us: int) -> None:
        await self._as_claimant("finish", scope, job_id, token, now_us, result=result)

    async def fail(
        self, scope: Scope, job_id: JobId, token: int, error: str, retry_at_us: int | None, now_us: int
    ) -> None:
        await self._as_claimant("fail", scope, job_id, token, now_us, error=error, retry_at_us=retry_at_us)

    async def release(self, scope: Scope, job_id: JobId, token: int, now_us: int) -> None:
        await self._as_claimant("release", scope, job_id, token, now_us)

    async def revive(self, scope: Scope, job_id: JobId, now_us: int) -> None:
        def change(connection: sqlite3.Connection) -> None:
            if connection.execute(_SQL["revive"], {**_key(scope, job_id), "now_us": now_us}).rowcount == 0:
                raise wrong_state(job_id, _get(connection, scope, job_id))

        await self._database.write(change)
        self._arrived.set()

    async def get(self, scope: Scope, job_id: JobId) -> Job | None:
        return self._database.read(partial(_get, scope=scope, job_id=job_id))

    async def list(
        self, scope: Scope, kind: str, states: Collection[JobState], after: JobKey | None, limit: int
    ) -> tuple[Job, ...]:
        place = after or FIRST_JOB
        wanted = {
            **_key(scope, place.job_id),
            "kind": kind,
            "created_us": place.created_us,
            "states": json_of(states) if states else None,
            "limit": limit,
        }
        return await self._database.search(lambda connection: _page(connection.execute(_SQL["list"], wanted)))

    async def count(self, scope: Scope, kind: str) -> Mapping[JobState, int]:
        wanted = {**columns_of(scope), "kind": kind}
        found = await self._database.search(
            lambda connection: dict(connection.execute(_SQL["count"], wanted).fetchall())
        )
        return {state: found.get(state.value, 0) for state in JobState}

    async def waiting(self, scope: Scope, kind: str) -> int:
        wanted = {**columns_of(scope), "kind": kind}
        found = self._database.read(lambda connection: connection.execute(_SQL["waiting"], wanted).fetchone())
        return int(found[0])

    async def purge(self, serves: Serves, kinds: Collection[str], done_before_us: int, limit: int) -> int:
        old = {"kinds": json_of(kinds), "done_before_us": done_before_us}
        return await self._database.write(partial(remove_served, serves, limit, _SQL["purge"], old), long=True)

    async def purge_dead(self, serves: Serves, kinds: Collection[str], dead_before_us: int, limit: int) -> int:
        old = {"kinds": json_of(kinds), "dead_before_us": dead_before_us}
        return await self._database.write(partial(remove_served, serves, limit, _SQL["purge_dead"], old), long=True)

    async def scopes(self, serves: Serves, kinds: Collection[str]) -> tuple[Scope, ...]:
        wanted = {"kinds": json_of(kinds)}
        found = await self._database.search(partial(fetch_served, serves, 2**31, _SQL["scopes"], wanted))
        return tuple(Scope(tenant_id, project_id) for tenant_id, project_id in found)

    async def forget(self, scope: Scope, job_id: JobId) -> None:
        def change(connection: sqlite3.Connection) -> None:
            if connection.execute(_SQL["forget"], _key(scope, job_id)).rowcount == 0:
                raise wrong_state(job_id, _get(connection, scope, job_id))

        await self._database.write(change)

    async def _as_claimant(
        self, verb: str, scope: Scope, job_id: JobId, token: int, now_us: int, **values: Any
    ) -> None:
        await self._database.write(
            lambda connection: _change_claimed(connection, verb, scope, job_id, token, {"now_us": now_us, **values})
        )


def put_job(connection: sqlite3.Connection, scope: Scope, job: NewJob, now_us: int) -> Job:
    """`Work.put` within the caller's transaction. The caller sets `arrived` when the transaction is durable."""
    refuse_erased(connection, scope, job.sources, now_us)
    is_new = connection.execute(
        _SQL["put"],
        {
            **_key(scope, job.job_id),
            "kind": job.kind,
            "payload": job.payload,
            "max_attempts": job.max_attempts,
            "run_at_us": now_us if job.run_at_us is None else job.run_at_us,
            "now_us": now_us,
        },
    ).rowcount
    if is_new:
        note_sources(connection, scope, key(SourceKind.GOAL_REPORT, job.job_id), job.sources)
    return same_job(job, _get(connection, scope, job.job_id))


def put_sequel(connection: sqlite3.Connection, scope: Scope, sequel: Sequel, now_us: int) -> None:
    """Puts the job that follows a turn's end, within the append's transaction. A job with its id stays as it is."""
    with contextlib.suppress(AlreadyExists):
        put_job(connection, scope, NewJob(sequel.job_id, sequel.kind, sequel.payload), now_us)


def _change_claimed(
    connection: sqlite3.Connection, verb: str, scope: Scope, job_id: JobId, token: int, values: Mapping[str, Any]
) -> None:
    if connection.execute(_SQL[verb], {**_key(scope, job_id), "token": token, **values}).rowcount == 0:
        raise not_claimed(job_id, token, _get(connection, scope, job_id))


def _get(connection: sqlite3.Connection, scope: Scope, job_id: JobId) -> Job | None:
    jobs = _jobs(connection.execute(_SQL["get"], _key(scope, job_id)))
    return jobs[0] if jobs else None


def _jobs(rows: sqlite3.Cursor) -> tuple[Job, ...]:
    return tuple(job_of(*row) for row in rows.fetchall())


def _page(rows: sqlite3.Cursor) -> tuple[Job, ...]:
    """Reads jobs until their payloads reach LIST_BYTES; the last one may exceed it."""
    jobs: list[Job] = []
    room = LIST_BYTES
    for row in rows:
        jobs.append(job_of(*row))
        room -= len(jobs[-1].payload)
        if room <= 0:
            break
    rows.close()
    return tuple(jobs)


def _key(scope: Scope, job_id: JobId) -> dict[str, Any]:
    return {**columns_of(scope), "job_id": job_id}
