"""The port `MemorySearch` on Postgres: the same suite as on SQLite, with pgvector, with its index, and without it."""

import math

import pytest

from sidemirror_server.memory.record import Kept
from sidemirror_server.memory.search import Embedded, Filter
from sidemirror_server.storage.postgres.database import Database
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
from sidemirror_server.storage.postgres.migrate import migrate
from tests.conformance import memory_search as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.memories import ONE, OTHER, memory
from tests.postgres.databases import Databases

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await CLAUSES[clause](lambda: suite.Stores(PostgresMemories(database), PostgresMemorySearch(database)))


@pytest.mark.parametrize("clause", ["FM3", "FM6", "FM8", "FM10"])
async def test_clause_without_pgvector(clause: str, databases: Databases) -> None:
    async with databases.fresh(migrated=False) as name:
        await migrate(databases.cluster.url("owner", name), ["sidecar"], 0)  # who may not install it
        database = await Database.open(databases.cluster.url("sidecar", name))
        try:
            await CLAUSES[clause](lambda: suite.Stores(PostgresMemories(database), PostgresMemorySearch(database)))
        finally:
            await database.close()


async def test_the_index_finds_what_comparing_all_finds(databases: Databases) -> None:
    """Among vectors of another scope that are all nearer: the index that both share goes on until it has enough."""
    async with databases.opened() as database:
        memories = PostgresMemories(database)
        search = PostgresMemorySearch(database, exact_rows=0)
        for scope, offset in ((ONE, 30.0), (OTHER, 0.0)):
            records = [memory(f"m{number}") for number in range(300)]
            for record in records:
                await memories.put(scope, Kept(record))
            made = tuple(
                Embedded(one.memory_id, one.content, turned(offset + number / 10)) for number, one in enumerate(records)
            )
            await search.embed(scope, "m", made)
        found = await search.by_vector(ONE, "m", turned(0), Filter(), 10)
        exactly = await PostgresMemorySearch(database).by_vector(ONE, "m", turned(0), Filter(), 10)
        assert found == exactly
        assert [hit.facts.memory_id for hit in found.hits] == [f"m{number}" for number in range(10)]


def turned(degrees: float) -> tuple[float, ...]:
    angle = math.radians(degrees)
    return (math.cos(angle), math.sin(angle), *(0.0,) * 254)
