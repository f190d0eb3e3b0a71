"""In which order memories answer a question. Pure.

Words and vectors are fused by rank (reciprocal rank fusion: Cormack, Clarke, Büttcher 2009), or words alone count by
their score; then importance, recency and confidence decide among those that fit about equally well.
"""

from collections.abc import Iterable, Sequence

import msgspec

from sidemirror_server.memory.search import Facts, TextHit, VectorHit

# The authors' constant: the first places differ little, so that both lists are heard.
_RANK_CONSTANT = 60
# How far a memory's own merits move its score, up and down together. Chosen here: past some neighbours in a list, never
# past a memory that fits twice as well.
_MERIT_SPAN = 0.1
_IMPORTANCE_WEIGHT, _RECENCY_WEIGHT, _CONFIDENCE_WEIGHT = 0.5, 0.3, 0.2
# Chosen here: a lesson of last month counts half of today's, as far as age counts at all.
_HALF_LIFE_US = 30 * 24 * 3600 * 1_000_000
# A memory is found by its task when the task adds this much of what its own words add. Chosen here: in a project where
# all memories name one task, its words tell nothing and so add nothing.
_BY_TASK_RATIO = 0.5
# With `newest_first`, those fit that have this much of the best one's score in words. Chosen here.
_FITS_RATIO = 0.5


class Part(msgspec.Struct, frozen=True):
    """One part of a score. `rank`: the place that it gives, from 1; 0 where it gives none."""

    name: str
    value: float
    rank: int = 0


class Ranked(msgspec.Struct, frozen=True):
    """A memory in its place. `score`: 0 to 1."""

    facts: Facts
    score: float
    parts: tuple[Part, ...]


class _Found(msgspec.Struct):
    """What the ways of finding say of one memory."""

    facts: Facts
    text: TextHit | None = None
    text_rank: int = 0
    similarity: float = 0.0
    vector_rank: int = 0

    def text_score(self) -> float:
        return 0.0 if self.text is None else self.text.content_score + self.text.task_score


def rank_filtered(found: Sequence[Facts], now_us: int) -> tuple[Ranked, ...]:
    """Without a question: as they come, the most important first; the score is the importance."""
    return tuple(Ranked(facts, facts.importance, _merits(facts, now_us)) for facts in found)


def rank(texts: Sequence[TextHit], vectors: Sequence[VectorHit] | None, now_us: int) -> tuple[Ranked, ...]:
    """The best first; `vectors` None when there are none to go by. Both lists come with their best first.

    Memories that were found by one and the same task stand with the newest first, in the places that they have.
    """
    found: dict[str, _Found] = {}
    for place, text in enumerate(texts, start=1):
        found[text.facts.memory_id] = _Found(text.facts, text, place)
    for place, vector in enumerate(vectors or (), start=1):
        known = found.setdefault(vector.facts.memory_id, _Found(vector.facts))
        known.vector_rank, known.similarity = place, vector.similarity
    best = max((one.text_score() for one in found.values()), default=0.0)
    scored = [(one, _ranked(one, best, now_us, is_hybrid=vectors is not None)) for one in found.values()]
    scored.sort(key=lambda pair: (-pair[1].score, -pair[0].facts.created_us, pair[0].facts.memory_id))
    return _newest_of_a_task_first(scored)


def those_that_fit(ranked: Sequence[Ranked], k: int) -> tuple[Ranked, ...]:
    """Those that have about what the question asks for, the newest first."""
    words = [max((part.value for part in one.parts if part.name == "full_text"), default=0.0) for one in ranked]
    least = max(words, default=0.0) * _FITS_RATIO
    fitting = [
        one
        for one, score in zip(ranked, words, strict=True)
        if (score > 0 and score >= least) or any(part.name == "vector" and part.rank <= k for part in one.parts)
    ]
    return tuple(sorted(fitting, key=lambda one: (-one.facts.created_us, one.facts.memory_id)))


def _ranked(one: _Found, best: float, now_us: int, *, is_hybrid: bool) -> Ranked:
    parts = []
    if one.text is not None:
        parts.append(Part("full_text", one.text_score(), one.text_rank))
    if one.vector_rank:
        parts.append(Part("vector", one.similarity, one.vector_rank))
    if is_hybrid:
        ranks = [place for place in (one.text_rank, one.vector_rank) if place]
        relevance = sum((_RANK_CONSTANT + 1) / (_RANK_CONSTANT + place) for place in ranks) / 2
        parts.append(Part("fused", relevance))
    else:
        relevance = one.text_score() / best if best > 0 else 0.0
    merits = _merits(one.facts, now_us)
    score = relevance * (1 + _MERIT_SPAN * (_merit(merits) - 1))  # at most 1
    return Ranked(one.facts, score, (*parts, *merits))


def _merits(facts: Facts, now_us: int) -> tuple[Part, ...]:
    recency = 0.5 ** (max(0, now_us - facts.created_us) / _HALF_LIFE_US)
    merits = (Part("importance", facts.importance), Part("recency", recency))
    return merits if facts.confidence is None else (*merits, Part("confidence", facts.confidence))


def _merit(merits: Iterable[Part]) -> float:
    """0 to 1; what nobody said counts neither way."""
    weights = {"importance": _IMPORTANCE_WEIGHT, "recency": _RECENCY_WEIGHT, "confidence": _CONFIDENCE_WEIGHT}
    known = [(weights[part.name], part.value) for part in merits]
    return sum(weight * value for weight, value in known) / sum(weight for weight, _ in known)


def _newest_of_a_task_first(scored: list[tuple[_Found, Ranked]]) -> tuple[Ranked, ...]:
    """Those that name the same task have the same score by it, to the last digit."""
    places: dict[float, list[int]] = {}
    for place, (one, _) in enumerate(scored):
        text = one.text
        if text is not None and text.task_score > 0 and text.task_score >= _BY_TASK_RATIO * text.content_score:
            places.setdefault(round(text.task_score, 9), []).append(place)
    ordered = [ranked for _, ranked in scored]
    for of_task in places.values():
        newest = sorted(
            (scored[place] for place in of_task), key=lambda pair: (-pair[0].facts.created_us, pair[0].facts.memory_id)
        )
        for place, (_, ranked), was in zip(of_task, newest, [ordered[place] for place in of_task], strict=True):
            ordered[place] = msgspec.structs.replace(ranked, score=was.score)
    return tuple(ordered)
