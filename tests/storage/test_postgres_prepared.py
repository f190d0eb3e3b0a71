"""Statements that stay prepared: where no pooler stands between, and for nobody else's rows."""

from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

import asyncpg
import pytest

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.migrate import StoreConnection
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.vocabulary.errors import StoreUnavailable
from tests.conformance.turn_log import ONE, OTHER, everything, start
from tests.postgres.databases import Databases
from tests.postgres.pooler import Pooler, needs_pgbouncer

pytestmark = pytest.mark.usefixtures("patient_postgres")
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


def interrupted(monkeypatch: pytest.MonkeyPatch, happens: Callable[[StoreConnection], NoReturn]) -> None:
    """The next statement that is prepared is at Postgres already when this happens."""
    prepare = StoreConnection.prepare

    async def cut_off(connection: StoreConnection, statement: str, **named: Any) -> Any:
        monkeypatch.setattr(StoreConnection, "prepare", prepare)
        await prepare(connection, statement, **named)
        happens(connection)

    monkeypatch.setattr(StoreConnection, "prepare", cut_off)


async def test_a_statement_whose_preparation_was_cut_off_is_prepared_anew(
    databases: Databases, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a time limit, after Postgres has it and before asyncpg knows its types. Seen to fail with a name for each
    statement that is prepared: DuplicatePreparedStatementError, which ended the sidecar."""
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name), connections=1)

    def time_is_up(_: StoreConnection) -> NoReturn:
        raise asyncpg.QueryCanceledError("canceling statement due to statement timeout")

    interrupted(monkeypatch, time_is_up)
    try:
        with pytest.raises(StoreUnavailable):
            await appended(database, "cut off")
        assert await appended(database, "after") >= 1
    finally:
        await database.close()


async def test_a_connection_that_is_closed_while_a_statement_is_prepared(
    databases: Databases, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another call finds that the store hangs. Seen to fail with asyncpg's AttributeError, which ended the
    sidecar."""
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name), connections=1)

    def is_closed(connection: StoreConnection) -> NoReturn:
        connection.terminate()
        raise AttributeError("'NoneType' object has no attribute '_get_timeout'")

    interrupted(monkeypatch, is_closed)
    try:
        with pytest.raises(StoreUnavailable):
            await appended(database, "cut off")
        assert await appended(database, "after") == 1
    finally:
        await database.close()


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
