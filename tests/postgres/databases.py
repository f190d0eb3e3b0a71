"""Databases to test on: each test has one of its own, copied from a template that was migrated once, or one that
another test had, emptied."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator

import asyncpg

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.migrate import migrate
from tests.postgres.cluster import Cluster

_TEMPLATE = "template_sidemirror"
_ROLES = """
CREATE ROLE owner LOGIN;
CREATE ROLE sidecar LOGIN;
CREATE ROLE bypass LOGIN BYPASSRLS;
CREATE ROLE asked_for_password;
"""
# The tables of records that anything was ever written into, with their size.
_TABLES = """
SELECT name, size FROM (
    SELECT format('%I.%I', schemaname, tablename) AS name,
           pg_relation_size(format('%I.%I', schemaname, tablename)::regclass) AS size
    FROM pg_tables WHERE schemaname = 'sidemirror' AND tablename NOT IN ('schema_migrations', 'role_tenants')) AS tables
WHERE size > 0
"""
_COUNT_ANEW = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
FROM pg_sequences WHERE schemaname = 'sidemirror'
"""
# To cut a table off costs ten times as much as to delete a few rows of it, and leaves nothing behind.
_LARGE_BYTES = 128 * 1024
# Each pair of tables, the other way round too.
_STRAYS = """
WITH turns AS (SELECT tenant_id, project_id, turn_id, updated_us FROM sidemirror.turns WHERE standing = 'open'),
     open_turns AS (SELECT tenant_id, project_id, turn_id, turns.updated_us, envelope.updated_us AS kept_us
                    FROM turns
                    FULL JOIN sidemirror.open_turn_envelopes AS envelope USING (tenant_id, project_id, turn_id)),
     requests AS (SELECT tenant_id, project_id, method, request_id, expires_us FROM sidemirror.requests),
     receipts AS (SELECT tenant_id, project_id, receipt_id, time_us FROM sidemirror.receipts),
     jobs AS (SELECT tenant_id, project_id, job_id, kind, position, due_us,
                     state = 'running' AND attempts >= max_attempts, CASE WHEN state = 'done' THEN updated_us END,
                     CASE WHEN state = 'dead' THEN updated_us END
              FROM sidemirror.jobs),
     spent AS (SELECT day, sum(settled_tokens + reserved_tokens), sum(settled_nano_usd + reserved_nano_usd)
               FROM sidemirror.ledger_totals GROUP BY day),
     counted AS (SELECT day, tokens, nano_usd FROM sidemirror.ledger_envelopes WHERE tenant_id = '' AND purpose = ''),
     days AS (SELECT tenant_id, project_id, day, purpose FROM sidemirror.ledger_totals),
     critiques AS (SELECT tenant_id, project_id, critique_id, created_us FROM sidemirror.critiques),
     trials AS (SELECT tenant_id, project_id, receipt_id, memory_id, assigned_us FROM sidemirror.lesson_trials)
SELECT stray::text FROM open_turns AS stray
WHERE (kept_us BETWEEN updated_us - 60000000 AND updated_us) IS NOT TRUE
UNION ALL
SELECT stray::text FROM ((TABLE requests EXCEPT TABLE sidemirror.request_envelopes)
                         UNION ALL (TABLE sidemirror.request_envelopes EXCEPT TABLE requests)) AS stray
UNION ALL
SELECT stray::text FROM ((TABLE receipts EXCEPT TABLE sidemirror.receipt_envelopes)
                         UNION ALL (TABLE sidemirror.receipt_envelopes EXCEPT TABLE receipts)) AS stray
UNION ALL
SELECT stray::text FROM ((TABLE jobs EXCEPT TABLE sidemirror.job_envelopes)
                         UNION ALL (TABLE sidemirror.job_envelopes EXCEPT TABLE jobs)) AS stray
UNION ALL
SELECT stray::text FROM ((TABLE days EXCEPT TABLE sidemirror.ledger_day_envelopes)
                         UNION ALL (TABLE sidemirror.ledger_day_envelopes EXCEPT TABLE days)) AS stray
UNION ALL
SELECT stray::text FROM ((TABLE critiques EXCEPT TABLE sidemirror.critique_envelopes)
                         UNION ALL (TABLE sidemirror.critique_envelopes EXCEPT TABLE critiques)) AS stray
UNION ALL
SELECT stray::text FROM ((TABLE trials EXCEPT TABLE sidemirror.lesson_trial_envelopes)
                         UNION ALL (TABLE sidemirror.lesson_trial_envelopes EXCEPT TABLE trials)) AS stray
UNION ALL
SELECT stray::text FROM ((TABLE spent EXCEPT TABLE counted) UNION ALL (TABLE counted EXCEPT TABLE spent)) AS stray
"""
_numbers = itertools.count(1)


class Databases:
    """Makes databases on one server."""

    def __init__(self, cluster: Cluster) -> None:
        """The server is started; it is prepared here."""
        self.cluster = cluster
        self._used: list[str] = []
        asyncio.run(self._prepare())

    async def _prepare(self) -> None:
        await self.as_superuser(_ROLES)
        await self.as_superuser(f"CREATE DATABASE {_TEMPLATE} OWNER owner")
        await self.as_superuser("CREATE EXTENSION vector", _TEMPLATE)
        await migrate(self.cluster.url("owner", _TEMPLATE), ["sidecar"], 0)

    async def as_superuser(self, statement: str, database: str = "postgres") -> None:
        connection = await asyncpg.connect(self.cluster.url("superuser", database), timeout=60)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    async def create(self, *, migrated: bool = True, copy_of: str = _TEMPLATE) -> str:
        """The name of a new database that `owner` owns. `copy_of`: of one that nobody is connected to."""
        name = f"test_{next(_numbers)}"
        template = f"TEMPLATE {copy_of}" if migrated else ""
        await self.as_superuser(f"CREATE DATABASE {name} {template} OWNER owner")
        return name

    async def drop(self, name: str) -> None:
        await self.as_superuser(f"DROP DATABASE {name} WITH (FORCE)")

    async def empty(self, name: str) -> None:
        """Nothing is in the database any more, and its counters begin anew."""
        connection = await asyncpg.connect(self.cluster.url("superuser", name), timeout=60)
        try:
            async with connection.transaction():
                await connection.execute("SET LOCAL session_replication_role = replica")  # no triggers: all goes
                for name_of, size in await connection.fetch(_TABLES):
                    await connection.execute(
                        f"TRUNCATE {name_of} CASCADE" if size > _LARGE_BYTES else f"DELETE FROM {name_of}"
                    )
                await connection.execute(_COUNT_ANEW)
        finally:
            await connection.close()

    async def connected(self, name: str) -> int:
        """How many connections there are to the database."""
        connection = await asyncpg.connect(self.cluster.url(), timeout=60)
        try:
            query = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1"
            return int(await connection.fetchval(query, name))
        finally:
            await connection.close()

    async def until_connected(self, name: str, count: int) -> None:
        """Returns when there are so many connections to the database; fails after a minute."""
        deadline_s = time.monotonic() + 60
        while (found := await self.connected(name)) != count:
            assert time.monotonic() < deadline_s, f"{found} connections"
            await asyncio.sleep(0.02)

    async def strays(self, name: str) -> list[str]:
        """Envelopes that do not stand for what is there, and what no envelope stands for."""
        connection = await asyncpg.connect(self.cluster.url("superuser", name), timeout=60)
        try:
            return [str(row) for row in await connection.fetch(_STRAYS)]
        finally:
            await connection.close()

    @contextlib.asynccontextmanager
    async def fresh(self, *, migrated: bool = True, copy_of: str = _TEMPLATE) -> AsyncIterator[str]:
        """The same for the length of a block."""
        name = await self.create(migrated=migrated, copy_of=copy_of)
        try:
            yield name
        finally:
            await self.drop(name)

    @contextlib.asynccontextmanager
    async def empty_one(self) -> AsyncIterator[str]:
        """A migrated database with nothing in it, for a block that leaves its schema alone: no copy is made where one
        can be had again."""
        name = self._used.pop() if self._used else await self.create()
        yield name
        # Not after a failure: whoever looks into that finds what there was.
        await self.empty(name)
        self._used.append(name)

    @contextlib.asynccontextmanager
    async def opened(self, **given: float) -> AsyncIterator[PostgresDatabase]:
        """The store on an empty database, as a sidecar opens it."""
        async with self.empty_one() as name:
            database = await PostgresDatabase.open(self.cluster.url("sidecar", name), **given)  # type: ignore[arg-type]
            try:
                yield database
            finally:
                await database.close()
