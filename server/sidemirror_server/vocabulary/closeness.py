"""Ranks the candidates of a search by more than whole words, equally in every store. Pure.

`bm25.py` finds and scores candidates by their words. Here the score of each becomes a sum of three parts: its words,
runs of letters (an identifier that is written otherwise), and pairs of neighbouring words. Then each candidate takes on
a part of its nearest neighbours' scores, because texts about one thing share more words with each other than with a
question (cluster-based smoothing: Kurland, Lee 2004). All of it is computed from the terms of the candidates, and none
of it is stored: no index grows (decision 061, with the reasons for the numbers).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, compress, pairwise
from typing import TypeAlias, TypeVar

from sidemirror_server.vocabulary.bm25 import LENGTH_WEIGHT, SATURATION, telling
from sidemirror_server.vocabulary.terms import saturated

# How many candidates a question looks at, unless its caller wants more, and how many of the best are compared with each
# other.
CANDIDATES = 200
COMPARED = 50
# The weight of each part; the best candidate by a part has all of its weight.
WORDS, LETTERS, PAIRS = 0.6, 0.6, 0.5
# Letters in a run.
_RUN = 4
# The share of a score that is its mean over the nearest candidates, and how many of them. The candidate itself is one
# more, with a similarity of 1: what stands alone keeps its score.
SHARE = 0.7
NEIGHBOURS = 5
# How many terms of a candidate are compared: the others weigh little, and take most of the time.
_WEIGHTIEST = 48

# How many candidates stay read, and how long they may be in characters: the next question mostly meets the same ones.
# Chosen here: a sidecar's own project fits, and 20 MB hold them at most.
_REMEMBERED, _REMEMBERED_CHARS = 1_000, 2_000
# How many terms stay known. Candidates share most of theirs, and so do questions.
_REMEMBERED_TERMS = 20_000

_Key = TypeVar("_Key", bound=Hashable)
_Read: TypeAlias = tuple[Sequence[str], Mapping[str, int]]


def closeness(
    asked: Mapping[str, float], said: Sequence[str], texts: Sequence[str], words: Sequence[float]
) -> list[float]:
    """How close each candidate is to the question, 0 to 1, in the order of the candidates; the closest has 1.

    `asked`: the terms of the question with their weights; `said`: its terms in their order. `texts`: the terms of each
    candidate, separated by blanks. `words`: the scores of the candidates by `bm25.py`.
    """
    if not texts:
        return []
    split, counted = zip(*map(_read, texts), strict=True)
    mean_terms = sum(map(len, split)) / len(split)
    lengths = [SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * len(terms) / mean_terms) for terms in split]
    having = Counter(chain.from_iterable(counted))
    runs, pairs = _runs_asked(asked), {pair: saturated(many) for pair, many in Counter(pairwise(said)).items()}
    parts: tuple[tuple[float, Sequence[float]], ...] = (
        (WORDS, words),
        (LETTERS, _scores(runs, _runs_in(runs, counted, having), lengths)),
        (PAIRS, _scores(pairs, _pairs_in(pairs, split), lengths)),
    )
    summed = [0.0] * len(texts)
    for weight, scores in parts:
        summed = [total + weight * one for total, one in zip(summed, _of_best(scores), strict=True)]
    return _of_best(_smoothed(summed, counted, lengths, having))


def _read(text: str) -> _Read:
    """The terms of a candidate in their order, and how often each is there."""
    return _remembered(text) if len(text) <= _REMEMBERED_CHARS else _read_anew(text)


def _read_anew(text: str) -> _Read:
    terms = tuple(map(_one_object, text.split(" ")))
    return terms, Counter(terms)


@lru_cache(_REMEMBERED_TERMS)
def _one_object(term: str) -> str:
    """The same object for equal terms, which are then compared by it. In some releases of Python 3.12, `sys.intern`
    keeps every term until the process ends (CPython issue 113993)."""
    return term


_remembered = lru_cache(_REMEMBERED)(_read_anew)


def _of_best(scores: Sequence[float]) -> list[float]:
    best = max(scores)
    return [one / best for one in scores] if best > 0 else list(scores)


def _scores(
    asked: Mapping[_Key, float], times: Sequence[Mapping[_Key, int]], lengths: Sequence[float]
) -> Sequence[float]:
    """BM25 of the keys that were asked for. `times`: how often each candidate has them; `lengths`: the part of the
    formula that depends on a candidate's length."""
    having = Counter(chain.from_iterable(times))
    tells = {key: asked[key] * telling(len(times), many) for key, many in having.items()}
    return [
        sum([tells[key] * many / (many + length) for key, many in one.items()])
        for one, length in zip(times, lengths, strict=True)
    ]


@lru_cache(_REMEMBERED_TERMS)
def _runs_of(term: str) -> frozenset[str]:
    """The character n-grams of a term, with a space at each end; a term that is too short is one n-gram."""
    ends = f" {term} "
    return frozenset([ends[at : at + _RUN] for at in range(max(1, len(ends) - _RUN + 1))])


def _runs_asked(asked: Mapping[str, float]) -> dict[str, float]:
    runs: dict[str, float] = {}
    for term, weight in asked.items():
        for run in _runs_of(term):
            runs[run] = runs.get(run, 0.0) + weight
    return runs


def _runs_in(
    runs: Mapping[str, float], counted: Sequence[Mapping[str, int]], every: Iterable[str]
) -> list[Mapping[str, int]]:
    """How often each candidate has the runs that were asked for. `every`: all terms of the candidates."""
    wanted = frozenset(runs)
    with_runs = {term: found for term in every if (found := wanted & _runs_of(term))}
    times: list[Mapping[str, int]] = []
    for terms in counted:
        mine: dict[str, int] = {}
        for term in filter(with_runs.__contains__, terms):
            many = terms[term]
            for run in with_runs[term]:
                mine[run] = mine.get(run, 0) + many
        times.append(mine)
    return times


def _pairs_in(
    pairs: Mapping[tuple[str, str], float], split: Sequence[Sequence[str]]
) -> list[Mapping[tuple[str, str], int]]:
    """How often each candidate has the pairs that were asked for. A pair is hashed only if its first term is one of
    theirs: that takes most of the time."""
    firsts = {first for first, _ in pairs}
    return [
        Counter(filter(pairs.__contains__, compress(pairwise(terms), map(firsts.__contains__, terms))))
        for terms in split
    ]


def _smoothed(
    scores: Sequence[float], counted: Sequence[Mapping[str, int]], lengths: Sequence[float], having: Mapping[str, int]
) -> list[float]:
    """The scores, of which each of the best COMPARED candidates takes SHARE from those that are most similar to it.
    `counted`: how often each has its terms; `having`: how many candidates have each term."""
    smoothed = list(scores)
    best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:COMPARED]
    tells = {many: telling(len(scores), many) for many in set(having.values())}
    similar: list[list[tuple[float, float]]] = [[] for _ in best]  # similarity and score of the others
    # The candidates so far that have a term, with its weight: two without a common term cost nothing.
    holders: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for one, place in enumerate(best):
        products = [0.0] * one
        for weight, term in _vector(counted[place], lengths[place], having, tells):
            held = holders[term]
            for other, others_weight in held:
                products[other] += weight * others_weight
            held.append((one, weight))
        for other, similarity in enumerate(products):
            similar[one].append((similarity, scores[best[other]]))
            similar[other].append((similarity, scores[place]))
    for place, others in zip(best, similar, strict=True):
        nearest = sorted(others, reverse=True)[:NEIGHBOURS]
        total = 1 + sum(similarity for similarity, _ in nearest)
        mean = (scores[place] + sum(similarity * score for similarity, score in nearest)) / total
        smoothed[place] += SHARE * (mean - scores[place])
    return smoothed


def _vector(
    terms: Mapping[str, int], length: float, having: Mapping[str, int], tells: Mapping[int, float]
) -> list[tuple[float, str]]:
    """A candidate as a vector of length 1, by its terms, which count as in BM25. The weightiest are kept. `tells`: what
    a term tells, by how many candidates have it."""
    weights = [(tells[having[term]] * many / (many + length), term) for term, many in terms.items()]
    norm = math.sqrt(sum([weight * weight for weight, _ in weights])) or 1.0
    weights.sort(reverse=True)
    return [(weight / norm, term) for weight, term in weights[:_WEIGHTIEST]]
