"""A program that an earlier build's stores run in: opens the shared store, writes and reads back, and says so. Imports
what every build since the first on Postgres has. Arguments: the store's URL, and a name for what it writes."""

import asyncio
import sys

from sidemirror_server.storage.postgres import database as driver
from sidemirror_server.storage.postgres.migrate import read_migrations
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.trace.log import TURN_TOPIC, Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import JobId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import NewJob

SCOPE = Scope("acme", "shop")
# Earlier builds called it by the second name.
Store = getattr(driver, "PostgresDatabase", None) or driver.Database  # type: ignore[attr-defined]


async def use(url: str, name: str) -> str:
    """Which turns are in the log by then, the oldest first."""
    database = await Store.open(url)
    try:
        session_id, turn_id = SessionId(f"s {name}"), TurnId(name)
        await PostgresSessions(database).create(SCOPE, SessionRecord(session_id, b"{}", 1, 1))
        head = TurnHead(turn_id, session_id, 1, TurnStanding.OPEN, 1, 1, 1, b"{}")
        log = PostgresTurnLog(database)
        await log.append(SCOPE, (Batch(head, (Draft(1, 1, b"{}"),)),))
        work = PostgresWork(database)
        await work.put(SCOPE, NewJob(JobId(name), "kind", b"x"), 1)
        (job,) = await work.claim(["kind"], 1, 30.0, 2, "w")
        await work.finish(job.scope, job.job_id, job.token, None, 3)
        return ", ".join(entry.key for entry in await log.tail(SCOPE, TURN_TOPIC, None, 0, 100, 10**6))
    finally:
        await database.close()


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{len(read_migrations())}: {asyncio.run(use(*sys.argv[1:]))}\n")
    except StoreUnavailable as error:
        sys.exit(str(error))
