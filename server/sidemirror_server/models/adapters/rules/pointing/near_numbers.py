"""Finds numbers that differ from a recorded one in one digit."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import distance_at_most_one, numbers

_LEAST_DIGITS = 4
_RECORDED = re.compile(r"(?<![\w.,-])[$€£]?\d[\d,]{0,15}(?:\.\d{1,6})?(?![\d\w])")


def near_numbers(reading: Reading) -> Iterator[Point]:
    """Finds numbers of at least four digits that are not on record and cannot be computed from it, if exactly one
    recorded number differs in one digit, or in two neighbours that are exchanged."""
    recorded = {match[0].lstrip("$€£").replace(",", ""): match[0] for match in _RECORDED.finditer(reading.record.text)}
    for sentence in reading.sentences:
        for number in numbers(sentence.text):
            digits = number.text.lstrip("$€£¥-−").replace(",", "")
            if len(digits.replace(".", "")) < _LEAST_DIGITS or is_hedged(sentence, number.start):
                continue
            if reading.knows(number) or reading.works_out(number):
                continue
            near = [
                text for plain, text in recorded.items() if _alike(digits, plain) and float(plain) not in reading.said
            ]
            if len(near) == 1:
                reason = "The record has a number that differs in one digit."
                yield Point("wrong_fact", number.text, near[0], reason, "Take the number from the record.")


def _alike(one: str, other: str) -> bool:
    return one.find(".") == other.find(".") and len(one) == len(other) and distance_at_most_one(one, other)
