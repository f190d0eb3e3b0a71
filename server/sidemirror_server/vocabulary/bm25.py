"""BM25 (Robertson, Zaragoza 2009): scores how well a text's words answer a query, equally in every store.

Stores keep the counts and add up the parts of a score. Conformance tests compare the sums with this module.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

# BM25's k1 and b, with their usual values: how soon repetitions stop counting, and the weight of a text's length.
SATURATION = 1.2
LENGTH_WEIGHT = 0.75
# A query looks up only its most informative terms. Chosen here: on the recorded retrieval sets 64 terms find the same
# texts as all terms, and each term costs a look-up.
MOST_ASKED = 64
# A term in more than COMMON texts is left out if it would make the chosen terms match more than MOST_LED_TO texts.
# Chosen here: this limits a search to some milliseconds, and omits only the commonest words of a large store.
COMMON = 2_000
MOST_LED_TO = 6_000
# Up to this many terms, it is faster to search a text for each term than to count all terms of the text.
_FEW = 8


class Field(msgspec.Struct, frozen=True):
    """Counts of one field in a scope: the memories that have the field, and all terms of the field."""

    memories: int
    terms: int

    def mean_terms(self) -> float:
        """The field's mean length in terms; 1 if no memory has it."""
        return self.terms / self.memories if self.memories and self.terms else 1.0


def telling(memories: int, having: int) -> float:
    """A term's inverse document frequency: `having` of `memories` memories contain it."""
    return math.log(1 + (memories - having + 0.5) / (having + 0.5))


def part(weight: float, tells: float, times: int, terms: int, mean_terms: float) -> float:
    """A term's part of a score. `times`: its occurrences among a text's `terms` terms; `tells`: its `telling` value."""
    length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * terms / mean_terms
    return weight * tells * times * (SATURATION + 1) / (times + SATURATION * length)


def chosen(asked: Mapping[str, float], having: Mapping[str, int], memories: int) -> tuple[str, ...]:
    """The terms of a query to look up, the most informative first, without terms that no text has.

    `having`: how many texts contain each term, contents and tasks together. At most MOST_ASKED terms are considered. A
    common term is left out if more than half of the memories contain it, or if it would take the chosen terms over
    MOST_LED_TO. The first term is always chosen.
    """
    known = [term for term in asked if having.get(term, 0) > 0]
    known.sort(key=lambda term: (-asked[term] * telling(memories, min(memories, having[term])), term))
    terms: list[str] = []
    led_to = 0
    for term in known[:MOST_ASKED]:
        is_common = having[term] > COMMON
        if terms and is_common and (led_to + having[term] > MOST_LED_TO or 2 * having[term] > memories):
            continue
        led_to += having[term]
        terms.append(term)
    return tuple(terms)


def worth(asked: Mapping[str, float], having: Mapping[str, int], memories: int) -> float:
    """What a question would score in a text of mean length that has each of its terms once. A term that no text has is
    worth as much as one that a single text has: a question of foreign words is answered by little of its worth."""
    return sum(weight * telling(memories, min(memories, max(1, having.get(term, 0)))) for term, weight in asked.items())


def score(
    asked: Mapping[str, float], having: Mapping[str, int], times: Mapping[str, int], terms: int, field: Field
) -> float:
    """The score of one text for the chosen terms. `having`: how many memories contain each term in this field; `times`:
    how often each occurs in this text; `terms`: the text's length."""
    mean_terms = field.mean_terms()
    return sum(
        part(weight, telling(field.memories, having[term]), times[term], terms, mean_terms)
        for term, weight in asked.items()
        if times.get(term, 0) > 0
    )


def scorer(asked: Mapping[str, float], having: Mapping[str, int], field: Field) -> Callable[[str], float]:
    """`score` for many texts, given as terms separated by blanks; values that all texts share are computed once."""
    tells = {
        term: weight * telling(field.memories, having[term]) * (SATURATION + 1)
        for term, weight in asked.items()
        if having[term] > 0
    }
    least, for_each = SATURATION * (1 - LENGTH_WEIGHT), SATURATION * LENGTH_WEIGHT / field.mean_terms()
    within = [(term, f" {term} ", f" {term} {term} ", tell) for term, tell in tells.items()]

    def few_asked(text: str) -> float:
        length = least + for_each * (text.count(" ") + 1)
        padded = f" {text} "
        total = 0.0
        for term, once, twice, tell in within:
            if many := padded.count(once):
                if twice in padded:  # neighbours share a blank
                    many = text.split(" ").count(term)
                total += tell * many / (many + length)
        return total

    def many_asked(text: str) -> float:
        terms = text.split(" ")
        length = least + for_each * len(terms)
        times = Counter(filter(tells.__contains__, terms))
        return sum(tells[term] * many / (many + length) for term, many in times.items())

    return few_asked if len(tells) <= _FEW else many_asked
