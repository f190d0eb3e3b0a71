"""Searches a few texts in memory, by the rule that every store searches by. Pure."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from sidemirror_server.vocabulary.bm25 import Field, chosen, scorer, worth
from sidemirror_server.vocabulary.closeness import CANDIDATES, closeness
from sidemirror_server.vocabulary.terms import asked_terms, terms_of


class Near(msgspec.Struct, frozen=True):
    """How near a text is to a question. `closeness`: 0 to 1, beside the others (`closeness.py`). `share`: its score of
    what the question is worth (`bm25.worth`). Both are 0 for a text without a word of the question."""

    closeness: float = 0.0
    share: float = 0.0


class Corpus:
    """Texts that can be searched."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._terms = [terms_of(text) for text in texts]
        self._having = Counter(term for terms in self._terms for term in set(terms.split()))
        self._field = Field(len(texts), sum(len(terms.split()) for terms in self._terms))

    def search(self, question: str) -> list[Near]:
        """How near each text is to the question, in the order of the texts."""
        asked = asked_terms(question)
        weights = {term: asked[term] for term in chosen(asked, self._having, len(self._terms))}
        scores = list(map(scorer(weights, self._having, self._field), self._terms))
        found = sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])
        found = found[:CANDIDATES]
        near = closeness(
            asked,
            terms_of(question).split(),
            [self._terms[place] for place in found],
            [scores[place] for place in found],
        )
        most = worth(asked, self._having, len(self._terms))
        answer = [Near()] * len(self._terms)
        for place, close in zip(found, near, strict=True):
            answer[place] = Near(close, scores[place] / most)
        return answer
