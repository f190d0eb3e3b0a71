"""Statements that stay prepared: where no pooler stands between, and for nobody else's rows."""

from collections.abc import AsyncIterator

import pytest

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.vocabulary.errors import StoreUnavailable
from tests.conformance.turn_log import ONE, OTHER, everything, start
from tests.postgres.databases import Databases
from tests.postgres.pooler import Pooler, needs_pgbouncer

_PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%log_entries%'"


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    async with databases.empty_one() as empty:
        yield empty


async def appended(database: PostgresDatabase, turn: str) -> int:
    """Appends to two scopes; how many statements that append are prepared then."""
    for scope in (ONE, OTHER):
        await PostgresTurnLog(database).append(scope, (start(turn),))
    async with database.transaction(None) as transaction:
        ((count,),) = await transaction.fetch(_PREPARED)
    return int(count)


async def test_an_append_is_prepared_once(databases: Databases, name: str) -> None:
    """Seen to fail when every connection is taken for a pooler's."""
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name), connections=1)
    try:
        assert [await appended(database, f"t{number}") for number in range(8)] == [1] * 8
        assert len(await everything(PostgresTurnLog(database), ONE)) == 8
        assert len(await everything(PostgresTurnLog(database), OTHER)) == 8
    finally:
        await database.close()


@needs_pgbouncer
async def test_nothing_is_prepared_behind_a_pooler(databases: Databases, name: str) -> None:
    """Seen to fail when no connection is taken for a pooler's."""
    pooler = Pooler(databases.cluster, connections=2)
    database = await PostgresDatabase.open(pooler.url(name))
    try:
        assert [await appended(database, f"t{number}") for number in range(3)] == [0] * 3
    finally:
        await database.close()
        pooler.remove()


async def test_a_statement_that_is_gone_is_prepared_no_more(databases: Databases, name: str) -> None:
    """As behind a pooler that tells the right process. One call fails and may be made again; all later ones work. Seen
    to fail when the connection is kept: each append fails."""
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name), connections=1)
    try:
        assert await appended(database, "before") == 1
        async with database.transaction(None) as transaction:
            await transaction.fetch("DEALLOCATE ALL")
        with pytest.raises(StoreUnavailable):
            await appended(database, "lost")
        assert await appended(database, "after") == 0
    finally:
        await database.close()
