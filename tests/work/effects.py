"""Jobs whose effect can be counted, and a program that works on them until it is killed."""

import asyncio
import random
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.work.worker import ClaimedJob, Hopeless, Pace, Worker

PACE = Pace(concurrency=8, lease_s=0.4, poll_s=0.02, retry_s=0.005, longest_retry_s=0.05)


def make_effects(connection: sqlite3.Connection) -> None:
    """Without a constraint on purpose: a second effect of a job would be a second row."""
    connection.execute("CREATE TABLE IF NOT EXISTS effects (job_id TEXT, token INTEGER)")


def leave_effect(job_id: str, token: int) -> Callable[[sqlite3.Connection], None]:
    """Guarded by the token: only the present claim's effect counts, and only once."""

    def change(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO effects SELECT job_id, token FROM jobs WHERE job_id = ? AND token = ? AND state = 'running'"
            " AND job_id NOT IN (SELECT job_id FROM effects)",
            (job_id, token),
        )

    return change


def unreliable(
    database: SqliteDatabase, chance: random.Random, pause_s: float
) -> Callable[[ClaimedJob], Awaitable[bytes]]:
    """Takes some time, fails one time in ten, gives every fiftieth job up, and leaves an effect."""

    async def handle(task: ClaimedJob) -> bytes:
        if int(task.job.payload) % 50 == 0:
            raise Hopeless("every fiftieth")
        await asyncio.sleep(chance.random() * pause_s)
        if chance.random() < 0.1:
            raise ConnectionError("one in ten")
        await database.write(leave_effect(task.job.job_id, task.job.token))
        await asyncio.sleep(chance.random() * pause_s)
        return b"done"

    return handle


async def work_until_killed(folder: Path, seed: int) -> None:
    database = await SqliteDatabase.open(folder, now_us=0)
    chance = random.Random(seed)
    handlers = {"count": unreliable(database, chance, 0.02)}
    sys.stdout.write("works\n")
    sys.stdout.flush()
    await Worker(SqliteWork(database), handlers, SystemClock(), chance, f"process {seed}", PACE).run()


if __name__ == "__main__":
    asyncio.run(work_until_killed(Path(sys.argv[1]), int(sys.argv[2])))
