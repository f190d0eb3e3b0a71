"""The job that a turn's end brings is put in the transaction of its last entry, on both stores."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.trace.log import Batch, Sequel, TurnLog
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.work.queue import JobState, Work
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.turn_log import ONE, OTHER, T0, batch, head, start
from tests.postgres.databases import Databases

Opened = tuple[TurnLog, Work]
SEQUEL = Sequel(JobId("j"), "learn_turn", b'{"turn_id":"t1","causes":["failure"]}')


@contextlib.asynccontextmanager
async def on_sqlite(folder: Path, _: Databases) -> AsyncIterator[Opened]:
    async with sqlite_database(folder) as database:
        yield SqliteTurnLog(database), SqliteWork(database)


@contextlib.asynccontextmanager
async def on_postgres(_: Path, databases: Databases) -> AsyncIterator[Opened]:
    async with databases.opened() as database:
        yield PostgresTurnLog(database), PostgresWork(database)


@pytest.fixture(params=[on_sqlite, on_postgres], ids=["sqlite", "postgres"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path, databases: Databases) -> AsyncIterator[Opened]:
    opens: Callable[[Path, Databases], AbstractAsyncContextManager[Opened]] = request.param
    async with opens(tmp_path, databases) as stores:
        yield stores


def ends(of: Batch, sequel: Sequel = SEQUEL) -> Batch:
    return msgspec.structs.replace(of, sequel=sequel)


async def test_the_job_comes_with_the_entry(opened: Opened) -> None:
    log, work = opened
    await log.append(ONE, (start("t1"),))
    assert await work.get(ONE, SEQUEL.job_id) is None
    await log.append(ONE, (ends(batch(head("t1", 2, updated=T0 + 5), b"2")), start("t2")))
    job = await work.get(ONE, SEQUEL.job_id)
    assert job is not None
    assert (job.kind, job.payload, job.state, job.run_at_us) == ("learn_turn", SEQUEL.payload, JobState.QUEUED, T0 + 5)
    assert await work.get(OTHER, SEQUEL.job_id) is None


async def test_a_refused_append_brings_no_job(opened: Opened) -> None:
    log, work = opened
    with pytest.raises(WrongState):
        await log.append(ONE, (ends(batch(head("t1", 2), b"hole")),))
    assert await work.get(ONE, SEQUEL.job_id) is None


async def test_a_job_that_is_there_stays_as_it_is(opened: Opened) -> None:
    """Also the second try of an append whose answer was lost, and the next turn with the same failure."""
    log, work = opened
    first = ends(start("t1"))
    await log.append(ONE, (first,))
    job = await work.get(ONE, SEQUEL.job_id)
    await log.append(ONE, (first,))
    await log.append(ONE, (ends(start("t2"), Sequel(SEQUEL.job_id, SEQUEL.kind, b'{"turn_id":"t2","causes":[]}')),))
    assert await work.get(ONE, SEQUEL.job_id) == job
    assert len(await work.list(ONE, "learn_turn", (), None, 10)) == 1
    assert await log.head(ONE, start("t2").head.turn_id) is not None
