"""Finding memories in Postgres: full text by the terms of each memory, vectors by pgvector where it is installed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sidemirror_server.memory.finding.closest import closest
from sidemirror_server.memory.finding.search import (
    EMBEDDING_LEASE_US,
    Embedded,
    Filter,
    MemoryFacts,
    TextHit,
    TextHits,
    Unembedded,
    VectorHit,
    VectorHits,
)
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.vocabulary.bm25 import LENGTH_WEIGHT, SATURATION, Field, chosen, telling, worth
from sidemirror_server.vocabulary.closeness import CANDIDATES
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("memory_search.sql"))

# The count of a term stops here: a more frequent term does not help to rank.
_MOST_COUNTED = 100_000
# Up to this many vectors of a scope are compared one by one (decision 031). Above it, an index is used if there is one
# for the number of dimensions (the migration `memory_search`).
_EXACT_ROWS = 20_000
_INDEXED_DIMENSIONS = frozenset({256, 384, 512, 768, 1024, 1536})
# Chosen here: a search of a large scope may read many rows.
_SEARCH_S = 10.0


class PostgresMemorySearch:
    """The port `MemorySearch` on the shared store."""

    def __init__(self, database: PostgresDatabase, *, exact_rows: int = _EXACT_ROWS) -> None:
        self._database = database
        self._exact_rows = exact_rows

    async def by_text(
        self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int, *, said: Sequence[str] = ()
    ) -> TextHits:
        of = ids_of(scope)
        candidates = max(limit, CANDIDATES) if said else limit
        async with self._database.transaction(scope, reads_only=True, within_s=_SEARCH_S) as transaction:
            row = await transaction.first(_SQL["figures"], *of)
            memories, content_terms, tasks, task_terms = row or (0, 0, 0, 0)
            content, task = Field(memories, content_terms), Field(tasks, task_terms)
            counted = await transaction.fetch(_SQL["having"], *of, list(asked), _MOST_COUNTED)
            having: dict[str, int] = {}
            for term, _, many in counted:
                having[term] = having.get(term, 0) + many
            terms = chosen(asked, having, memories)
            if not terms:
                return TextHits(())
            counts = [
                (term, in_task, asked[term] * telling(tasks if in_task else memories, many))
                for term, in_task, many in counted
                if term in terms
            ]
            looked_up = [list(column) for column in zip(*counts, strict=True)]
            lengths = (content.mean_terms(), task.mean_terms())
            values = (*of, *looked_up, *lengths, SATURATION, LENGTH_WEIGHT, candidates, *_filter(wanted), bool(said))
            rows = await transaction.fetch(_SQL["by_text"], *values)
        hits = tuple(TextHit(MemoryFacts(*row[:4]), row[4], row[5]) for row in rows)
        if said:  # on a thread, so that calls go on meanwhile
            hits = (await asyncio.to_thread(closest, asked, said, hits, [row[6] for row in rows]))[:limit]
        return TextHits(hits, terms, worth(asked, having, memories))

    async def best(
        self, scope: Scope, wanted: Filter, limit: int, *, newest_first: bool = False
    ) -> tuple[MemoryFacts, ...]:
        statement = _SQL["newest" if newest_first else "best"]
        rows = await self._database.fetch(scope, statement, limit, *_filter(wanted))
        return tuple(MemoryFacts(*row) for row in rows)

    async def labelled(
        self, scope: Scope, tools: tuple[str, ...], error_categories: tuple[str, ...], wanted: Filter, limit: int
    ) -> tuple[MemoryFacts, ...]:
        labels = [f"t:{tool}" for tool in tools] + [f"c:{category}" for category in error_categories]
        rows = await self._database.fetch(scope, _SQL["labelled"], limit, *_filter(wanted), labels)
        return tuple(MemoryFacts(*row) for row in rows)

    async def by_vector(
        self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int
    ) -> VectorHits:
        of = ids_of(scope)
        async with self._database.transaction(scope, reads_only=True, within_s=_SEARCH_S) as transaction:
            figures = await transaction.first(_SQL["figures"], *of)
            counted = await transaction.first(_SQL["embedded"], *of, model)
            memories = (figures or (0,))[0]
            embedded, has_pgvector = counted or (0, False)
            if not embedded:
                return VectorHits((), 0, memories)
            statement = _SQL["nearest_plainly"]
            if has_pgvector:
                statement = await self._nearest(transaction, len(vector), embedded)
            rows = await transaction.fetch(statement, *of, model, list(vector), limit, *_filter(wanted))
        hits = tuple(VectorHit(MemoryFacts(*row[:4]), row[4]) for row in rows)
        return VectorHits(hits, embedded, memories)

    async def _nearest(self, transaction: Transaction, dimensions: int, embedded: int) -> str:
        if embedded <= self._exact_rows or dimensions not in _INDEXED_DIMENSIONS:
            return _SQL["nearest_exactly"]
        await transaction.fetch(_SQL["search_widely"])
        await transaction.fetch(_SQL["search_deeply"])
        return _SQL[f"nearest_{dimensions}"]

    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]:
        rows = await self._database.fetch(scope, _SQL["unembedded"], model, limit)
        return tuple(Unembedded(*row) for row in rows)

    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None:
        vectors = [_written(one.vector) for one in embedded]
        of_memories = [one.memory_id for one in embedded]
        contents = [one.content for one in embedded]
        await self._database.change(scope, _SQL["embed"], model, vectors, of_memories, contents)

    async def terms_in(self, scope: Scope, memory_ids: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
        rows = await self._database.fetch(scope, _SQL["terms_in"], list(memory_ids))
        return {memory_id: frozenset(f"{content} {task}".split()) for memory_id, content, task in rows}

    async def take(self, scope: Scope, model: str, holder: str, now_us: int) -> bool:
        values = (*ids_of(scope), model, holder, now_us, now_us + EMBEDDING_LEASE_US)
        async with self._database.transaction(scope) as transaction:
            return await transaction.first(_SQL["take"], *values) is not None

    async def leave(self, scope: Scope, model: str, holder: str) -> None:
        await self._database.change(scope, _SQL["leave"], model, holder)

    async def forget(self, scope: Scope, memory_ids: tuple[str, ...]) -> None:
        """Nothing to do: vectors are rows beside the memories, and go with them."""


def _filter(wanted: Filter) -> tuple[Any, ...]:
    return (wanted.min_importance, wanted.kind, list(wanted.states), [f"g:{tag}" for tag in wanted.tags])


def _written(vector: Iterable[float]) -> str:
    """A vector as a Postgres array literal."""
    return f"{{{','.join(map(repr, vector))}}}"
