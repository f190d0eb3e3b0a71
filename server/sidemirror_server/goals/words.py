"""How similar two goals are, by the words of their objectives. Pure, so that every store finds the same goals."""

import re
import unicodedata
from collections.abc import Set

# Chosen here: an objective is a sentence or two.
MOST_WORDS = 32
_WORD = re.compile(r"\w+")
# Longer ones are left out. Chosen here: they are data, and a store could not index them.
_LONGEST_WORD = 100
# Words that occur in nearly every objective, and so do not distinguish goals.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do for from has have how i in into is it its me my not of on or our please so "
        "that the then there this to up us we what when which will with you your",
    )
)


def words_of(text: str) -> frozenset[str]:
    """The distinctive words of a text, without common words and accents, in lower case and singular; the first
    MOST_WORDS. Words of more than _LONGEST_WORD letters are left out."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    found: dict[str, None] = {}
    for word in _WORD.findall(plain):
        if word not in _COMMON and len(word) <= _LONGEST_WORD:
            found[_singular(word)] = None
        if len(found) == MOST_WORDS:
            break
    return frozenset(found)


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def likeness(asked: Set[str], words: Set[str]) -> float:
    """The Jaccard index of two sets of words: 0 if they share none, 1 if they are equal."""
    either = asked | words
    return len(asked & words) / len(either) if either else 0.0
