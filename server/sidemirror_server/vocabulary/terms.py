"""Tokenises texts into index terms. Each memory is stored with its terms, so that every store searches the same words.

Chosen here, by general practice in text retrieval: case is folded, and English plurals and common endings are stemmed,
so that "queries" finds "query". A name in code becomes a term for the whole name and one for each part. Text without
blanks (Chinese, Japanese, Thai) becomes pairs of characters. Function words are indexed, because a memory may be about
them, but weigh less in a query.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import chain, islice

# Chosen here: the first pages of a lesson show its subject. This limit also bounds a memory's size in the index.
MOST_TERMS = 4000
# Longer terms are data, not words, and are cut.
_LONGEST_TERM = 64
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PICTURES = "\u2600-\u27bf\U0001f1e6-\U0001faff"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+|[{_PICTURES}]")
_UNSPACED_START = re.compile(rf"[{_UNSPACED}]")
_PART = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")
_VOWEL = re.compile(r"[aeiouy]")
_ENDINGS = ("ingly", "edly", "ing", "ed", "ly")
_LAST_LETTERS = "gdyes"  # a word that ends otherwise is its stem
# BM25's k3 (Robertson and others, TREC-3): each repetition of a word in a query adds less than the one before.
_ASKED_SATURATION = 1.2
_FUNCTION_WORD_WEIGHT = 0.6
# Function words count as 0.6 of a word: they mean little, but "not found" differs from "found". Chosen here.
_FUNCTION_WORDS = """
a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing down during each few for from further get had has have having he hello help her here hers hey hi
him his how i if in into is it its itself just like me more most my need no nor not now of off on once only or other our
out over own please same she should so some such sure than thank that the their them then there these they this those
through to too under until up very want was we were what when where which while who whom why will with would you your
yours
"""


def terms_of(text: str) -> str:
    """The terms of a text, separated by blanks, in their order: at most the first MOST_TERMS.

    No term contains a blank or ASCII punctuation. A text's terms never change, because they are stored.
    """
    return " ".join(_terms(text))


def asked_terms(text: str) -> dict[str, float]:
    """A query's terms with their weights, in the order of first mention."""
    counted = Counter(_terms(text))
    return {term: saturated(times) * _importance(term) for term, times in counted.items()}


def saturated(times: int) -> float:
    """What something in a question weighs that stands there so many times."""
    return times * (_ASKED_SATURATION + 1) / (times + _ASKED_SATURATION)


def telling_terms(text: str) -> frozenset[str]:
    """A text's terms without function words."""
    return frozenset(_terms(text)) - _FUNCTION_TERMS


def _importance(term: str) -> float:
    return _FUNCTION_WORD_WEIGHT if term in _FUNCTION_TERMS else 1.0


def _terms(text: str) -> list[str]:
    # The cut bounds the time of NFKC, which lengthens a text at most a few times. Later terms would be dropped anyway.
    words = _WORD.findall(unicodedata.normalize("NFKC", text[: MOST_TERMS * 64]))
    return list(islice(chain.from_iterable(map(_terms_of_word, words)), MOST_TERMS))


@lru_cache(20_000)  # texts repeat their words; a stem costs as much as a look-up in an index
def _terms_of_word(word: str) -> tuple[str, ...]:
    return tuple(_pairs(word) if _UNSPACED_START.match(word) else _names(word))


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] if len(run) > 1 else [run]


def _names(word: str) -> list[str]:
    """The word, and its parts when it is a name in code such as `find_user` or `findUser`."""
    parts = [part for part in _PART.split(word) if part]
    if len(parts) < 2:
        return [_stem(part) for part in parts]
    return [_stem("".join(parts)), *(_stem(part) for part in parts)]


def _stem(word: str) -> str:
    """The stem of a word: equal for word forms that differ in a common ending, and not always a word itself."""
    word = word.casefold()[:_LONGEST_TERM]
    if len(word) <= 3 or word[-1] not in _LAST_LETTERS or not word.isascii():
        return word
    word = _without_plural(word)
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if len(stem) >= 3 and stem != word and _VOWEL.search(stem):
            doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if doubled else stem
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith("es") and len(word) > 4 and (word[-3] in "sxz" or word.endswith(("ches", "shes"))):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


_FUNCTION_TERMS = frozenset(_stem(word) for word in _FUNCTION_WORDS.split())
