"""SQLite and Postgres keep and compare vectors alike. A machine of its own, with few memories, so that most steps meet
one; the rest is `test_same_memories.py`'s."""

from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from sidemirror_server.memory.finding.search import Embedded, Filter, MemorySearch, VectorHits
from sidemirror_server.memory.record import Change, MemoryHistory, MemoryRecord, Revision
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.same_stores import ALL, BothStores, run, times
from tests.adapters.test_same_memories import drafts, filters, said
from tests.postgres.databases import Databases

scopes = st.sampled_from([Scope("acme", "shop"), Scope("acme", "\U0001f642")])
ids = st.sampled_from(["m1", "m2", "m3", "ש"])
models = st.sampled_from(["small", "\U0001f642"])
# Few directions, so that some are equally near, and of two lengths; each exact in four bytes.
directions = st.sampled_from([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.5, 0.5), (1.0, 0.0, 0.0)])
limits = st.sampled_from([1, 2, ALL])


class SameVectors(BothStores):
    """Everything that has to do with vectors."""

    @rule(scope=scopes, memory_id=ids, draft=drafts())
    def put(self, scope: Scope, memory_id: str, draft: MemoryRecord) -> None:
        kept = MemoryHistory(msgspec.structs.replace(draft, memory_id=memory_id))
        self.one(lambda stores: stores.memories.put(scope, kept))

    @rule(scope=scopes, memory_id=ids, content=said, now=times)
    def revise(self, scope: Scope, memory_id: str, content: str, now: int) -> None:
        """A changed text has no vector any more."""
        revision = Revision(Change.UPDATED, content=content, text_key=content[:8])
        self.one(lambda stores: stores.memories.revise(scope, memory_id, revision, now))

    @rule(scope=scopes, memory_id=ids)
    def delete(self, scope: Scope, memory_id: str) -> None:
        self.one(lambda stores: stores.memories.delete(scope, memory_id))

    @rule(
        scope=scopes,
        model=models,
        made=st.dictionaries(ids, st.tuples(directions, st.booleans()), min_size=1),
    )
    def embed(self, scope: Scope, model: str, made: dict[str, tuple[tuple[float, ...], bool]]) -> None:
        """Memories by the texts that they have, and by others: those vectors are not kept, nor those of none."""
        kept = self.one(lambda stores: stores.memories.get(scope, tuple(made)))
        contents = {memory.memory_id: memory.content for memory in kept}
        embedded = [
            Embedded(memory_id, contents.get(memory_id, "") if is_its_own else "another text", vector)
            for memory_id, (vector, is_its_own) in made.items()
        ]
        self.one(lambda stores: stores.search.embed(scope, model, tuple(embedded)))
        self.one(lambda stores: _unembedded(stores.search, scope, model))

    @rule(scope=scopes, model=models, limit=limits)
    def unembedded(self, scope: Scope, model: str, limit: int) -> None:
        self.one(lambda stores: _many_unembedded(stores.search, scope, model, limit))

    @rule(scope=scopes, model=models, vector=directions, wanted=st.just(Filter()) | filters, limit=limits)
    def by_vector(self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int) -> None:
        self.one(lambda stores: _nearest(stores.search.by_vector(scope, model, vector, wanted, limit)))

    @rule(scope=scopes, model=models, holder=st.sampled_from(["one", "other"]), now=times, leaves=st.booleans())
    def take(self, scope: Scope, model: str, holder: str, now: int, leaves: bool) -> None:
        self.one(lambda stores: stores.search.take(scope, model, holder, now))
        if leaves:
            self.one(lambda stores: stores.search.leave(scope, model, holder))


async def _unembedded(search: MemorySearch, scope: Scope, model: str) -> Any:
    """Which ones wait: the port gives them in no order."""
    return sorted(msgspec.structs.astuple(one) for one in await search.unembedded(scope, model, ALL))


async def _many_unembedded(search: MemorySearch, scope: Scope, model: str, limit: int) -> int:
    return len(await search.unembedded(scope, model, limit))


async def _nearest(found: Awaitable[VectorHits]) -> Any:
    """What was found, without the last digits of the similarities."""
    hits = await found
    return [(hit.facts, round(hit.similarity, 5)) for hit in hits.hits], hits.embedded, hits.memories


def test_same_operations_same_answers(databases: Databases) -> None:
    """Seen to fail when SQLite marks only the first of several memories as embedded."""
    run(SameVectors, databases, examples=10, steps=40, shrink=False)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_same_operations_same_answers_for_long(databases: Databases) -> None:
    run(SameVectors, databases, examples=200, steps=80, shrink=True)
