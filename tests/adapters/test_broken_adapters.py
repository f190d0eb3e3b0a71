"""The conformance suites can fail: each clause named here is seen to catch an adapter that breaks it."""

import asyncio
import sqlite3
from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest

from sidemirror_server.storage.sql import json_of
from sidemirror_server.storage.sqlite import work as adapter
from sidemirror_server.storage.sqlite.served import fetch_served
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.errors import AlreadyExists
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope, Serves
from sidemirror_server.work.queue import Job, JobKey, JobState, NewJob, lease_until_us
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import work as suite
from tests.conformance.clauses import clauses_of

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = clauses_of(suite)

# (clause that must notice, statement of work.sql, a piece of it, what stands there instead)
BROKEN_STATEMENTS = [
    ("WQ27", "due", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("WQ27", "due", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("WQ27", "bury", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("WQ27", "bury", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("WQ28", "purge", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("WQ28", "purge", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("WQ28", "purge_dead", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("WQ28", "purge_dead", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("WQ28", "scopes", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("WQ28", "scopes", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("WQ1", "put", "due_us, attempts", "lease_until_us, attempts"),
    ("WQ4", "get", "project_id = :project_id", "project_id IS NOT NULL"),
    ("WQ5", "due", "ORDER BY due_us, position", "ORDER BY position"),
    ("WQ6", "claim", "due_us = :lease_until_us,", "due_us = due_us,"),
    ("WQ7", "claim", "token = token + 1", "token = max(token, 1)"),
    ("WQ7", "claim", "worker = :worker", "worker = :worker, checkpoint = NULL"),
    ("WQ8", "bury", "attempts >= max_attempts", "FALSE"),
    ("WQ9", "extend", "due_us = :lease_until_us, ", ""),
    ("WQ10", "checkpoint", "checkpoint = :notes", "checkpoint = coalesce(checkpoint, :notes)"),
    ("WQ11", "finish", "result = :result", "result = NULL"),
    ("WQ12", "fail", "due_us = iif(attempts >= max_attempts, NULL, :retry_at_us)", "due_us = :now_us"),
    ("WQ13", "fail", "iif(:retry_at_us IS NULL OR attempts >= max_attempts, 'dead', 'retrying')", "'retrying'"),
    ("WQ14", "release", "attempts = attempts - 1", "attempts = attempts"),
    ("WQ15", "finish", "token = :token", "token >= :token"),
    ("WQ15", "extend", "token = :token", ":token > 0"),
    ("WQ15", "fail", "state = 'running'", "state IS NOT NULL"),
    ("WQ16", "finish", "state = 'running'", "lease_until_us > :now_us"),
    ("WQ18", "revive", "attempts = 0", "attempts = attempts"),
    ("WQ18", "revive", "state = 'dead'", "state IS NOT NULL"),
    ("WQ19", "list", "ORDER BY created_us DESC, job_id DESC", "ORDER BY created_us DESC, job_id"),
    ("WQ19", "list", "(created_us, job_id) < (:created_us, :job_id)", "created_us < :created_us AND :job_id >= ''"),
    ("WQ20", "count", "kind = :kind", "kind <> :kind"),
    ("WQ21", "purge", "state = 'done'", "state IN ('done', 'dead')"),
    ("WQ21", "purge", "updated_us < :done_before_us", "updated_us <= :done_before_us"),
    ("WQ25", "waiting", " AND due_us IS NOT NULL", ""),
    ("WQ25", "waiting", "kind = :kind", "kind <> :kind"),
    ("WQ26", "purge_dead", "state = 'dead'", "state IN ('done', 'dead')"),
    ("WQ26", "purge_dead", "updated_us < :dead_before_us", "updated_us <= :dead_before_us"),
    ("WQ23", "scopes", "state = 'done'", "state IN ('done', 'dead')"),
    ("WQ23", "scopes", "DISTINCT ", ""),
    ("WQ24", "forget", "AND state IN ('done', 'dead')", ""),
    ("WQ24", "forget", "project_id = :project_id", ":project_id IS NOT NULL"),
]


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN_STATEMENTS)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, SqliteWork, tmp_path)


class SecondPutOverwrites(SqliteWork):
    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        try:
            return await super().put(scope, job, now_us)
        except AlreadyExists:
            await self._database.write(
                lambda connection: connection.execute("DELETE FROM jobs WHERE job_id = ?", (job.job_id,))
            )
            return await super().put(scope, job, now_us)


class PutDuplicates(SqliteWork):
    """Makes a job for every put, as one that keys jobs by something of its own would."""

    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        if await self.get(scope, job.job_id) is not None:
            job = NewJob(JobId(f"{job.job_id}-{now_us}"), job.kind, job.payload)
        return await super().put(scope, job, now_us)


class ClaimInTwoSteps(SqliteWork):
    """Reads what is due in one transaction and takes it in another."""

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        due = {"kinds": json_of(kinds), "now_us": now_us}
        rows = self._database.read(partial(fetch_served, serves, limit, adapter._SQL["due"], due))
        await asyncio.sleep(0)
        positions = "[" + ",".join(str(position) for _, position in rows) + "]"
        lease = {"lease_until_us": lease_until_us(now_us, lease_s), "worker": worker, "now_us": now_us}
        await self._database.write(
            lambda connection: connection.execute(adapter._SQL["claim"], {**lease, "positions": positions})
        )
        return self._database.read(
            lambda connection: adapter._jobs(connection.execute(adapter._SQL["claimed"], {"positions": positions}))
        )


class SilentForUnknownJobs(SqliteWork):
    async def extend(self, scope: Scope, job_id: JobId, token: int, lease_s: float, now_us: int) -> None:
        if await self.get(scope, job_id) is not None:
            await super().extend(scope, job_id, token, lease_s, now_us)


class PagesByOffset(SqliteWork):
    """Takes a place for a number of jobs to skip."""

    async def list(
        self, scope: Scope, kind: str, states: Collection[JobState], after: JobKey | None, limit: int
    ) -> tuple[Job, ...]:
        every = await super().list(scope, kind, states, None, 1000)
        return every[:limit] if after is None else every[limit:]


class NeverArrives(SqliteWork):
    @property
    def arrived(self) -> asyncio.Event:
        return asyncio.Event()


@pytest.mark.parametrize(
    ("clause", "broken"),
    [
        ("WQ2", PutDuplicates),
        ("WQ3", SecondPutOverwrites),
        ("WQ6", ClaimInTwoSteps),
        ("WQ17", SilentForUnknownJobs),
        ("WQ19", PagesByOffset),
        ("WQ22", NeverArrives),
    ],
)
async def test_broken_verb_is_noticed(clause: str, broken: type[SqliteWork], tmp_path: Path) -> None:
    await noticed(clause, broken, tmp_path)


def test_every_clause_is_seen_to_fail() -> None:
    by_verb = {"WQ2", "WQ3", "WQ6", "WQ17", "WQ19", "WQ22"}
    assert {clause for clause, *_ in BROKEN_STATEMENTS} | by_verb == set(CLAUSES)


async def noticed(clause: str, broken: type[SqliteWork], folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: broken(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
