"""A program that appends to four turns till it dies, and prints the turn and the last sequence of each append that was
acknowledged. Arguments: the data folder, and a prefix for the turns' ids."""

import asyncio
import sys
from itertools import count
from pathlib import Path

from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.turn_log import ONE, batch, head


async def append_until_killed(folder: Path, prefix: str) -> None:
    async with sqlite_database(folder) as database:
        log = SqliteTurnLog(database)

        async def one_turn(turn: str) -> None:
            last = 0
            for number in count():
                bodies = [b'{"text":"%s"}' % (b"x" * 300)] * (1 + number % 3)
                last += len(bodies)
                await log.append(ONE, (batch(head(turn, last), *bodies, session_body=b"{}"),))
                sys.stdout.write(f"{turn} {last}\n")
                sys.stdout.flush()

        await asyncio.gather(*[one_turn(f"{prefix}-{number}") for number in range(4)])


if __name__ == "__main__":
    asyncio.run(append_until_killed(Path(sys.argv[1]), sys.argv[2]))
