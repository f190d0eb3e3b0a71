"""A program that says that it works, and works on jobs until it is killed. Arguments: the store's URL, and a seed."""

import asyncio
import random
import sys

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.work.worker import ClaimedJob, Hopeless, Worker
from tests.work.effects import PACE

# Guarded by the token: only the present claim's effect counts, and only once.
_EFFECT = """
INSERT INTO effects
SELECT job_id
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'
      AND job_id NOT IN (SELECT job_id FROM effects)
"""
_HOLD = "SELECT FROM sidemirror.jobs WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 FOR UPDATE"


async def work_until_killed(url: str, seed: int) -> None:
    database = await PostgresDatabase.open(url)
    chance = random.Random(seed)

    async def handle(task: ClaimedJob) -> bytes:
        """Takes some time, fails one time in ten, gives every fiftieth job up, and leaves an effect."""
        job = task.job
        if int(job.payload) % 50 == 0:
            raise Hopeless("every fiftieth")
        await asyncio.sleep(chance.random() * 0.05)
        if chance.random() < 0.1:
            raise ConnectionError("one in ten")
        place = (job.scope.tenant_id, job.scope.project_id, job.job_id)
        async with database.transaction(job.scope) as transaction:
            await transaction.fetch(_HOLD, *place)
            await transaction.change(_EFFECT, *place, job.token)
        await asyncio.sleep(chance.random() * 0.05)
        return b"done"

    sys.stdout.write("working\n")
    sys.stdout.flush()
    await Worker(PostgresWork(database), {"count": handle}, SystemClock(), chance, f"process {seed}", PACE).run()


if __name__ == "__main__":
    asyncio.run(work_until_killed(sys.argv[1], int(sys.argv[2])))
