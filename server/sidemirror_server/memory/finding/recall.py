"""Finds the memories that answer a question, and explains why a memory is a hit or not."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from sidemirror_server.memory.finding.ranking import Part, Ranked, rank, rank_filtered, those_that_fit
from sidemirror_server.memory.finding.search import Filter, MemorySearch, TextHits, VectorHits
from sidemirror_server.memory.finding.weighing import Weight
from sidemirror_server.memory.record import MemoryKind, MemoryRecord, MemoryState
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.by_rule import quotes_user
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.terms import asked_terms, terms_of

# Candidates of each lookup: a number for each requested hit, and a minimum. Chosen here: a memory far down in one list
# may come first in the other.
_CANDIDATES, _CANDIDATES_AT_LEAST = 2, 50
# Vectors are used once this share of the memories has one. Chosen here: memories without one would come last for no
# good reason.
_EMBEDDED_RATIO = 0.9
# A memory whose words are worth less than this share of the question (`bm25.worth`) does not answer it. Measured with
# `bench.retrieval --floors`: no best relevant hit is below it (decision 061).
_FLOOR = 0.06
# The most scopes of which it is remembered that they have memories. Chosen here: some MiB.
_MOST_SCOPES = 10_000
# Records read at once.
_READ_AT_ONCE = 100


class SearchMode(StrEnum):
    """How a question was looked up."""

    FILTER = "filter"
    FULL_TEXT = "full_text"
    HYBRID = "hybrid"


class Question(msgspec.Struct, frozen=True):
    """A question. Without a `text` the filter alone selects memories, ordered by importance. `meaning_s`: how long to
    wait for the text's vector, in place of the default."""

    text: str
    k: int
    wanted: Filter
    explain: bool = False
    explain_ids: tuple[str, ...] = ()
    newest_first: bool = False
    meaning_s: float | None = None


class Hit(msgspec.Struct, frozen=True):
    """A memory that answers. `summary` and `matched` are empty unless `Question.explain` is set."""

    memory: MemoryRecord
    score: float
    parts: tuple[Part, ...]
    summary: str = ""
    matched: tuple[str, ...] = ()


class Miss(msgspec.Struct, frozen=True):
    """A memory that is no hit, and why."""

    memory_id: str
    reason: str


class SearchAnswer(msgspec.Struct, frozen=True):
    """The hits, the best first; how they were found; and why the memories in `explain_ids` are no hits."""

    hits: tuple[Hit, ...]
    mode: SearchMode
    misses: tuple[Miss, ...] = ()


class Meanings(Protocol):
    """Makes vectors of questions (`memory/finding/embeddings.py`)."""

    @property
    def model(self) -> str:
        """The name that the vectors are stored under."""
        ...

    def weight(self, scope: Scope) -> Weight:
        """How much vectors count in this scope."""
        ...

    async def of_question(self, scope: Scope, text: str, wait_s: float | None = None) -> tuple[float, ...] | None:
        """The vector of a question; None if there is none within `wait_s` (None: the default)."""
        ...


class _Search(msgspec.Struct, frozen=True):
    ranked: tuple[Ranked, ...]
    mode: SearchMode
    terms: tuple[str, ...] = ()
    limit: int = 0


class Recall:
    """Answers questions."""

    def __init__(self, memories: Memories, search: MemorySearch, meanings: Meanings | None, clock: Clock) -> None:
        """`meanings` None: there is no embedding model, and only words count."""
        self._memories = memories
        self._search = search
        self._meanings = meanings
        self._clock = clock
        self._filled: set[Scope] = set()

    async def ask(self, scope: Scope, question: Question) -> SearchAnswer:
        """The memories that answer. Raises what the store raises."""
        found = await self._found(scope, question)
        ranked = those_that_fit(found.ranked, question.k) if _is_by_age(question, found) else found.ranked
        records = await self.records(scope, [one.facts.memory_id for one in ranked[: question.k]])
        matched = await self._matched(scope, question, records, found)
        hits = []
        for place, one in enumerate(ranked[: question.k], start=1):
            memory = records.get(one.facts.memory_id)
            if memory is None or _quotes_somebody(memory):  # None: removed meanwhile
                continue
            words = matched.get(memory.memory_id, ())
            summary = _summary(one, place, found.mode, words) if question.explain else ""
            hits.append(Hit(memory, one.score, one.parts, summary, words))
        misses = await self._misses(scope, question, found, ranked, {hit.memory.memory_id for hit in hits})
        return SearchAnswer(tuple(hits), found.mode, misses)

    async def has_none(self, scope: Scope) -> bool:
        """Whether the scope has no memory at all. One that had any is not asked again: a search then finds nothing."""
        if scope in self._filled:
            return False
        if not await self._memories.list(scope, None, None, None, 1):
            return True
        if len(self._filled) >= _MOST_SCOPES:
            self._filled.clear()
        self._filled.add(scope)
        return False

    async def has_any(self, scope: Scope, state: MemoryState) -> bool:
        """Whether the scope has a memory in this state: one look-up, where a search reads all that have a word."""
        return bool(await self._memories.list(scope, None, state, None, 1))

    async def ranked(self, scope: Scope, question: Question) -> tuple[Ranked, ...]:
        """The ranked candidates, without their texts. Raises what the store raises."""
        return (await self._found(scope, question)).ranked

    async def records(self, scope: Scope, memory_ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """The memories with these ids that the scope has, by id."""
        found: dict[str, MemoryRecord] = {}
        for at in range(0, len(memory_ids), _READ_AT_ONCE):
            some = await self._memories.get(scope, tuple(memory_ids[at : at + _READ_AT_ONCE]))
            found |= {memory.memory_id: memory for memory in some}
        return found

    async def _found(self, scope: Scope, question: Question) -> _Search:
        limit = max(_CANDIDATES_AT_LEAST, _CANDIDATES * question.k)
        now_us = self._clock.now_us()
        if not question.text.strip():
            best = await self._search.best(scope, question.wanted, limit, newest_first=question.newest_first)
            ranked = rank_filtered(best, now_us)
            return _Search(ranked, SearchMode.FILTER, (), limit)
        asked = asked_terms(question.text)
        # Concurrently: the words are looked up while the embedding model makes the vector.
        texts, vectors = await asyncio.gather(
            self._texts(scope, asked, question, limit), self._vectors(scope, question, limit)
        )
        weight = Weight() if self._meanings is None else self._meanings.weight(scope)
        ranked = rank(texts.hits, None if vectors is None else vectors.hits, now_us, weight)
        mode = SearchMode.FULL_TEXT if vectors is None else SearchMode.HYBRID
        return _Search(ranked, mode, texts.terms, limit)

    async def _texts(self, scope: Scope, asked: Mapping[str, float], question: Question, limit: int) -> TextHits:
        if not asked:
            return TextHits(())
        said = terms_of(question.text).split()
        found = await self._search.by_text(scope, asked, question.wanted, limit, said=said)
        least = _FLOOR * found.worth
        enough = tuple(hit for hit in found.hits if hit.content_score + hit.task_score >= least)
        return msgspec.structs.replace(found, hits=enough)

    async def _vectors(self, scope: Scope, question: Question, limit: int) -> VectorHits | None:
        """The nearest memories by vector; None if vectors cannot be used."""
        if self._meanings is None or self._meanings.weight(scope).value <= 0:
            return None
        vector = await self._meanings.of_question(scope, question.text, question.meaning_s)
        if vector is None:
            return None
        found = await self._search.by_vector(scope, self._meanings.model, vector, question.wanted, limit)
        return found if found.embedded and found.embedded >= _EMBEDDED_RATIO * found.memories else None

    async def _matched(
        self, scope: Scope, question: Question, records: Mapping[str, MemoryRecord], found: _Search
    ) -> dict[str, tuple[str, ...]]:
        if not question.explain or not found.terms:
            return {}
        terms = await self._search.terms_in(scope, tuple(records))
        return {memory_id: tuple(term for term in found.terms if term in has) for memory_id, has in terms.items()}

    async def _misses(
        self, scope: Scope, question: Question, found: _Search, ranked: Sequence[Ranked], hits: Collection[str]
    ) -> tuple[Miss, ...]:
        asked = [memory_id for memory_id in dict.fromkeys(question.explain_ids) if memory_id not in hits]
        if not asked:
            return ()
        records = await self.records(scope, asked)
        terms = await self._search.terms_in(scope, tuple(records))
        places = {one.facts.memory_id: place for place, one in enumerate(ranked, start=1)}
        misses = []
        for memory_id in asked:
            has, place = terms.get(memory_id, frozenset[str]()), places.get(memory_id)
            misses.append(Miss(memory_id, _why_not(question, found, records.get(memory_id), has, place)))
        return tuple(misses)


def _quotes_somebody(memory: MemoryRecord) -> bool:
    """Whether a memory in force has a user's words that no person has reviewed. It is of an earlier version: such
    memories are quarantined now (decision 095)."""
    return memory.state is MemoryState.ACTIVE and not memory.is_reviewed and quotes_user(memory.content)


def _is_by_age(question: Question, found: _Search) -> bool:
    return question.newest_first and found.mode is not SearchMode.FILTER


def _summary(one: Ranked, place: int, mode: SearchMode, matched: Sequence[str]) -> str:
    ways = {part.name: part for part in one.parts}
    told = []
    if "full_text" in ways:
        told.append(f"place {ways['full_text'].rank} by its words ({', '.join(matched[:8])})")
    if "vector" in ways:
        told.append(f"place {ways['vector'].rank} by its meaning (similarity {ways['vector'].value:.2f})")
    if mode is SearchMode.FILTER:
        told.append("it passes the filter")
    return f"Place {place} in all: {' and '.join(told)}; importance {one.facts.importance:g}"


def _why_not(
    question: Question, found: _Search, memory: MemoryRecord | None, terms: frozenset[str], place: int | None
) -> str:
    """Why a memory is no hit: the first reason that applies."""
    if memory is None:
        return "there is no memory of this id"
    filtered = _filtered(question.wanted, memory)
    if filtered:
        return filtered
    if _quotes_somebody(memory):
        return "it quotes a user, and no person has reviewed it"
    if place is not None:
        return f"its place is {place}, and {question.k} were asked for"
    if found.mode is SearchMode.FILTER:
        return f"more than {found.limit} memories are as {'new' if question.newest_first else 'important'}"
    if not terms & set(found.terms):
        by_meaning = ", and others are nearer by meaning" if found.mode is SearchMode.HYBRID else ""
        return f"it has none of the words that were looked for{by_meaning}"
    if len(found.ranked) < found.limit:
        return "it has too little of what was asked for"
    if question.newest_first:
        return "others have more of what was asked for"
    return f"at least {found.limit} memories have more of the words that were looked for"


def _filtered(wanted: Filter, memory: MemoryRecord) -> str:
    """Why a memory does not pass the filter; empty if it does."""
    if memory.state not in wanted.states:
        why = {MemoryState.QUARANTINED: "quarantined", MemoryState.RETIRED: "retired", MemoryState.ACTIVE: "active"}
        return f"it is {why[memory.state]}"
    if memory.importance < wanted.min_importance:
        return f"its importance {memory.importance:g} is less than {wanted.min_importance:g}"
    if wanted.kind is not None and memory.kind is not wanted.kind:
        return "it is a strategy" if memory.kind is MemoryKind.STRATEGY else "it is a reflection"
    if wanted.tags and not set(wanted.tags) & set(memory.tags):
        return "it has none of the tags"
    return ""
