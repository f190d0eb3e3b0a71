"""The port of finding memories. Adapters: `storage/sqlite/memory_search.py`, `storage/postgres/memory_search.py`.

What they find is put in order by `memory/finding/recall.py`.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from sidemirror_server.memory.record import MemoryKind, MemoryState
from sidemirror_server.vocabulary.scope import Scope

# How long a scope is one holder's to embed, unless it is taken again. Chosen here: four times what an embedding model
# is given for a few texts; after a crash the others wait so long.
EMBEDDING_LEASE_US = 120 * 1_000_000


class Filter(msgspec.Struct, frozen=True):
    """Which memories count. `tags`: one of these; `kind`: None is any."""

    min_importance: float = 0.0
    tags: tuple[str, ...] = ()
    kind: MemoryKind | None = None
    states: tuple[MemoryState, ...] = (MemoryState.ACTIVE,)


class MemoryFacts(msgspec.Struct, frozen=True):
    """What every memory is weighed by."""

    memory_id: str
    importance: float
    confidence: float | None
    created_us: int


class TextHit(msgspec.Struct, frozen=True):
    """A memory that has words of the question: what its content and its task score (`vocabulary/bm25.py`)."""

    facts: MemoryFacts
    content_score: float
    task_score: float


class TextHits(msgspec.Struct, frozen=True):
    """The best by their words, the best first. `terms`: the terms of the question that were looked up."""

    hits: tuple[TextHit, ...]
    terms: tuple[str, ...] = ()


class VectorHit(msgspec.Struct, frozen=True):
    """A memory and the cosine of the angle between its vector and the question's."""

    facts: MemoryFacts
    similarity: float


class VectorHits(msgspec.Struct, frozen=True):
    """The most similar first. `embedded` of the scope's `memories` have a vector of the model."""

    hits: tuple[VectorHit, ...]
    embedded: int
    memories: int


class Unembedded(msgspec.Struct, frozen=True):
    """A memory that waits for a vector, and the texts to make it from."""

    memory_id: str
    content: str
    task_text: str


class Embedded(msgspec.Struct, frozen=True):
    """A vector of length 1, and the content that it was made from."""

    memory_id: str
    content: str
    vector: tuple[float, ...]


class MemorySearch(Protocol):
    """Finds memories as they are kept; what is kept is found at once, by its words.

    FM1  `by_text` finds the memories whose content or task has one of the terms that `bm25.chosen` leaves of the
         question, the best first, at most `limit`. It scores the two texts by `bm25.score`, with the figures of the
         scope's memories in whatever state.
    FM2  A changed text is found by its new words and no more by its old ones; a deleted memory by none.
    FM3  Every way of finding keeps to the filter: importance, any of the tags, kind, states.
    FM4  `best` returns the most important first, then the newest made, at most `limit`; with `newest_first` the newest
         made, whatever their importance, then by id downwards.
    FM5  `labelled` returns the memories that apply to one of the tools or error categories (`applies_when`, or the
         error category of the memory itself), the most important first, then the newest made, at most `limit`.
    FM6  `by_vector` compares with vectors of the named model and of the question's dimensions only, and returns the
         most similar first, at most `limit`, with how many of the scope's memories have a vector of the model.
    FM7  `unembedded` returns memories that have no vector of the model, at most `limit`; nothing when all have one.
    FM8  `embed` keeps vectors, each in place of an earlier one of whatever model, unless the memory has other content
         by now or is gone. A memory has one vector at most; a changed text has none.
    FM9  `terms_in` returns of each of these memories the terms of its content and task, as they are searched for.
    FM10 Scopes never meet: neither do others' memories change a score.
    FM11 `take` makes the embedding of a scope with a model one holder's until `now_us` plus EMBEDDING_LEASE_US, and
         says True, when nobody has it, when the holder has it already, or when the time of the one who has it is over;
         else it changes nothing and says False. Of those that take at the same time one gets it.
    FM12 `leave` gives it back; what is another holder's stays that holder's.
    Raises StoreUnavailable, StoreFull.
    """

    async def by_text(self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int) -> TextHits: ...

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
