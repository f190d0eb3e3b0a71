"""Workers are killed at random in 1,000 jobs, and each job ends done or dead with its effect once (decision 027)."""

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.work import SqliteWork, put_job
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import JobState, NewJob
from sidemirror_server.work.worker import Worker
from tests.adapters.sqlite_store import sqlite_database
from tests.architecture.repository import ROOT
from tests.work.effects import PACE, make_effects, unreliable

pytestmark = pytest.mark.slow("processes are killed at random")

SCOPES = (Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop"))
JOBS = 1000


async def put_jobs(database: SqliteDatabase) -> None:
    now_us = SystemClock().now_us()

    def change(connection: sqlite3.Connection) -> None:
        make_effects(connection)
        for number in range(JOBS):
            # Enough attempts that only the hopeless die, whatever is killed.
            job = NewJob(JobId(f"job {number}"), "count", b"%d" % number, max_attempts=100)
            put_job(connection, SCOPES[number % 3], job, now_us)

    await database.write(change, long=True)


async def unfinished(work: SqliteWork) -> int:
    counts = [await work.count(scope, "count") for scope in SCOPES]
    return JOBS - sum(count[JobState.DONE] + count[JobState.DEAD] for count in counts)


async def assert_each_ended_with_its_effect_once(database: SqliteDatabase) -> None:
    work = SqliteWork(database)
    states: dict[int, JobState] = {}
    for scope in SCOPES:
        for job in await work.list(scope, "count", (), None, JOBS):
            states[int(job.payload)] = job.state
    assert states == {n: JobState.DEAD if n % 50 == 0 else JobState.DONE for n in range(JOBS)}
    effects = Counter(database.read(lambda c: [job for (job,) in c.execute("SELECT job_id FROM effects")]))
    assert effects == {f"job {n}": 1 for n in range(JOBS) if n % 50}


async def test_cancelled_tasks(tmp_path: Path) -> None:
    """Seen to fail when `claim` leaves a job without the time at which its lease ends: jobs of killed workers never
    come back."""
    chance = random.Random(11)
    async with sqlite_database(tmp_path) as database:
        await put_jobs(database)
        work = SqliteWork(database)
        handlers = {"count": unreliable(database, chance, 0.004)}

        def start() -> asyncio.Task[None]:
            worker = Worker(SqliteWork(database), handlers, SystemClock(), chance, "task", PACE)
            return asyncio.create_task(worker.run())

        workers = [start() for _ in range(3)]
        killed = 0
        async with asyncio.timeout(60):
            while await unfinished(work):
                await asyncio.sleep(chance.random() * 0.02)
                victim = chance.randrange(3)
                workers[victim].cancel()  # not waited for: the next one starts while it gives its jobs back
                workers[victim] = start()
                killed += 1
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        assert killed > 20
        await assert_each_ended_with_its_effect_once(database)


async def test_killed_processes(tmp_path: Path) -> None:
    """Seen to fail when `claim` leaves a job without the time at which its lease ends: jobs of killed workers never
    come back."""
    chance = random.Random(12)
    async with sqlite_database(tmp_path) as database:
        await put_jobs(database)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "server")])}
    interrupted, deadline_s = 0, time.monotonic() + 150
    for seed in range(100):
        assert time.monotonic() < deadline_s, "the jobs did not end in time"
        process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs here
            [sys.executable, "-m", "tests.work.effects", str(tmp_path), str(seed)],
            stdout=subprocess.PIPE,
            env=environment,
            cwd=ROOT,
        )
        with process:
            assert process.stdout is not None
            process.stdout.readline()  # its start takes as long as the machine lets it
            time.sleep(0.1 + chance.random() * 0.4)  # noqa: ASYNC251 - the moment of the kill is what is random here
            process.kill()
        async with sqlite_database(tmp_path) as database:
            work = SqliteWork(database)
            running = sum([(await work.count(scope, "count"))[JobState.RUNNING] for scope in SCOPES])
            interrupted += running > 0
            if not await unfinished(work):
                await assert_each_ended_with_its_effect_once(database)
                break
    else:
        raise AssertionError("100 processes did not finish 1,000 jobs")
    assert interrupted >= 4
