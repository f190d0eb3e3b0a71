"""Finds numbers that are on record with two of their digits in the other order, whatever their magnitude."""

from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import Figure, are_exchanged, numbers

# With fewer digits two numbers are near by chance; an amount with no more may be the sum or product of others.
_LEAST_DIGITS, _TELLING_DIGITS = 3, 4
# One is told in the unit of the other, or in another magnitude of it.
_MAGNITUDES = (1, 1e3, 1e-3, 1e6, 1e-6, 0.01)
_REASON, _FIX = "The record has two of these digits in the other order.", "Take it from the record."


def exchanged(reading: Reading) -> Iterator[Point]:
    """Finds numbers that are nowhere on record, beside the only recorded one of that size which is not told and has two
    digits exchanged."""
    for sentence in reading.sentences:
        for number in numbers(sentence.text):
            digits = _digits(number)
            if len(digits) < _LEAST_DIGITS or is_hedged(sentence, number.start) or reading.knows(number):
                continue
            if number.money and len(digits) <= _TELLING_DIGITS and reading.works_out(number):
                continue
            told = {_rounded(one, len(digits)) for one in reading.said}
            near = {
                plain: other
                for _, figures in reading.record.figures[1:]
                for other in figures
                if (plain := _rounded(other.value, len(digits))) not in told
                and are_exchanged(plain, digits)
                and _is_of_like_size(number.value, other.value)
            }
            if len(near) == 1:
                (other,) = near.values()
                quote = sentence.text[number.start : number.end]
                yield Point("wrong_fact", quote, reading.quote_of(other.value) or other.text, _REASON, _FIX)


def _digits(number: Figure) -> str:
    digits = "".join(letter for letter in number.text if letter.isdigit()).lstrip("0")
    return digits if number.places else digits.rstrip("0")


def _rounded(value: float, count: int) -> str:
    """The first digits of a number."""
    return f"{abs(value):.{count - 1}e}".partition("e")[0].replace(".", "")


def _is_of_like_size(one: float, other: float) -> bool:
    return any(0.5 < abs(one / (other * by or 1)) < 2 for by in _MAGNITUDES)
