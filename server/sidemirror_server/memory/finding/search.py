"""The port of memory search. Adapters: `storage/*/memory_search.py`.

`memory/finding/recall.py` ranks the memories that they find.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from sidemirror_server.memory.record import MemoryKind, MemoryRecord, MemoryState
from sidemirror_server.vocabulary.scope import Scope

# The duration of a lease on embedding a scope, if it is not renewed. Chosen here: four times the limit of an embedding
# call. After a crash other sidecars wait this long.
EMBEDDING_LEASE_US = 120 * 1_000_000


class Filter(msgspec.Struct, frozen=True):
    """Selects memories. `tags`: any of these; empty means no condition. `kind`: None means any."""

    min_importance: float = 0.0
    tags: tuple[str, ...] = ()
    kind: MemoryKind | None = None
    states: tuple[MemoryState, ...] = (MemoryState.ACTIVE,)

    def passes(self, memory: MemoryRecord) -> bool:
        """Whether this memory is selected."""
        return (
            memory.state in self.states
            and memory.importance >= self.min_importance
            and self.kind in (None, memory.kind)
            and (not self.tags or not set(self.tags).isdisjoint(memory.tags))
        )


class MemoryFacts(msgspec.Struct, frozen=True):
    """The facts that rank a memory, whatever the question is."""

    memory_id: str
    importance: float
    confidence: float | None
    created_us: int


class TextHit(msgspec.Struct, frozen=True):
    """A memory with words of the question, and the scores of its content and its task (`vocabulary/bm25.py`).
    `closeness`: 0 to 1, by `vocabulary/closeness.py`; None if it was not asked for."""

    facts: MemoryFacts
    content_score: float
    task_score: float
    closeness: float | None = None


class TextHits(msgspec.Struct, frozen=True):
    """The hits by words, the best first. `terms`: the terms of the question that were looked up. `worth`: what the
    question is worth (`bm25.worth`)."""

    hits: tuple[TextHit, ...]
    terms: tuple[str, ...] = ()
    worth: float = 0.0


class VectorHit(msgspec.Struct, frozen=True):
    """A memory and the cosine similarity of its vector and the question's."""

    facts: MemoryFacts
    similarity: float


class VectorHits(msgspec.Struct, frozen=True):
    """The hits by vector, the most similar first. `embedded`: how many of the scope's `memories` have a vector."""

    hits: tuple[VectorHit, ...]
    embedded: int
    memories: int


class Unembedded(msgspec.Struct, frozen=True):
    """A memory without a vector, and the texts to embed."""

    memory_id: str
    content: str
    task_text: str


class Embedded(msgspec.Struct, frozen=True):
    """A memory's vector, of length 1, and the content that it was made from."""

    memory_id: str
    content: str
    vector: tuple[float, ...]


class MemorySearch(Protocol):
    """Finds stored memories. A stored memory can be found by its words at once.

    FM1  `by_text` returns at most `limit` memories, the best first, whose content or task has one of the question's
         terms (those that `bm25.chosen` keeps). `bm25.score` scores both texts, with the statistics of the scope's
         memories in all states.
    FM2  A changed text is found by its new words only, and a deleted memory by none.
    FM3  All searches apply the filter: importance, any of the tags, kind, states.
    FM4  `best` returns at most `limit` memories: the most important first, then the newest created. With `newest_first`
         it returns the newest created first, then by descending id.
    FM5  `labelled` returns at most `limit` memories that apply to one of the tools or error categories (`applies_when`,
         or the memory's own error category), the most important first, then the newest created.
    FM6  `by_vector` compares only vectors of the named model with the question's dimensions. It returns at most `limit`
         memories, the most similar first, and how many of the scope's memories have a vector of the model.
    FM7  `unembedded` returns at most `limit` memories without a vector of the model.
    FM8  `embed` stores vectors, and skips memories that have changed or are gone. A memory has at most one vector: a
         new one replaces that of any model, and a changed text has none.
    FM9  `terms_in` returns the searchable terms of each memory's content and task.
    FM10 Scopes are isolated; memories of other scopes do not change a score.
    FM11 `take` gives the holder a lease on embedding a scope with a model, until `now_us` plus EMBEDDING_LEASE_US, and
         returns True. It succeeds if the lease is free, expired or the holder's; otherwise it changes nothing and
         returns False. Of concurrent callers one gets it.
    FM12 `leave` releases the holder's lease, and never another holder's.
    FM13 With `said`, the question's terms in their order, `by_text` measures the best by words (`closeness.CANDIDATES`
         of them, or `limit` if that is more) by `closeness.closeness`, and returns the closest. What the filter
         excludes has no part in it.
    FM14 `forget` removes the vectors of these memories from wherever they are kept beside the memories themselves; an
         erasure calls it. Memories that stay are embedded again.
    Raises StoreUnavailable, StoreFull.
    """

    async def by_text(
        self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int, *, said: Sequence[str] = ()
    ) -> TextHits: ...

    async def best(
        self, scope: Scope, wanted: Filter, limit: int, *, newest_first: bool = False
    ) -> tuple[MemoryFacts, ...]: ...

    async def labelled(
        self, scope: Scope, tools: tuple[str, ...], error_categories: tuple[str, ...], wanted: Filter, limit: int
    ) -> tuple[MemoryFacts, ...]: ...

    async def by_vector(
        self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int
    ) -> VectorHits: ...

    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]: ...

    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None: ...

    async def terms_in(self, scope: Scope, memory_ids: tuple[str, ...]) -> Mapping[str, frozenset[str]]: ...

    async def take(self, scope: Scope, model: str, holder: str, now_us: int) -> bool: ...

    async def leave(self, scope: Scope, model: str, holder: str) -> None: ...

    async def forget(self, scope: Scope, memory_ids: tuple[str, ...]) -> None: ...
