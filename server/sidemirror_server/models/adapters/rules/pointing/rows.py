"""Finds numbers that the answer gives for a row of the record, where the row has another number.

A row is a line of a text, a row of a table or an object of JSON. It is found by the words that it shares with a clause
of the answer: a word that few rows have counts more.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Item, PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Figure,
    Spoken,
    name_words,
    numbers,
    same,
    tokens_of,
    word_set,
)

_CLAUSE = re.compile(r"[,;:()](?!\d)|\s[-–—]\s|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
_MOST_ROWS = 400
# The least that the words of a row must weigh, and how much more than those of any other row. Chosen here.
_LEAST, _MARGIN = 1.0, 1.3
_FIX = "Take it from this row of the record."
_KINDS = word_set("% gb mb kb tb ms s sec min h km m kg g l mbps kwh mi ft lbs °c °f")


class Value(msgspec.Struct, frozen=True):
    """A number of a row. `kind`: its unit, or money; empty for none. `words`: of its key."""

    value: float
    kind: str
    quote: str
    words: frozenset[str] = frozenset()


class DataRow(msgspec.Struct, frozen=True):
    """The words and the numbers of one row."""

    words: frozenset[str]
    values: tuple[Value, ...]


def rows(reading: Reading) -> Iterator[Point]:
    """Finds numbers that stand nowhere on record, in a sentence about one row. The row has one number of that kind,
    which the answer does not give."""
    if not any(map(str.isdigit, reading.answer)):
        return
    known = [row for call in reading.record.worked for row in rows_of(call)][:_MOST_ROWS]
    weights = _weights(known)
    for sentence in reading.sentences if known else ():
        if is_unreal(sentence.text):
            continue
        for number in numbers(sentence.text):
            if is_hedged(sentence, number.start):
                continue
            if reading.knows(number):
                value = _instead(reading, sentence, number, known, weights)
            elif reading.works_out(number):
                continue
            else:
                value = _meant(reading, sentence, number, known, weights)
            if value is not None:
                yield Point(
                    "wrong_fact",
                    _words_around(sentence, number),
                    value.quote,
                    "The record has another value here.",
                    _FIX,
                )


def _meant(
    reading: Reading,
    sentence: Spoken,
    number: Figure,
    known: Sequence[DataRow],
    weights: dict[str, float],
) -> Value | None:
    clause = _clause(sentence, number)
    for text in (clause, sentence.text):
        said = tokens_of(text)
        row = _best(known, said, weights)
        if row is None:
            continue
        kind = _kind(number)
        fits = [
            value for value in row.values if value.kind == kind or ((not kind or not value.kind) and not value.words)
        ]
        named = [value for value in fits if value.words & said] or [value for value in fits if not value.words]
        if not named and any(one.value == value.value for value in fits for one in numbers(clause, spelled=True)):
            named = fits
        named = [value for value in named if not any(same(value.value, one) for one in reading.said)]
        if len({value.value for value in named}) == 1 and len(fits) <= 3 and _is_like(number, named[0]):
            return named[0]
    return None


def _instead(
    reading: Reading,
    sentence: Spoken,
    number: Figure,
    known: Sequence[DataRow],
    weights: dict[str, float],
) -> Value | None:
    """The value of the row that the sentence is about, if the number belongs to another row of that kind."""
    kind = _kind(number)
    if (not kind and not number.places) or number.value in reading.requested:
        return None
    theirs = [row for row in known if any(same(value.value, number.value) for value in row.values)]
    said = sentence.words
    row = _best([row for row in known if any(value.kind == kind for value in row.values)], said, weights)
    if row is None or row in theirs or not theirs or len(row.words & said) < 2:
        return None
    mine = sum(weights[word] for word in row.words & said)
    if any(2 * sum(weights[word] for word in other.words & said) > mine for other in theirs):
        return None
    fits = [value for value in row.values if value.kind == kind and not value.words]
    if (
        len(fits) != 1
        or len(list(numbers(sentence.text))) != 1
        or any(same(fits[0].value, one) for one in reading.said)
    ):
        return None
    return fits[0]


def _best(known: Sequence[DataRow], said: frozenset[str], weights: dict[str, float]) -> DataRow | None:
    """The row that shares the most with these words; None if another shares nearly as much."""
    scores = sorted(
        ((sum(weights[word] for word in row.words & said), place) for place, row in enumerate(known)), reverse=True
    )
    if not scores or scores[0][0] < _LEAST:
        return None
    if len(scores) > 1 and scores[1][0] * _MARGIN > scores[0][0]:
        return None
    return known[scores[0][1]]


def rows_of(call: PastCall) -> Iterator[DataRow]:
    """The rows of a result."""
    if call.items and call.is_json:
        for item in call.items:
            yield _row_of(item)
        return
    lines = call.text.splitlines()
    head = lines[0] if lines else ""
    separated = 0 if ", " in head or any(map(str.isdigit, head)) else head.count(",")
    for line in lines:
        if 3 < len(line) <= 300:
            text = line.replace(",", " ; ") if separated and line.count(",") == separated else line
            values = [Value(one.value, _kind(one), line.strip()) for one in numbers(text)]
            yield DataRow(tokens_of(line), tuple(values))


def _row_of(item: Item) -> DataRow:
    words: set[str] = set()
    values = []
    for field in item.fields:
        if isinstance(field.value, float):
            kind = "%" if {"percent", "pct", "percentag"} & set(field.name) else ""
            values.append(Value(field.value, kind, field.quote, frozenset(field.name)))
        elif isinstance(field.value, str) and len(field.value) <= 80:
            words |= tokens_of(field.value.replace("_", " ")) | tokens_of(field.value)
            found = list(numbers(field.value))
            if len(found) == 1 and len(field.value) < 30:
                values.append(Value(found[0].value, _kind(found[0]), field.quote, frozenset(field.name)))
    words |= {word for key in item.path[-1:] for word in name_words(key)}
    if item.parent is not None:
        words |= {
            word for field in item.parent.fields if isinstance(field.value, str) for word in tokens_of(field.value[:80])
        }
    return DataRow(frozenset(words), tuple(values))


def _weights(known: Sequence[DataRow]) -> dict[str, float]:
    have = Counter(word for row in known for word in row.words)
    return {word: math.log(1 + len(known) / count) for word, count in have.items()}


def _kind(number: Figure) -> str:
    if number.money:
        return "money"
    return number.unit if number.unit in _KINDS else ""


def _is_like(number: Figure, value: Value) -> bool:
    """Whether one number may be a mistake for the other: they are within a factor of ten, or both are small counts."""
    one, two = abs(number.value), abs(value.value)
    if max(one, two) < 20 and one == int(one) and two == int(two):
        return True
    return min(one, two) > 0 and max(one, two) / min(one, two) < 10


def _clause(sentence: Spoken, number: Figure) -> str:
    ends = [0, *(match.start() for match in _CLAUSE.finditer(sentence.text)), len(sentence.text)]
    begin = max(end for end in ends if end <= number.start)
    return sentence.text[begin : min(end for end in ends if end >= number.end)]


def _words_around(sentence: Spoken, number: Figure) -> str:
    end = sentence.text.find(" ", number.end + 1)
    return sentence.text[number.start : end if end >= 0 else len(sentence.text)].rstrip(" .,;:)")
