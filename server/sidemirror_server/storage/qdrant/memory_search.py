"""Finds memories by vectors that Qdrant keeps. Words, facts and leases stay with the main store.

Two stores cannot share a transaction, so the main store has the truth (decision 094). It keeps a mark for each vector,
as a vector of one number of a model that only this adapter names: its own rules remove the mark with the text that the
vector was made from. Of what Qdrant finds only that counts whose memory is there, with this text. So a vector that is
left over is never told, and one that is missing is made again.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from qdrant_client import models
from qdrant_client.conversions.common_types import PointId

from sidemirror_server.memory.finding.search import (
    Embedded,
    Filter,
    MemoryFacts,
    MemorySearch,
    TextHits,
    Unembedded,
    VectorHit,
    VectorHits,
)
from sidemirror_server.memory.record import MemoryRecord
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.storage.qdrant.database import QdrantDatabase
from sidemirror_server.storage.qdrant.points import KeptVector, digest_of_text, kept, of_scope, point, point_id
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope

# Up to this many vectors of a scope are compared one by one, as the other stores do (decision 031).
_EXACT_ROWS = 20_000
# Points read for each hit wanted, and at least: some do not pass the filter. If too few pass, four times as many.
_READ, _READ_AT_LEAST, _GROWTH = 2, 100, 4
_READ_AT_ONCE = 200
# How many scopes are remembered as compared, before all are compared once more. Chosen here.
_MOST_COMPARED = 10_000
_MARK = (1.0,)
_NO_MARK = (0.0, 0.0)  # of another length than every mark: the main store counts and finds nothing
_NOTHING = Filter(states=())


class QdrantMemorySearch:
    """The port `MemorySearch`, with vectors in Qdrant. While Qdrant is away questions are answered by words."""

    def __init__(self, database: QdrantDatabase, main: MemorySearch, memories: Memories) -> None:
        """`main`, `memories`: of the main store."""
        self._database = database
        self._main = main
        self._memories = memories
        self._compared: set[tuple[Scope, str]] = set()  # in this process

    async def by_text(
        self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int, *, said: Sequence[str] = ()
    ) -> TextHits:
        return await self._main.by_text(scope, asked, wanted, limit, said=said)

    async def best(
        self, scope: Scope, wanted: Filter, limit: int, *, newest_first: bool = False
    ) -> tuple[MemoryFacts, ...]:
        return await self._main.best(scope, wanted, limit, newest_first=newest_first)

    async def labelled(
        self, scope: Scope, tools: tuple[str, ...], error_categories: tuple[str, ...], wanted: Filter, limit: int
    ) -> tuple[MemoryFacts, ...]:
        return await self._main.labelled(scope, tools, error_categories, wanted, limit)

    async def terms_in(self, scope: Scope, memory_ids: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
        return await self._main.terms_in(scope, memory_ids)

    async def take(self, scope: Scope, model: str, holder: str, now_us: int) -> bool:
        return await self._main.take(scope, model, holder, now_us)

    async def leave(self, scope: Scope, model: str, holder: str) -> None:
        await self._main.leave(scope, model, holder)

    async def by_vector(
        self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int
    ) -> VectorHits:
        known = await self._main.by_vector(scope, _marks_of(model), _NO_MARK, _NOTHING, 1)
        if not known.embedded:
            return VectorHits((), 0, known.memories)
        try:
            there, hits = await self._nearest(scope, model, vector, wanted, limit, known.embedded)
        except StoreUnavailable:
            return VectorHits((), 0, known.memories)
        # Vectors of deleted memories may be left over, and a Qdrant that was emptied has fewer than there are marks.
        return VectorHits(hits, min(there, known.embedded), known.memories)

    async def _nearest(
        self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int, marked: int
    ) -> tuple[int, tuple[VectorHit, ...]]:
        """How many vectors Qdrant has of this scope and model, and the nearest that count. Raises StoreUnavailable."""
        names = await self._database.collections()
        there = await self._count(scope, model, names)
        name = self._database.collection_of(len(vector))
        if name not in names:
            return there, ()
        search = models.SearchParams(exact=marked <= _EXACT_ROWS)
        most = max(_READ * limit, _READ_AT_LEAST)
        while True:
            with self._database.asking():
                found = await self._database.client.query_points(
                    name, query=list(vector), query_filter=of_scope(scope, model), search_params=search, limit=most
                )
            near = [(one.score, kept(one.payload)) for one in found.points]
            records = await self._those_that_count(scope, [one for _, one in near])
            hits = [
                VectorHit(_facts(records[one.memory_id]), similarity)
                for similarity, one in near
                if one.memory_id in records and wanted.passes(records[one.memory_id])
            ]
            if len(hits) >= limit or len(near) < most:
                hits.sort(key=lambda hit: (-hit.similarity, -hit.facts.created_us, hit.facts.memory_id))
                return there, tuple(hits[:limit])
            most *= _GROWTH

    async def _those_that_count(self, scope: Scope, some: Sequence[KeptVector]) -> dict[str, MemoryRecord]:
        """The memories that have the text which their vector was made from, by id."""
        texts = {one.memory_id: one.text for one in some}
        records: dict[str, MemoryRecord] = {}
        for ids in _parts(tuple(texts)):
            read = await self._memories.get(scope, ids)
            records |= {one.memory_id: one for one in read if digest_of_text(one.content) == texts[one.memory_id]}
        return records

    async def _count(self, scope: Scope, model: str, names: Sequence[str]) -> int:
        with self._database.asking():
            counts = [
                await self._database.client.count(name, count_filter=of_scope(scope, model), exact=True)
                for name in names
            ]
        return sum(one.count for one in counts)

    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]:
        """Also compares what both stores have: at the first call for a scope, and when their numbers do not fit."""
        marks = _marks_of(model)
        found = await self._main.unembedded(scope, marks, limit)
        if len(found) >= limit:
            return found
        marked = (await self._main.by_vector(scope, marks, _NO_MARK, _NOTHING, 1)).embedded
        names = await self._database.collections()
        there = await self._count(scope, model, names)
        # Of a changed text the vector is still there; it is replaced when the new one is made.
        if (scope, model) in self._compared and marked <= there <= marked + len(found):
            return found
        if marked or there:
            await self._compare(scope, model, names)
            found = await self._main.unembedded(scope, marks, limit)
        if len(self._compared) >= _MOST_COMPARED:
            self._compared.clear()
        self._compared.add((scope, model))
        return found

    async def _compare(self, scope: Scope, model: str, names: Sequence[str]) -> None:
        """Removes vectors of texts that are gone, and the marks of vectors that are missing."""
        points = {one.memory_id: one.text for name in names async for one in self._points(name, scope, model)}
        left_over = dict(points)
        async for some in self._every(scope):
            missing: list[Embedded] = []
            for memory in some:
                if points.get(memory.memory_id) == digest_of_text(memory.content):
                    del left_over[memory.memory_id]
                else:
                    missing.append(Embedded(memory.memory_id, memory.content, _MARK))
            if missing:  # a memory has one mark: that of the model goes
                await self._main.embed(scope, _marks_of(""), tuple(missing))
        for ids in _parts(tuple(left_over)):
            await self._drop(scope, ids, names)

    async def _points(self, name: str, scope: Scope, model: str) -> AsyncIterator[KeptVector]:
        after: PointId | None = None
        while True:
            with self._database.asking():
                records, after = await self._database.client.scroll(
                    name, scroll_filter=of_scope(scope, model), limit=_READ_AT_ONCE, offset=after
                )
            for one in records:
                yield kept(one.payload)
            if after is None:
                return

    async def _every(self, scope: Scope) -> AsyncIterator[Sequence[MemoryRecord]]:
        """The memories of a scope, some at a time."""
        after: MemoryKey | None = None
        while some := await self._memories.list(scope, None, None, after, _READ_AT_ONCE):
            yield some
            after = MemoryKey(some[-1].created_us, some[-1].memory_id)

    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None:
        for dimensions in sorted({len(one.vector) for one in embedded}):
            await self._embed(scope, model, [one for one in embedded if len(one.vector) == dimensions])

    async def _embed(self, scope: Scope, model: str, alike: Sequence[Embedded]) -> None:
        """Keeps vectors of one length. What changed meanwhile, or went, has none afterwards."""
        dimensions = len(alike[0].vector)
        name, names = self._database.collection_of(dimensions), await self._database.collections()
        if name not in names:
            await self._database.make(dimensions)
        ids = [one.memory_id for one in alike]
        with self._database.asking():
            points = [point(scope, model, one.memory_id, one.content, one.vector) for one in alike]
            await self._database.client.upsert(name, points, wait=True)
        await self._drop(scope, ids, [one for one in names if one != name])
        marks = tuple(Embedded(one.memory_id, one.content, _MARK) for one in alike)
        await self._main.embed(scope, _marks_of(model), marks)
        there = await self._those_that_count(
            scope, [KeptVector(one.memory_id, digest_of_text(one.content)) for one in alike]
        )
        await self._drop(scope, [one for one in ids if one not in there], [name])

    async def forget(self, scope: Scope, memory_ids: tuple[str, ...]) -> None:
        await self._drop(scope, memory_ids, await self._database.collections())

    async def _drop(self, scope: Scope, memory_ids: Sequence[str], names: Sequence[str]) -> None:
        """Removes the vectors of these memories from these collections."""
        if not memory_ids:
            return
        points: list[models.ExtendedPointId] = [point_id(scope, one) for one in memory_ids]
        with self._database.asking():
            await asyncio.gather(
                *(self._database.client.delete(name, models.PointIdsList(points=points), wait=True) for name in names)
            )


def _marks_of(model: str) -> str:
    """The model under which the main store keeps the marks. It has no vectors of the model itself, so that it makes
    its own when Qdrant is no longer used."""
    return f"qdrant {model}"


def _facts(memory: MemoryRecord) -> MemoryFacts:
    return MemoryFacts(memory.memory_id, memory.importance, memory.confidence, memory.created_us)


def _parts(ids: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [ids[at : at + _READ_AT_ONCE] for at in range(0, len(ids), _READ_AT_ONCE)]
