"""A program of many callers that want ten cents each of one dollar; prints how many got them. Arguments: the store's
URL, and how many."""

import asyncio
import sys

from sidemirror_server.models.ledger import Reservation
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from tests.conformance.ledger import ONE_DOLLAR, reserve


async def call(url: str, callers: int) -> int:
    database = await PostgresDatabase.open(url)
    try:
        ledger = PostgresLedger(database)
        given = await asyncio.gather(*(reserve(ledger, ONE_DOLLAR) for _ in range(callers)))
        return sum(isinstance(one, Reservation) for one in given)
    finally:
        await database.close()


if __name__ == "__main__":
    sys.stdout.write(str(asyncio.run(call(sys.argv[1], int(sys.argv[2])))))
