"""Finds the one value of a sentence that belongs to another row of the record than everything else in it.

The espresso machine told in the order that has the grinder; the rate of the account in the line below.
"""

import re
from collections.abc import Iterator, Sequence

from sidemirror_server.models.adapters.rules.pointing.facts import (
    DIGITS,
    Cell,
    FactRow,
    RowGroup,
    Value,
    aligned,
    marks,
    typed,
)
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import ARGUMENT_CHARS
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken

# What sets several rows beside each other.
_COMPARES = re.compile(
    r"\b(?:than|instead|unlike|compared|versus|vs|against|other|others|rather|while|whereas|except|but|both|"
    r"respectively|either|or|suggest|propose|recommend|new|move\w{0,2}|on the \d{1,2}(?:st|nd|rd|th)|"
    r"from\b[^.;]{2,60}\bto)\b",
    re.IGNORECASE,
)
# A range speaks of several rows, and a quantity that is written in one word is no thing.
_RANGE = re.compile(r"(?:\b(?:to|until|till|through)|[–-]) ?$", re.IGNORECASE)
_QUANTITY = re.compile(r"\d{1,6}-?[a-z]{1,4}")
_MOST_TIMES = 366
_REASON, _FIX = "What stands beside it on record has another.", "Take it from the row that is meant."


def rows(reading: Reading) -> Iterator[Point]:
    """Finds a value that no row which the sentence speaks of has, where they all have the same other one that the
    answer does not tell."""
    given = reading.asked | frozenset(_written(reading))
    for sentence in reading.sentences:
        if _COMPARES.search(sentence.text) or is_unreal(sentence.text):
            continue
        for group in reading.facts.groups:
            point = _odd_one(reading, sentence, group, given)
            if point is not None:
                yield point
                break


def _written(reading: Reading) -> Iterator[Value]:
    """What the agent gave to calls."""
    for call in reading.record.calls:
        if call.arguments:
            yield from (value for value, *_ in typed(call.arguments[:ARGUMENT_CHARS]))


def _odd_one(reading: Reading, sentence: Spoken, group: RowGroup, given: frozenset[Value]) -> Point | None:
    said = _values(sentence.text, group)
    if any(_RANGE.search(sentence.text[:start]) for _, start, _ in said):
        return None
    for value, start, end in said:
        if value in given:
            continue
        rest = sentence.text[:start] + " " + sentence.text[end:]
        meant = group.meant(aligned(rest) - marks([value]), by_a_word=value[0] != "text")
        others = [one for one, *_ in said if one != value and not any(one in row.values for row in meant)]
        if not meant or others or any(value in row.values for row in meant):
            continue
        cell = _replaced(group, meant, value)
        if cell is not None and not _is_told(reading, cell, value[0]) and not _is_multiple(reading, value, cell):
            return Point("wrong_fact", sentence.text[start:end], cell.quote, _REASON, _FIX)
    return None


def _values(text: str, group: RowGroup) -> list[tuple[Value, int, int]]:
    """The values of a text that the group has, and where they stand. A number of one digit is everywhere."""
    found = [(value, start, end) for value, _, start, end in typed(text) if value in group.values]
    found = [one for one in found if one[0][1] not in DIGITS and not _QUANTITY.fullmatch(str(one[0][1]))]
    for name, value in group.names:
        if (at := text.find(name)) >= 0:
            found.append((value, at, at + len(name)))
    return found


def _replaced(group: RowGroup, meant: Sequence[FactRow], value: Value) -> Cell | None:
    """The cell in the column of a value that all rows which are meant share."""
    keys = {cell.key for row in group.rows for cell in row.cells if value in cell.values}
    cells = [cell for row in meant for cell in row.cells if cell.key in keys]
    if len(keys) != 1 or len(cells) < len(meant) or len({cell.values for cell in cells}) != 1:
        return None
    return cells[0] if cells[0].values else None


def _is_told(reading: Reading, cell: Cell, kind: str) -> bool:
    """Whether the answer has a value of the cell of that kind."""
    values = [value for value in cell.values if value[0] == kind] or cell.values
    whole = kind not in {"time", "number"}
    return any(value in reading.values or (whole and str(value[1]).casefold() in reading.folded) for value in values)


def _is_multiple(reading: Reading, value: Value, cell: Cell) -> bool:
    """Whether a number is several times that of the row, as often as a number on record or in the answer says."""
    if not isinstance(value[1], float):
        return False
    own = (number for kind, number in cell.values if kind == "number" and isinstance(number, float) and number)
    times = (round(value[1] / number, 6) for number in own)
    return any(1 < by <= _MOST_TIMES and (by in reading.record.numbers or by in reading.said) for by in times)
