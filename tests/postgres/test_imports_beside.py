"""Imported observations, and what removes them in another transaction."""

import asyncio

import pytest

from sidemirror_server.memory.recoveries.observations import key_of
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.erasures import PostgresErasures
from sidemirror_server.storage.postgres.observations import PostgresObservations
from sidemirror_server.storage.sql import ids_of
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.scope import SERVES_ALL
from tests.conformance.observations import ANNA, LATER, ONE, SIGNATURE, observation
from tests.postgres.databases import Databases

OF_ID = "FROM sidemirror.observations WHERE tenant_id = $1 AND project_id = $2 AND observation_id = $3"


async def waiting(database: PostgresDatabase) -> None:
    """Until a transaction waits for a lock."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(20):
        while True:
            async with database.transaction(None) as transaction:
                if (await transaction.fetch(asked))[0][0]:
                    return


async def test_an_import_and_an_erasure_wait_for_each_other(databases: Databases) -> None:
    """OB11: what is put while its subject is erased is found by the erasure, or refused. Seen to fail when the
    transaction did not say that it derives."""
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        one, other = await PostgresDatabase.open(url), await PostgresDatabase.open(url)
        try:
            erasures, store = PostgresErasures(other), PostgresObservations(one)
            gone = observation(ONE, "gone", 1)
            async with one.transaction(ONE, erases=True):
                putting = asyncio.create_task(store.put(ONE, gone, (ANNA,)))
                await waiting(other)
                await erasures.begin(ONE, "e", (ANNA,), LATER)
            with pytest.raises(WrongState, match="erased"):
                await putting
            assert await store.of_signature(ONE, SIGNATURE) == ()
        finally:
            await one.close()
            await other.close()


async def test_retention_waits_for_nobody_who_removes_the_same(databases: Databases) -> None:
    """Seen to fail when it locked its own list first, which could end in a deadlock."""
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        one, other = await PostgresDatabase.open(url), await PostgresDatabase.open(url)
        try:
            store = PostgresObservations(one)
            gone = observation(ONE, "a", 0).observation_id
            for number, turn in enumerate(("a", "b")):
                await store.put(ONE, observation(ONE, turn, number), (ANNA,))
            async with other.transaction(ONE) as erasing:
                # As a removal does before its trigger comes to the list of what was imported.
                await erasing.fetch(f"SELECT 1 {OF_ID} FOR UPDATE", *ids_of(ONE), gone)
                async with asyncio.timeout(5):
                    assert await store.forget(SERVES_ALL, LATER, 10) == 1
                assert await erasing.change(f"DELETE {OF_ID}", *ids_of(ONE), gone) == 1
            assert await store.of_signature(ONE, SIGNATURE) == ()
            assert await store.subjects(ONE, [key_of(observation(ONE, turn, n)) for n, turn in enumerate("ab")]) == {}
        finally:
            await one.close()
            await other.close()
