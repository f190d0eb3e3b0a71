"""Jobs in SQLite."""

import asyncio
import json
import sqlite3
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sidemirror_server.storage.sql import load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
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
        self, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        due = {"kinds": _array(kinds), "now_us": now_us}
        if limit < 1 or self._database.read(lambda found: found.execute(_SQL["any_due"], due).fetchone()) is None:
            return ()  # a worker with nothing to do keeps the disk still

        def change(connection: sqlite3.Connection) -> tuple[Job, ...]:
            connection.execute(_SQL["bury"], {**due, "error": VANISHED})
            rows = connection.execute(_SQL["due"], {**due, "limit": limit}).fetchall()
            positions = json.dumps([position for (position,) in rows])
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
            "states": _array(states) if states else None,
            "limit": limit,
        }
        return await self._database.search(lambda connection: _page(connection.execute(_SQL["list"], wanted)))

    async def count(self, scope: Scope, kind: str) -> Mapping[JobState, int]:
        wanted = {"tenant_id": scope.tenant_id, "project_id": scope.project_id, "kind": kind}
        found = await self._database.search(
            lambda connection: dict(connection.execute(_SQL["count"], wanted).fetchall())
        )
        return {state: found.get(state.value, 0) for state in JobState}

    async def waiting(self, scope: Scope, kind: str) -> int:
        wanted = {"tenant_id": scope.tenant_id, "project_id": scope.project_id, "kind": kind}
        found = self._database.read(lambda connection: connection.execute(_SQL["waiting"], wanted).fetchone())
        return int(found[0])

    async def purge(self, kinds: Collection[str], done_before_us: int, limit: int) -> int:
        wanted = {"kinds": _array(kinds), "done_before_us": done_before_us, "limit": limit}
        return await self._database.write(
            lambda connection: connection.execute(_SQL["purge"], wanted).rowcount, long=True
        )

    async def purge_dead(self, kinds: Collection[str], dead_before_us: int, limit: int) -> int:
        wanted = {"kinds": _array(kinds), "dead_before_us": dead_before_us, "limit": limit}
        return await self._database.write(
            lambda connection: connection.execute(_SQL["purge_dead"], wanted).rowcount, long=True
        )

    async def scopes(self, kinds: Collection[str]) -> tuple[Scope, ...]:
        found = await self._database.search(
            lambda connection: connection.execute(_SQL["scopes"], {"kinds": _array(kinds)}).fetchall()
        )
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
    """`Work.put` within the caller's transaction. The caller sets `arrived` when that is durable."""
    connection.execute(
        _SQL["put"],
        {
            **_key(scope, job.job_id),
            "kind": job.kind,
            "payload": job.payload,
            "max_attempts": job.max_attempts,
            "run_at_us": now_us if job.run_at_us is None else job.run_at_us,
            "now_us": now_us,
        },
    )
    return same_job(job, _get(connection, scope, job.job_id))


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
    """The first rows whose payloads add up to LIST_BYTES, which the last of them may exceed; later ones are not
    read."""
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
    return {"tenant_id": scope.tenant_id, "project_id": scope.project_id, "job_id": job_id}


def _array(values: Collection[str]) -> str:
    return json.dumps(list(values))
