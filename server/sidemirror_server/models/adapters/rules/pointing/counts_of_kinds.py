"""How many are of one kind, against how many the record lists."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Item
from sidemirror_server.models.adapters.rules.pointing.texts import (
    name_words,
    numbers,
    words_of,
)

BLOCK_CHARS = 600
_FOLLOWS = re.compile(r"(?: [A-Za-z]{2,15}){1,6}")
_BETWEEN = frozenset(words_of("them those these which still are is were was currently now remain total"))
_NAMED = re.compile(
    r"\b(?:sizes?|versions?|lines?|steps?|numbers?|no\.?|pages?|items?|rows?|terminal|gate|room|zone|step) $",
    re.IGNORECASE,
)
_FIX = "Count again what the record lists."


def counts_of_kinds(reading: Reading) -> Iterator[Point]:
    """How many of some things are `unread`, `failed` or another value of a field, against how many the record lists."""
    groups = list(kinds_of(reading.record.items))
    for sentence in reading.sentences if groups else ():
        if is_unreal(sentence.text):
            continue
        for number in numbers(sentence.text, spelled=True):
            if (
                number.money
                or number.places
                or is_hedged(sentence, number.start)
                or number.unit == "%"
                or _NAMED.search(sentence.text[: number.start])
            ):
                continue
            follows = _FOLLOWS.match(sentence.text, number.end)
            words = words_of(follows[0]) if follows else []
            fits = [
                (have, quote)
                for kind, things, have, quote in groups
                if kind in words and all(word in things or word in _BETWEEN for word in words[: words.index(kind)])
            ]
            if number.value in reading.quantities:
                continue
            if len(fits) == 1 and fits[0][0] != number.value and fits[0][0] not in reading.said:
                quote = sentence.text[number.start : follows.end() if follows else number.end]
                yield Point("wrong_fact", quote, fits[0][1], f"The record lists {fits[0][0]:g}.", _FIX)


def kinds_of(items: list[Item]) -> Iterator[tuple[str, frozenset[str], float, str]]:
    """For each value of a field of several items: its stem, the words for these items, how many have it, and a row."""
    groups: dict[tuple[int, tuple[str, ...]], list[Item]] = {}
    for item in items:
        groups.setdefault((item.call.place, item.place), []).append(item)
    for (_, place), group in groups.items():
        if not 2 <= len(group) <= 200:
            continue
        things = frozenset(word for key in place for word in name_words(key)) | group[0].call.words
        for field in group[0].fields:
            values = [item.value(field.key) for item in group]
            if all(isinstance(value, bool) for value in values) and field.name:
                have = [item.quote(field.key) for item, value in zip(group, values, strict=True) if value is True]
                yield field.name[-1], things, float(len(have)), block_of(group, field.key)
            elif all(isinstance(value, str) and len(value) <= 20 for value in values) and 2 <= len(set(values)) <= 8:
                for value in set(values):
                    if len(words_of(str(value).replace("_", " "))) == 1:
                        many = float(values.count(value))
                        yield words_of(str(value))[0], things, many, block_of(group, field.key)


def block_of(group: list[Item], key: str) -> str:
    """The part of the record that has these items."""
    text = group[0].call.text
    begin, last = text.find(group[0].quote(key)), text.rfind(group[-1].quote(key))
    return text[max(0, begin) : last + len(group[-1].quote(key))][:BLOCK_CHARS]
