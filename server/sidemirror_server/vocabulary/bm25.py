"""How well a text answers a question by its words: BM25 (Robertson, Zaragoza 2009), the same in every store.

Stores keep the figures and add up the parts; each store's conformance test compares them with this module.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

# The usual values; how fast repetition stops to count, and how much the length of a text counts.
SATURATION = 1.2
LENGTH_WEIGHT = 0.75
# A question is looked up by its most telling terms only. Chosen here: on the recorded retrieval sets 64 find what all
# find, and an index is asked so many times.
MOST_ASKED = 64
# Terms that more texts have are common; a question's terms may lead to so many texts, all together, as soon as there is
# a common one among them. Chosen here: it bounds a search at some milliseconds, and what is left out are the commonest
# words of a question in a large store.
COMMON = 2_000
MOST_LED_TO = 6_000
# Up to so many terms, looking for each in a text takes less time than counting all terms of the text.
_FEW = 8


class Field(msgspec.Struct, frozen=True):
    """What a scope's memories come to in one of their texts: how many have it, and their terms in all."""

    memories: int
    terms: int

    def mean_terms(self) -> float:
        """How long the text is on average; 1 when nothing has it."""
        return self.terms / self.memories if self.memories and self.terms else 1.0


def telling(memories: int, having: int) -> float:
    """How much a term tells (inverse document frequency): `having` of `memories` have it."""
    return math.log(1 + (memories - having + 0.5) / (having + 0.5))


def part(weight: float, tells: float, times: int, terms: int, mean_terms: float) -> float:
    """What a term adds that stands `times` in a text of `terms` terms."""
    length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * terms / mean_terms
    return weight * tells * times * (SATURATION + 1) / (times + SATURATION * length)


def chosen(asked: Mapping[str, float], having: Mapping[str, int], memories: int) -> tuple[str, ...]:
    """The terms of a question to look up: the most telling first, those that nothing has left out.

    `having`: in how many texts a term stands, contents and tasks together. At most MOST_ASKED terms, of which common
    ones only as long as all stand in at most MOST_LED_TO texts between them; but at least one term.
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


def score(
    asked: Mapping[str, float], having: Mapping[str, int], times: Mapping[str, int], terms: int, field: Field
) -> float:
    """How well one text answers the terms that were chosen. `having`: how many have a term in this text of theirs;
    `times`: how often each stands in this one."""
    mean_terms = field.mean_terms()
    return sum(
        part(weight, telling(field.memories, having[term]), times[term], terms, mean_terms)
        for term, weight in asked.items()
        if times.get(term, 0) > 0
    )


def scorer(asked: Mapping[str, float], having: Mapping[str, int], field: Field) -> Callable[[str], float]:
    """`score` for many texts, given their terms, parted by blanks: what is the same for all is worked out once."""
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
                if twice in padded:  # they share a blank
                    many = text.split(" ").count(term)
                total += tell * many / (many + length)
        return total

    def many_asked(text: str) -> float:
        terms = text.split(" ")
        length = least + for_each * len(terms)
        times = Counter(filter(tells.__contains__, terms))
        return sum(tells[term] * many / (many + length) for term, many in times.items())

    return few_asked if len(tells) <= _FEW else many_asked
