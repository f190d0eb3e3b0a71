"""A percentage that no two numbers have to each other."""

from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Number,
    numbers,
    same,
    sentences,
)

_FIX = "Work it out again."
_MOST_KNOWN = 60


def shares(reading: Reading) -> Iterator[Point]:
    """A percentage that no two numbers of the answer and the record have to each other, beside two such numbers."""
    near: list[Number] = []
    for sentence in sentences(reading.answer):
        found = list(numbers(sentence.text))
        for number in found:
            if (
                number.unit not in {"%", "percent"}
                or number.value in reading.record.numbers
                or is_hedged(sentence, number.start)
            ):
                continue
            known = {one.value for one in (*near, *found) if one.unit not in {"%", "percent"} and one.value > 0}
            if len(known) < 2 or is_unreal(sentence.text):
                continue
            every = known | {value for value in reading.quantities if 0 < value < 1e12}
            if len(every) > _MOST_KNOWN or any(_is_share(number, one, two) for one in every for two in every):
                continue
            against = next((quote for value in sorted(known) if (quote := reading.quote_of(value))), "")
            yield Point(
                "wrong_fact", sentence.text[number.start : number.end], against, "No two numbers have this share.", _FIX
            )
        near = (near + found)[-6:]


def _is_share(number: Number, one: float, two: float) -> bool:
    places = number.places
    return any(same(100 * share, number.value, places) or abs(100 * share - number.value) < 10.0**-places for share in
               (one / two, abs(one - two) / two, 1 - one / two))  # fmt: skip
