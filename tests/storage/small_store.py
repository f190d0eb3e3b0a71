"""A store with one table, for tests of what is below the adapters; and a program that writes to one till it dies."""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from sidemirror_server.storage.migration import Migration
from sidemirror_server.storage.sqlite.database import SqliteDatabase

TABLE = Migration(1, "notes", "CREATE TABLE notes (id INTEGER PRIMARY KEY, text BLOB) STRICT;", "1")


@asynccontextmanager
async def small_store(folder: Path, wal_limit_bytes: int = 64 * 1024 * 1024) -> AsyncIterator[SqliteDatabase]:
    database = await SqliteDatabase.open(folder, now_us=0, migrations=(TABLE,), wal_limit_bytes=wal_limit_bytes)
    try:
        yield database
    finally:
        await database.close()


def insert(number: int, text: bytes = b"x") -> Callable[[sqlite3.Connection], int]:
    def change(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO notes VALUES (?, ?)", (number, text))
        return number

    return change


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT id FROM notes ORDER BY id")]


async def write_until_killed(folder: Path, first: int) -> None:
    """16 writers; each number is printed once its write is acknowledged."""
    following = iter(range(first, sys.maxsize))
    async with small_store(folder, wal_limit_bytes=1024 * 1024) as database:

        async def writer() -> None:
            for number in following:
                await database.write(insert(number, b"x" * 500))
                sys.stdout.write(f"{number}\n")
                sys.stdout.flush()

        await asyncio.gather(*[writer() for _ in range(16)])


if __name__ == "__main__":
    asyncio.run(write_until_killed(Path(sys.argv[1]), int(sys.argv[2])))
