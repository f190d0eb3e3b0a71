"""The port `MemorySearch` on Postgres: the same suite as on SQLite, with pgvector, with its index, and without it."""

import math

import asyncpg
import pytest

from sidemirror_server.memory.finding.search import Embedded, Filter
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.storage.postgres import memory_search as adapter
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
from sidemirror_server.storage.postgres.migrate import migrate
from tests.adapters.broken_postgres import of_one_project
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
        database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
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
                await memories.put(scope, MemoryHistory(record))
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


# (clause that must notice, statement, a piece of it, what stands there instead)
BROKEN = [
    ("FM1", "by_text", "(known.times + $8::double precision\n", "(1 + known.times + $8::double precision\n"),
    ("FM1", "by_text", "WHEN known.in_task THEN", "WHEN NOT known.in_task THEN"),
    ("FM2", "figures", "coalesce(sum(memories), 0)", "coalesce(sum(memories) + 1, 0)"),
    ("FM3", "by_text", "memory.importance >= $11", "$11::double precision IS NOT NULL"),
    ("FM3", "best", "known.kind = $5", "known.kind <> $5"),
    ("FM3", "labelled", "memory.state = ANY($6::text[])", "$6::text[] IS NOT NULL"),
    ("FM3", "nearest_exactly", "label.label = ANY($9)", "lower(label.label) = ANY(SELECT lower(unnest($9)))"),
    ("FM4", "best", "ORDER BY memory.importance DESC, memory.created_us DESC", "ORDER BY memory.created_us DESC"),
    ("FM5", "labelled", "label.label = ANY($8::text[])", "lower(label.label) = ANY(SELECT lower(unnest($8::text[])))"),
    ("FM6", "nearest_exactly", "known.model = $3", "$3::text IS NOT NULL"),
    ("FM6", "embedded", "model = $3", "model <> $3"),
    ("FM7", "unembedded", "AND known.model = $3", "AND $3::text IS NOT NULL"),
    ("FM8", "embed", "AND memory.content = made.content", ""),
    ("FM8", "embed", "embedding = excluded.embedding", "embedding = memory_vectors.embedding"),
    ("FM9", "terms_in", "memory_id = ANY($3::text[])", "$3::text[] IS NOT NULL"),
    ("FM11", "take", "known.until_us <= $5", "known.until_us < $5"),
    ("FM11", "take", "WHERE known.holder = $4 OR known.until_us <= $5", "WHERE $5::bigint IS NOT NULL"),
    ("FM11", "take", "known.holder = $4 OR ", ""),
    ("FM12", "leave", "AND holder = $4", "AND $4::text IS NOT NULL"),
    ("FM12", "leave", "AND model = $3", "AND $3::text IS NOT NULL"),
    ("FM13", "by_text", "memory.content_terms || ' ' ||", "'x' ||"),
    ("FM14", "unembedded", "AND known.model = $3", "AND $3::text IS NULL"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, databases, PostgresMemorySearch)


async def test_scopes_that_meet_are_noticed(databases: Databases) -> None:
    """Row level security keeps them apart, whatever a statement says: what is broken here is what is told to it."""
    await noticed("FM10", databases, of_one_project(PostgresMemorySearch))


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} | {"FM10"} == set(CLAUSES)


async def noticed(clause: str, databases: Databases, broken: type[PostgresMemorySearch]) -> None:
    async with databases.opened() as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: suite.Stores(PostgresMemories(database), broken(database)))
    assert not isinstance(caught.value, TypeError | AttributeError | NameError | asyncpg.PostgresError)
