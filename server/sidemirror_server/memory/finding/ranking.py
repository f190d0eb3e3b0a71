"""Ranks the memories that answer a question. Pure.

The closeness by words and the similarity by vectors, each as a share of its best, are added with a weight that was
measured for the project (`weighing.py`; Bruch, Gai, Ingber 2023: a sum of scores beats a fusion of ranks). Without
vectors the closeness by words counts. Importance, recency and confidence then decide among memories that fit about
equally well.
"""

from collections.abc import Sequence

import msgspec

from sidemirror_server.memory.finding.search import MemoryFacts, TextHit, VectorHit
from sidemirror_server.memory.finding.weighing import Weight, shares

# The largest share of its score that a memory can lose by low merit. Chosen here: the memory can fall behind neighbours
# in the list, but never behind one that fits half as well.
_MERIT_SPAN = 0.1
_IMPORTANCE_WEIGHT, _RECENCY_WEIGHT, _CONFIDENCE_WEIGHT = 0.5, 0.3, 0.2
# Chosen here: a lesson of last month has half the recency of one of today.
_HALF_LIFE_US = 30 * 24 * 3600 * 1_000_000
# A memory counts as found by its task if the task's score is at least this share of the content's. Chosen here: if all
# memories of a project name one task, the words of that task score nothing.
_BY_TASK_RATIO = 0.5
# With `newest_first`, a memory fits if it has at least this share of the best score by words. Chosen here.
_FITS_RATIO = 0.5
_WORDS_ALONE = Weight()


class Part(msgspec.Struct, frozen=True):
    """One part of a score. `rank`: the place by this part, from 1; 0 if there is none."""

    name: str
    value: float
    rank: int = 0


class Ranked(msgspec.Struct, frozen=True):
    """A memory in the ranking. `score` and `recency`: 0 to 1. `words`, `similarity`: its scores by words and by vector,
    with ranks from 1. `fused`: the weighed sum of both shares. A part that does not count is None, with rank 0."""

    facts: MemoryFacts
    score: float
    recency: float
    words: float | None = None
    words_rank: int = 0
    similarity: float | None = None
    vector_rank: int = 0
    fused: float | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the score, by name."""
        parts = []
        if self.words is not None:
            parts.append(Part("full_text", self.words, self.words_rank))
        if self.similarity is not None:
            parts.append(Part("vector", self.similarity, self.vector_rank))
        if self.fused is not None:
            parts.append(Part("fused", self.fused))
        parts += [Part("importance", self.facts.importance), Part("recency", self.recency)]
        if self.facts.confidence is not None:
            parts.append(Part("confidence", self.facts.confidence))
        return tuple(parts)


def rank_filtered(found: Sequence[MemoryFacts], now_us: int) -> tuple[Ranked, ...]:
    """The ranking without a question: it keeps the given order, and the importance is the score."""
    return tuple(Ranked(facts, facts.importance, _recency(facts, now_us)) for facts in found)


def rank(
    texts: Sequence[TextHit], vectors: Sequence[VectorHit] | None, now_us: int, weight: Weight = _WORDS_ALONE
) -> tuple[Ranked, ...]:
    """The ranked memories, the best first. `texts` and `vectors` are ordered best first; `vectors`: None if there are
    none. `weight`: how much they count. A memory without words of the question, whose vector is no more similar than
    noise, is left out.

    Memories found by the same task keep their places as a group, with the newest of them first.
    """
    by_words = {text.facts.memory_id: (place, text) for place, text in enumerate(texts, start=1)}
    by_meaning = {vector.facts.memory_id: (place, vector) for place, vector in enumerate(vectors or (), start=1)}
    best = max((text.content_score + text.task_score for text in texts), default=0.0)
    near = shares([vector.similarity for vector in vectors or ()], weight.noise)
    scored = []
    for memory_id in {**by_words, **by_meaning}:
        words_rank, text = by_words.get(memory_id, (0, None))
        vector_rank, vector = by_meaning.get(memory_id, (0, None))
        words = None if text is None else text.content_score + text.task_score
        fused = None
        relevance = _close(text, best)
        if vectors is not None:
            nearness = near[vector_rank - 1] if vector_rank else 0.0
            fused = relevance = (1 - weight.value) * relevance + weight.value * nearness
        if text is None and relevance <= 0:
            continue
        facts = (text or vector).facts  # type: ignore[union-attr]  # one of them found it
        recency = _recency(facts, now_us)
        score = relevance * (1 + _MERIT_SPAN * (_merit(facts, recency) - 1))  # at most 1
        similarity = None if vector is None else vector.similarity
        scored.append((text, Ranked(facts, score, recency, words, words_rank, similarity, vector_rank, fused)))
    scored.sort(key=lambda pair: (-pair[1].score, -pair[1].facts.created_us, pair[1].facts.memory_id))
    return _newest_of_a_task_first(scored)


def those_that_fit(ranked: Sequence[Ranked], k: int) -> tuple[Ranked, ...]:
    """The memories that fit the question well, the newest first: by words, or among the first `k` by vector."""
    least = max((one.words or 0.0 for one in ranked), default=0.0) * _FITS_RATIO
    fitting = [one for one in ranked if (one.words and one.words >= least) or 0 < one.vector_rank <= k]
    return tuple(sorted(fitting, key=lambda one: (-one.facts.created_us, one.facts.memory_id)))


def _close(text: TextHit | None, best: float) -> float:
    """The share of the best by words: the closeness, or of a store that does not say it the share of the score."""
    if text is None:
        return 0.0
    if text.closeness is not None:
        return text.closeness
    return (text.content_score + text.task_score) / best if best > 0 else 0.0


def _recency(facts: MemoryFacts, now_us: int) -> float:
    return float(0.5 ** (max(0, now_us - facts.created_us) / _HALF_LIFE_US))


def _merit(facts: MemoryFacts, recency: float) -> float:
    """The merit, 0 to 1; a missing confidence has no effect."""
    merit = _IMPORTANCE_WEIGHT * facts.importance + _RECENCY_WEIGHT * recency
    if facts.confidence is None:
        return merit / (_IMPORTANCE_WEIGHT + _RECENCY_WEIGHT)
    return merit + _CONFIDENCE_WEIGHT * facts.confidence


def _newest_of_a_task_first(scored: list[tuple[TextHit | None, Ranked]]) -> tuple[Ranked, ...]:
    """Memories of the same task have exactly equal task scores, by which they are recognised."""
    places: dict[float, list[int]] = {}
    for place, (text, _) in enumerate(scored):
        if text is not None and text.task_score > 0 and text.task_score >= _BY_TASK_RATIO * text.content_score:
            places.setdefault(round(text.task_score, 9), []).append(place)
    ordered = [ranked for _, ranked in scored]
    for of_task in places.values():
        newest = sorted(
            (scored[place][1] for place in of_task), key=lambda one: (-one.facts.created_us, one.facts.memory_id)
        )
        for place, ranked, was in zip(of_task, newest, [ordered[place] for place in of_task], strict=True):
            ordered[place] = msgspec.structs.replace(ranked, score=was.score)
    return tuple(ordered)
