"""An embedded store in a fresh folder, for the tests of its adapters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sidemirror_server.storage.sqlite.database import SqliteDatabase


@asynccontextmanager
async def sqlite_database(folder: Path) -> AsyncIterator[SqliteDatabase]:
    database = await SqliteDatabase.open(folder, now_us=0)
    try:
        yield database
    finally:
        await database.close()
