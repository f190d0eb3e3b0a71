"""The port `Work` on SQLite."""

from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.scope import SERVES_ALL
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import work as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.jobs import T0

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteWork(database))


async def test_claiming_nothing_writes_nothing(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        work = SqliteWork(database)
        wal = tmp_path / "sidemirror.db-wal"
        before = wal.stat().st_size
        assert await work.claim(SERVES_ALL, ("goal",), 8, 30.0, T0, "w1") == ()
        assert wal.stat().st_size == before
