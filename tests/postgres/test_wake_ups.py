"""Wake-ups between sidecars on one Postgres: who hears of an append, and what becomes of one that is lost."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.assembly import looks, upkeep
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.journal import PostgresJournal
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.wakes import PostgresWakes
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.trace import live
from sidemirror_server.trace.log import Note
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.work.queue import JobState, NewJob
from tests.conformance.turn_log import ONE, start
from tests.faults.sidecars import Running, running
from tests.faults.waiting import until
from tests.postgres.databases import Databases
from tests.postgres.pooler import Pooler, needs_pgbouncer


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A database of the test's own."""
    async with databases.fresh() as fresh:
        yield fresh


@contextlib.asynccontextmanager
async def opened(url: str, listen_url: str) -> AsyncIterator[tuple[PostgresDatabase, PostgresWakes]]:
    """The store by one address, and its wake-ups by another."""
    database = await PostgresDatabase.open(url)
    wakes = PostgresWakes(database, listen_url)
    try:
        yield database, wakes
    finally:
        await wakes.close()
        await database.close()


async def heard(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), 60)
    event.clear()


async def test_every_append_is_told_without_contents(databases: Databases, name: str) -> None:
    """Of turns and of notes. Seen to fail when an adapter does not tell, and with the tenant as payload."""
    url = databases.cluster.url("sidecar", name)
    told: list[tuple[str, str]] = []
    news = asyncio.Event()

    def on_notification(_: object, pid: int, channel: str, payload: object) -> None:
        told.append((channel, str(payload)))
        news.set()

    listener = await asyncpg.connect(url)
    await listener.add_listener("sidemirror_log", on_notification)
    try:
        async with opened(url, url) as (database, wakes):
            await PostgresTurnLog(database, wakes.tell).append(ONE, (start("t1", session="s1"),))
            await heard(news)
            await PostgresJournal(database, wakes.tell).add(ONE, "goals", Note("k", "g", 1, b"x"), 10**15)
            await heard(news)
    finally:
        await listener.close()
    assert told == [("sidemirror_log", "")] * 2


async def test_a_burst_is_told_ten_times_a_second(databases: Databases, name: str) -> None:
    """The last append is told of too. Seen to fail when each is told, and when a second one within 0.1 s is dropped."""
    url = databases.cluster.url("sidecar", name)
    async with opened(url, url) as (_, hearing), opened(url, url) as (_, telling):
        times: list[float] = []
        hearing.listen(lambda: times.append(time.monotonic()))
        await until(lambda: hearing.is_heard)
        times.clear()
        began_s = time.monotonic()
        while time.monotonic() - began_s < 0.55:
            telling.tell()
            await asyncio.sleep(0.002)
        last_s = time.monotonic()
        await until(lambda: times[-1] >= last_s - 0.05)
        took_s = times[-1] - began_s
        assert 2 <= len(times) <= took_s / 0.1 + 2


async def test_listening_begins_again_when_it_was_cut(databases: Databases, name: str) -> None:
    """What was appended meanwhile has told nobody, so that the follower looks when it listens again. Seen to fail when
    the end of the connection is not noticed."""
    url = databases.cluster.url("sidecar", name)
    async with opened(url, url) as (_, hearing), opened(url, url) as (_, telling):
        news = asyncio.Event()
        hearing.listen(news.set)
        await heard(news)
        cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        await databases.as_superuser(cut)
        await until(lambda: not hearing.is_heard)
        await until(lambda: hearing.is_heard)
        await heard(news)
        await until(telling._database.is_available)
        telling.tell()
        await heard(news)


@needs_pgbouncer
async def test_a_pooler_does_not_listen_but_tells(
    databases: Databases, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """PgBouncer would take LISTEN, and the wake-ups would reach nobody. Seen to fail when the processes are not
    compared."""
    direct, pooler = databases.cluster.url("sidecar", name), Pooler(databases.cluster, 4)
    try:
        pooled = pooler.url(name)
        async with opened(direct, direct) as (_, hearing), opened(pooled, pooled) as (_, behind):
            news = asyncio.Event()
            hearing.listen(news.set)
            await heard(news)
            behind.tell()
            await heard(news)
            behind.listen(news.set)
            await until(lambda: "wake_ups_not_heard" in [record.message for record in caplog.records])
            assert not behind.is_heard
        async with opened(pooled, direct) as (_, beside):
            news = asyncio.Event()
            beside.listen(news.set)
            await heard(news)
    finally:
        pooler.remove()


# --- an idle sidecar -------------------------------------------------------------------------------------------------


@pytest.fixture
def soon_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes are tenths of a second."""
    monkeypatch.setattr(looks, "QUIET_S", 0.5)
    monkeypatch.setattr(upkeep, "SWEEP_EVERY_S", 0.1)
    monkeypatch.setattr(upkeep, "DREAMS_EVERY_S", 0.1)
    monkeypatch.setattr(upkeep, "JOBS_EVERY_S", 0.1)
    monkeypatch.setattr(upkeep, "QUIET_LOOK_S", 2.0)
    monkeypatch.setattr(upkeep, "QUIET_FORGET_S", 20.0)
    monkeypatch.setattr(live, "_LONGEST_HEARD_S", 3600.0)


async def first_entry(served: Running) -> str:
    """The turn of the first entry that a watch shows which begins now."""
    watch = served.stub.WatchTurns(pb.WatchTurnsRequest())
    try:
        async for response in watch:
            if response.entry.sequence:
                return str(response.entry.turn_id)
        raise AssertionError("the watch has ended")
    finally:
        watch.cancel()


@pytest.mark.usefixtures("soon_quiet")
async def test_an_idle_sidecar_has_no_connection_and_still_works(
    databases: Databases, name: str, tmp_path: Path
) -> None:
    """A job that another process put is done within the longest pause, and calls are answered. Seen to fail when the
    looks do not rest, and when they leave the worker out."""
    url = databases.cluster.url("sidecar", name)
    async with running(tmp_path, database_url=url) as served, contextlib.AsyncExitStack() as stack:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t"))
        await databases.until_connected(name, 0)
        other, _ = await stack.enter_async_context(opened(url, ""))
        elsewhere = PostgresWork(other)
        job = NewJob(JobId("j"), "goal_report", b"not a report", 1)
        await elsewhere.put(ONE, job, SystemClock().now_us())
        async with asyncio.timeout(60):
            while (await elsewhere.count(ONE, job.kind))[JobState.DEAD] == 0:  # noqa: ASYNC110 - asked of the store
                await asyncio.sleep(0.05)
        await other.close()
        await databases.until_connected(name, 0)
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="u"))


@pytest.mark.usefixtures("soon_quiet")
async def test_an_idle_sidecar_that_watches_has_one_connection(databases: Databases, name: str, tmp_path: Path) -> None:
    """On which it hears of what another one records, and none when nobody watches any more. Seen to fail when the
    connection that listens is none of the pool's."""
    url = databases.cluster.url("sidecar", name)
    async with running(tmp_path / "a", database_url=url, database_listen_url=url) as watching:
        watch = asyncio.create_task(first_entry(watching))
        wakes = watching.sidecar._stores.wakes
        assert wakes is not None
        await until(lambda: wakes.is_heard)
        await databases.until_connected(name, 1)
        async with running(tmp_path / "b", database_url=url, database_listen_url=url) as recording:
            await recording.stub.StartTurn(pb.StartTurnRequest(turn_id="t"))
            assert await asyncio.wait_for(watch, 60) == "t"
        await databases.until_connected(name, 0)
