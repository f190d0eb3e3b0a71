"""Measures how much an embedding model helps in a project, by the project's own memories. Pure.

Each memory is cut in two: its first half is the question, and its second half is to be found among those of all. Words
answer alone, and then together with the model's vectors. The model counts only where this finds more, and as much as
finds most. So a model that knows nothing about a project's texts cannot hurt it (decision 061).
"""

import math
from collections.abc import Sequence
from operator import mul

import msgspec

from sidemirror_server.vocabulary.corpus import Corpus

# How many memories are measured at most, and at least: with fewer the error is larger than any gain. Chosen here.
MOST_MEASURED, FEWEST_MEASURED = 150, 20
# A memory of fewer words says too little in each half. Chosen here.
_FEWEST_WORDS = 8
# Longer halves are cut: every model accepts this many characters.
_HALF_CHARS = 1_000
# The weights that are tried.
_TRIED = tuple(tenth / 10 for tenth in range(1, 10))
# The gain must be so many times its standard error: one side of 95 %.
_SURE = 1.645
# The share of the similarities of halves that do not belong together that are below the noise.
_NOISE_QUANTILE = 0.95


class Weight(msgspec.Struct, frozen=True):
    """How much an embedding model counts in a project: 0 (not at all) to 1. `gain`: by how much the mean reciprocal
    rank of the other half rises with it; `error`: the standard error of the gain. `noise`: the similarity that texts
    without a connection hardly reach. `memories`: how many were measured."""

    value: float = 0.0
    gain: float = 0.0
    error: float = 0.0
    noise: float = 0.0
    memories: int = 0


class Halves(msgspec.Struct, frozen=True):
    """The two halves of a memory's text."""

    first: str
    second: str


def halves_of(text: str) -> Halves | None:
    """The halves of a text, cut between words; None if it is too short."""
    words = text.split()
    if len(words) < _FEWEST_WORDS:
        return None
    middle = len(words) // 2
    return Halves(" ".join(words[:middle])[-_HALF_CHARS:], " ".join(words[middle:])[:_HALF_CHARS])


def shares(similarities: Sequence[float], noise: float) -> list[float]:
    """Similarities as shares of the best one, with `noise` as 0."""
    best = max(similarities, default=noise) - noise
    return [max(0.0, one - noise) / best if best > 0 else 0.0 for one in similarities]


def weigh(halves: Sequence[Halves], firsts: Sequence[Sequence[float]], seconds: Sequence[Sequence[float]]) -> Weight:
    """The weight of the model that made these vectors of length 1: `firsts` of the first halves, `seconds` of the
    second ones. There are FEWEST_MEASURED of each at least."""
    similar = [[sum(map(mul, one, other)) for other in seconds] for one in firsts]
    noise = _noise(similar)
    by_words = _by_words(halves)
    plain, tried = [], dict[float, list[float]]((weight, []) for weight in _TRIED)
    for place, (words, similarities) in enumerate(zip(by_words, similar, strict=True)):
        vectors = shares(similarities, noise)
        plain.append(_reciprocal_rank(words, place))
        for weight, ranks in tried.items():
            fused = [(1 - weight) * one + weight * other for one, other in zip(words, vectors, strict=True)]
            ranks.append(_reciprocal_rank(fused, place))
    best = max(tried, key=lambda weight: (sum(tried[weight]), -weight))
    gains = [one - other for one, other in zip(tried[best], plain, strict=True)]
    gain = sum(gains) / len(gains)
    error = math.sqrt(sum((one - gain) ** 2 for one in gains) / (len(gains) - 1) / len(gains))
    return Weight(best if gain > _SURE * error else 0.0, gain, error, noise, len(halves))


def _noise(similar: Sequence[Sequence[float]]) -> float:
    others = sorted(one for place, row in enumerate(similar) for at, one in enumerate(row) if at != place)
    return others[int(_NOISE_QUANTILE * (len(others) - 1))]


def _by_words(halves: Sequence[Halves]) -> list[list[float]]:
    """The closeness of each second half to each first half."""
    corpus = Corpus([half.second for half in halves])
    return [[near.closeness for near in corpus.search(half.first)] for half in halves]


def _reciprocal_rank(scores: Sequence[float], place: int) -> float:
    """Of the text at this place; among equals it has the place in the middle."""
    mine = scores[place]
    better = sum(one > mine for one in scores)
    equal = sum(one == mine for one in scores) - 1
    return 1 / (1 + better + equal / 2)
