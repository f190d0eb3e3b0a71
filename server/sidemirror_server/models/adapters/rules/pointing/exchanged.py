"""Finds numbers that are on record with two of their digits in the other order, whatever their magnitude."""

import itertools
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import Figure, Spoken, numbers

# With fewer digits two numbers are near by chance; an amount with no more may be the sum or product of others.
_LEAST_DIGITS, _TELLING_DIGITS = 3, 4
# So many values of a sentence that are not on record are looked for there.
_MOST_UNKNOWN = 10
# One is told in the unit of the other, or in another magnitude of it.
_MAGNITUDES = (1, 1e3, 1e-3, 1e6, 1e-6, 0.01)
_REASON, _FIX = "The record has two of these digits in the other order.", "Take it from the record."


def exchanged(reading: Reading) -> Iterator[Point]:
    """Finds numbers that are nowhere on record, beside the only recorded one of that size which is not told and has two
    digits exchanged."""
    rounded: dict[int, dict[str, list[Figure]]] = {}
    for sentence in reading.sentences:
        for number in itertools.islice(_unknown(reading, sentence), _MOST_UNKNOWN):
            digits = _digits(number)
            if len(digits) not in rounded:
                rounded[len(digits)] = _by_digits(reading, len(digits))
            told = {_rounded(one, len(digits)) for one in reading.said}
            near = [
                figure
                for plain in map("".join, _exchanges(digits))
                for figure in rounded[len(digits)].get(plain, ())[:1]
                if plain not in told and _is_of_like_size(number.value, figure.value)
            ]
            if len(near) == 1:
                quote = sentence.text[number.start : number.end]
                yield Point("wrong_fact", quote, reading.quote_of(near[0].value) or near[0].text, _REASON, _FIX)


def _unknown(reading: Reading, sentence: Spoken) -> Iterator[Figure]:
    """The numbers of a sentence that the record does not have, and does not come to."""
    for number in numbers(sentence.text):
        digits = _digits(number)
        if len(digits) < _LEAST_DIGITS or is_hedged(sentence, number.start) or reading.knows(number):
            continue
        if len(digits) > _TELLING_DIGITS or ((number.money or number.places) and not reading.works_out(number)):
            yield number


def _by_digits(reading: Reading, count: int) -> dict[str, list[Figure]]:
    """The numbers of the record by their first digits."""
    found: dict[str, list[Figure]] = {}
    for _, figures in reading.record.figures[1:]:
        for figure in figures:
            found.setdefault(_rounded(figure.value, count), []).append(figure)
    return found


def _exchanges(digits: str) -> Iterator[list[str]]:
    """The same digits with two of them exchanged."""
    for one, other in itertools.combinations(range(len(digits)), 2):
        if digits[one] != digits[other]:
            letters = list(digits)
            letters[one], letters[other] = letters[other], letters[one]
            yield letters


def _digits(number: Figure) -> str:
    digits = "".join(letter for letter in number.text if letter.isdigit()).lstrip("0")
    return digits if number.value % 1 else digits.rstrip("0")


def _rounded(value: float, count: int) -> str:
    """The first digits of a number."""
    return f"{abs(value):.{count - 1}e}".partition("e")[0].replace(".", "")


def _is_of_like_size(one: float, other: float) -> bool:
    return any(0.5 < abs(one / (other * by or 1)) < 2 for by in _MAGNITUDES)
