"""Finds numbers and days that stand nowhere on record, where the record has one that was meant."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.facts import Cell, Row, aligned, marks, typed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.swapped import UNREAL, clause_of
from sidemirror_server.models.adapters.rules.pointing.texts import Figure, Spoken, distance_at_most_one, numbers

_FIX = "Take it from the record."
# By these a recorded number may be multiplied before it is told.
_SCALES = (1.0, 0.01, 1e-3, 1e-6, 1e3, 1 / 1024)
# From so many digits on a number that differs in one digit is the one that was meant; from so many beside its words.
_DIGITS, _DIGITS_BESIDE = 4, 3
# What the words of the meant row must weigh, and which part of it those of any other may.
_LEAST, _OTHERS = 1.0, 0.7
# How far the number of the row may lie from the one that is said.
_RATIO = 2.0
_SUMMED = re.compile(
    r"\b(?:total\w{0,4}|altogether|in all|overall|together|for the year|average\w{0,3}|mean|sum|combined|"
    r"net\w{0,3}|across|"
    r"difference|more|less|fewer|left|remain\w{0,3}|save\w{0,2}|per)\b",
    re.IGNORECASE,
)


def misread(reading: Reading) -> Iterator[Point]:
    """Finds numbers that are not on record and cannot be computed from it. One recorded number, which the answer does
    not give, differs from it in one digit or stands in the row that the sentence is about."""
    if not reading.facts.rows:
        return
    for sentence in reading.sentences:
        if UNREAL.search(sentence.text):
            continue
        for number in numbers(sentence.text):
            if is_hedged(sentence, number.start) or number.value in reading.requested or reading.knows(number):
                continue
            cell = _alike(reading, sentence, number) or _of_row(reading, sentence, number)
            if cell is not None and not reading.works_out(number):
                begin, end = clause_of(sentence.text, number.start, number.end)
                quote = sentence.text[begin:end].strip(" ,;:()")
                yield Point("wrong_fact", quote, cell.quote, "The record has another number.", _FIX)
                return


def _alike(reading: Reading, sentence: Spoken, number: Figure) -> Cell | None:
    digits = f"{abs(number.value):.{number.places}f}"
    count = len(digits.replace(".", ""))
    if count < _DIGITS_BESIDE:
        return None
    said = aligned(sentence.text) - marks((("number", number.value),))
    found: dict[float, Cell] = {}
    for row in reading.facts.rows:
        for cell in row.cells:
            for kind, value in cell.values:
                if kind != "number" or not isinstance(value, float) or ("number", value) in reading.given:
                    continue
                for scale in _SCALES:
                    other = f"{value * scale:.{number.places}f}"
                    alike = len(other) == len(digits) and other != digits and distance_at_most_one(digits, other)
                    sure = count >= _DIGITS or sorted(digits) == sorted(other) or (row.words | cell.name) & said
                    if alike and sure:
                        found[value] = cell
    told = [value for value in found if any(_shown(value, one) for one in reading.said - {number.value})]
    return next(iter(found.values())) if len(found) == 1 and not told else None


def _shown(value: float, said: float) -> bool:
    return any(abs(value * scale - said) <= 0.006 * max(said, 1e-9) for scale in _SCALES)


def _of_row(reading: Reading, sentence: Spoken, number: Figure) -> Cell | None:
    begin, end = clause_of(sentence.text, number.start, number.end)
    if _SUMMED.search(sentence.text):
        return None
    kind = next((kind for _, kind, start, _ in typed(sentence.text) if start == number.start), "number")
    mine = marks((("number", number.value),))
    for text in (sentence.text[begin:end], sentence.text):
        said = aligned(text) - mine
        best: list[tuple[float, int, Row]] = []
        for place, row in enumerate(reading.facts.rows):
            group = reading.facts.groups[row.group]
            weight = group.weigh(row, said) if len(group.rows) > 1 else 0.0
            if weight >= _LEAST:
                best.append((weight, place, row))
        best.sort(key=lambda one: -one[0])
        if not best or (len(best) > 1 and best[1][0] > _OTHERS * best[0][0]):
            continue
        cells = [
            (cell, value)
            for cell in best[0][2].cells
            for one, value in cell.values
            if one == "number" and isinstance(value, float) and not cell.inherited
        ]
        same_kind = [
            (cell, value)
            for cell, value in cells
            if cell.name & said or (not cell.name and cell.key.startswith(f"{kind}/") and kind != "number")
        ] or ([pair for pair in cells if pair[0].name] if kind == "number" else [])
        unused = [
            (cell, value)
            for cell, value in same_kind
            if not any(_shown(value, one) for one in reading.said - {number.value})
        ]
        if len(unused) == 1 and 1 / _RATIO < abs(number.value) / (unused[0][1] or 1e-9) < _RATIO:
            return unused[0][0]
    return None
