"""A program that puts reflections of one goal, one after the other. Arguments: the server's URL, a name, how many."""

import asyncio
import sys

from sidemirror_server.storage.redis import database as redis_database
from sidemirror_server.storage.redis.database import RedisDatabase
from sidemirror_server.storage.redis.goal_reflections import SCRIPTS, RedisGoalReflections
from sidemirror_server.vocabulary.clock import SystemClock
from tests.conformance.goal_reflections import ONE, reflection
from tests.redis.server import PATIENCE_S


async def write(url: str, name: str, count: int) -> None:
    redis_database._ANSWER_S = PATIENCE_S  # what is stored is looked at, not how soon
    database = await RedisDatabase.open(url, SCRIPTS)
    try:
        reflections, clock = RedisGoalReflections(database), SystemClock()
        for number in range(count):
            now_us = clock.now_us()
            await reflections.put(ONE, reflection(f"{name}{number:04}", "g", now_us), now_us)
            sys.stdout.write(f"{now_us} {name}{number:04}\n")
    finally:
        await database.close()


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
