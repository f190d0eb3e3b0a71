"""Masks in an error's text what the failed call was given, for `signature.py`: `invoice not found: ACME 12` is the
failure that `invoice not found: Globex 7` is. Pure.

A value is masked where the text repeats all of its words, one after another, and else word by word. A word that errors
are written with (`error`, `found`, `true`), that names the tool or one of its arguments, or that is one character long
stays: it says what failed, whatever was given. The longest value goes first, and case does not count.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from sidemirror_server.memory.kin.signature_wordings import CAUSES, NAMED_CAUSES, SAME_WORDINGS
from sidemirror_server.trace.failure_wordings import TOOL_WORDINGS, WORDINGS
from sidemirror_server.vocabulary.telling import STOCK
from sidemirror_server.vocabulary.terms import telling_terms

MASK = "<given>"

# Signs part words, and so does `_`: the id in `invoice_4711` and the folders of a path are words.
_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[a-z]{2,}")
# In code points and words. Chosen here: what is longer is a file's content, and no error repeats it.
_VALUE_CHARS = 2_000
_MOST_WORDS = 60
# Of a longer value only those words are masked alone that look like a name or an id: it is prose. Chosen here.
_FEW_WORDS = 8
# How many values of a call are looked at. Chosen here: calls have a few.
_MOST_VALUES = 200

# What tools work on. An error names it by its kind, whoever's it is.
_KINDS = (
    "access account address argument attribute branch character class code column command commit connection container "
    "count database date directory document email entity entry environment field file folder format function group "
    "header host index input instance item job key language length limit line list member message method mode model "
    "module name namespace network node number object option order output package page parameter path payload payment "
    "permission pod port process product profile project property query range record reference refspec repository "
    "resource response result revision role row rule schema script server service session setting shell size source "
    "stage state statement status step string symbol table target tenant text time title type unit update url user "
    "value variable version view volume word zone null none true false yes no"
)


class Given(msgspec.Struct, frozen=True):
    """What a call was given. `values`: as texts; `names`: of the tool and of its arguments."""

    values: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


NOTHING = Given()


def without_given(error_text: str, given: Given) -> str:
    """The text with `<given>` in the place of what the call was given; line ends stay."""
    masks = _masks(given)
    if not masks:
        return error_text
    return "\n".join(_masked(line, masks) for line in error_text.split("\n"))


def _masked(line: str, masks: dict[str, list[tuple[str, ...]]]) -> str:
    words = list(_WORD.finditer(line))
    folded = [word[0].casefold() for word in words]
    kept, copied, at = list[str](), 0, 0
    while at < len(words):
        found = next((one for one in masks.get(folded[at], ()) if tuple(folded[at : at + len(one)]) == one), None)
        if found is None:
            at += 1
            continue
        kept += (line[copied : words[at].start()], MASK)
        at += len(found)
        copied = words[at - 1].end()
    return "".join((*kept, line[copied:]))


def _masks(given: Given) -> dict[str, list[tuple[str, ...]]]:
    """What is masked, by its first word; the longest first."""
    named = telling_terms(" ".join(given.names))
    found: dict[str, list[tuple[str, ...]]] = {}
    for value in sorted(set(given.values[:_MOST_VALUES])):
        for words in _worth_masking(value, named):
            of_first = found.setdefault(words[0], [])
            if words not in of_first:
                of_first.append(words)
    for of_first in found.values():
        of_first.sort(key=lambda words: (-len(words), words))
    return found


def _worth_masking(value: str, named: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """A value's words together, if one of them is its own, and each of its own words."""
    if len(value) > _VALUE_CHARS:
        return
    said = _WORD.findall(value)[: _MOST_WORDS + 1]
    kinds = {word for one in value.split() if _is_id(one) for word in _WORD.findall(one) if word.isalpha()}
    own = [word for word in said if _is_own(word, named) and not (word in kinds and word.islower())]
    if own and 1 < len(said) <= _MOST_WORDS:
        yield tuple(word.casefold() for word in said)
    for word in own:
        if len(said) <= _FEW_WORDS or not word.islower():
            yield (word.casefold(),)


def _is_own(word: str, named: frozenset[str]) -> bool:
    """Whether a word says whose the value is: it is no word of errors, and names neither the tool nor an argument."""
    return len(word) > 1 and not telling_terms(word) <= (GRAMMAR | named)


def _is_id(word: str) -> bool:
    """Whether a word is an id such as `gift_card_6941833`, in which small letters name a kind."""
    return any(map(str.isdigit, word)) and ("_" in word or "-" in word)


def _words_of(texts: Iterable[str]) -> frozenset[str]:
    return telling_terms(" ".join(word for text in texts for word in _LETTERS.findall(text)))


# What errors are written with: the terms of all wordings by which failures are known, of stock errors, and of kinds.
GRAMMAR = STOCK | _words_of(
    (
        *(words for _, words in WORDINGS),
        TOOL_WORDINGS,
        *(words for _, _, words in CAUSES),
        *(pattern.replace("\\b", " ") for _, _, pattern in (*NAMED_CAUSES, *SAME_WORDINGS)),
        *(words for words, _, _ in SAME_WORDINGS),
        _KINDS,
    )
)
