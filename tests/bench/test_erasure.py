"""The bench of what erasure needs: every store does every operation, and differs in what it says it differs in.

Seen to fail with triggers that were dropped nowhere."""

import sqlite3
from contextlib import closing
from pathlib import Path

from bench import erasure
from sidemirror_server.storage.sqlite.database import FILE_NAME


async def test_every_store_does_the_same(tmp_path: Path) -> None:
    async with erasure.on_sqlite(tmp_path) as stores:
        found = await erasure.measure(stores, rounds=2, count=3)
        assert list(found) == [operation.__name__ for operation in erasure.OPERATIONS]
        assert all(took.keys() == set(erasure.SQLITE) for took in found.values())
    for way in erasure.SQLITE:
        with closing(sqlite3.connect(tmp_path / way / FILE_NAME)) as connection:
            named = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%_is_gone'"
            ((triggers,),) = connection.execute(named).fetchall()
        assert bool(triggers) is (way in ("triggers", "all")), way
