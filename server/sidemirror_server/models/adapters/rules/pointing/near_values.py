"""Finds values that are misread: not on record, and but a digit or two from one recorded value that is not told."""

import itertools
import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.facts import Value, aligned, typed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Spoken,
    are_exchanged,
    distance_at_most_one,
    numbers,
)

# Values with fewer digits need words around them that the record has as well; with fewer than two all are near.
_TELLING_DIGITS, _LEAST_DIGITS = 4, 2
# So many values of a sentence that are not on record are looked for there.
_MOST_UNKNOWN = 10
_BEFORE_CHARS, _AFTER_CHARS, _TEXT_CHARS = 60, 40, 20_000
# What is no misreading: what comes next, and what is added up.
_ANOTHER = re.compile(
    r"\b(?:next|new|second|third|another|following|total|together|sum|altogether|combined|later)\b", re.IGNORECASE
)
_REASON, _FIX = "The record has a value that differs in a digit or two.", "Take it from the record."


class _Recorded(msgspec.Struct, frozen=True):
    """A value of the record, with its words and those around it."""

    plain: str
    quote: str
    words: frozenset[str]


def near_values(reading: Reading) -> Iterator[Point]:
    """Finds numbers, days and identifiers of the answer that cannot be had from the record, if exactly one recorded
    value of their kind is near and untold."""
    recorded: dict[str, list[_Recorded]] | None = None
    for sentence in (one for one in reading.sentences if not _ANOTHER.search(one.text)):
        for kind, plain, start, end in itertools.islice(_unknown(reading, sentence), _MOST_UNKNOWN):
            recorded = _recorded(reading) if recorded is None else recorded
            near = [one for one in recorded.get(kind, ()) if _is_near(kind, plain, one.plain)]
            if _digits(plain) < _TELLING_DIGITS or kind == "day":
                around = _words(sentence.text, start, end)
                near = [one for one in near if len(one.words & around) >= (2 if kind == "number" else 1)]
            if kind == "day":
                counts = {figure.value for _, figures in reading.record.figures for figure in figures}
                near = [one for one in near if _apart(plain, one.plain) not in counts]
            if len({one.plain for one in near}) == 1:
                yield Point("wrong_fact", sentence.text[start:end], near[0].quote, _REASON, _FIX)


def _unknown(reading: Reading, sentence: Spoken) -> Iterator[tuple[str, str, int, int]]:
    """The values of a sentence that the record does not have, and does not come to: kind, plain form, place."""
    figures = {number.start: number for number in numbers(sentence.text)}
    for value, _, start, end in typed(sentence.text):
        kind, plain = value[0], _plain(value)
        if is_hedged(sentence, start) or kind not in {"number", "day", "id"}:
            continue
        if kind == "number":
            number = figures[start]
            if _digits(plain) >= _LEAST_DIGITS and not reading.can_be(number):
                yield kind, plain, start, end
        elif kind == "day":
            if value not in reading.record_values and not is_unreal(sentence.text):
                yield kind, plain, start, end
        elif plain not in reading.record.folded and _digits(plain) >= _LEAST_DIGITS:
            yield kind, plain, start, end


def _recorded(reading: Reading) -> dict[str, list[_Recorded]]:
    """The values of the record that the answer does not tell, by kind."""
    found: dict[str, list[_Recorded]] = {}
    for whole in (reading.record.request, *(call.text for call in reading.record.calls)):
        text = whole[:_TEXT_CHARS]
        for value, _, start, end in typed(text):
            if value not in reading.values:
                words = _words(text, start, end)
                found.setdefault(value[0], []).append(_Recorded(_plain(value), text[start:end], words))
    return found


def _apart(one: str, other: str) -> float:
    """By how many days of a month two days differ: one may be so much later as the record says."""
    return abs(float(one.partition("-")[2]) - float(other.partition("-")[2]))


def _words(text: str, start: int, end: int) -> frozenset[str]:
    """The words of a line around a place of it."""
    before = text[max(0, start - _BEFORE_CHARS) : start].rpartition("\n")[2]
    after = text[end : end + _AFTER_CHARS].partition("\n")[0]
    return aligned(f"{before} {after}") - {"utc"}


def _plain(value: Value) -> str:
    return f"{value[1]:.10g}" if isinstance(value[1], float) else value[1]


def _digits(plain: str) -> int:
    return sum(letter.isdigit() for letter in plain)


def _is_near(kind: str, one: str, other: str) -> bool:
    """Whether a digit or letter is another one, or two are exchanged; of a day also its day and month."""
    if kind == "day":
        (month, day), (other_month, other_day) = one.split("-"), other.split("-")
        swapped = (month, day) == (other_day, other_month)
        # The next day, or the one before, may be the same in another zone.
        apart = month == other_month and abs(int(day) - int(other_day)) > 1
        return swapped or (apart and distance_at_most_one(day.zfill(2), other_day.zfill(2)))
    if len(one) != len(other) or one.find(".") != other.find("."):
        return False
    if kind == "number" and abs(float(one) - float(other)) == 1:
        return False  # the next one, or one that is added up
    return distance_at_most_one(one, other) or are_exchanged(one, other)
