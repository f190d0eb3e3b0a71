"""Finds results that the answer's own numbers miss by one digit."""

import itertools
import re
from collections.abc import Iterator, Sequence

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import Figure, distance_at_most_one, numbers, same

_FIX = "Work it out again."
_RESULT = re.compile(
    r"\b(?:total\w{0,4}|altogether|in all|sum|makes?|comes? to|adds? up|together|leaves?|left|remain\w{0,4}|back|"
    r"combined|"
    r"overall|therefore|owe|due|so you|that is|difference|saving)\b",
    re.IGNORECASE,
)
_SENTENCES, _PARTS, _SUMMANDS, _MOST_RESULTS = 4, 10, 8, 30
# Fewer digits come near by chance; without a sign of money so many do.
_LEAST_DIGITS = 3


def derived(reading: Reading) -> Iterator[Point]:
    """Finds results that are not on record. A sum, a difference or a multiple of the numbers around them differs in one
    digit, and none is the same."""
    windows: list[list[Figure]] = []
    tried = 0
    for sentence in reading.sentences:
        found = [one for one in numbers(sentence.text, spelled=True) if one.unit != "%"]
        for result in found if _RESULT.search(sentence.text) else ():
            digits = f"{abs(result.value):.{result.places}f}"
            count = len(digits.replace(".", ""))
            if result.spelled or count < _LEAST_DIGITS + (not result.money) or is_hedged(sentence, result.start):
                continue
            tried += 1
            if tried > _MOST_RESULTS:
                return
            parts = [*itertools.chain(*windows[-_SENTENCES:]), *(one for one in found if one is not result)][-_PARTS:]
            if (
                reading.knows(result)
                or result.value in reading.requested
                or any(one.value == result.value for one in parts)
            ):
                continue
            if count == _LEAST_DIGITS and reading.works_out(result):
                continue
            worked = _worked(result, parts)
            if any(same(value, result.value, result.places) for value in worked):
                continue
            near = [value for value in worked if distance_at_most_one(f"{value:.{result.places}f}", digits)]
            if near:
                reason = f"The numbers beside it come to {near[0]:.{result.places}f}."
                against = reading.quote_of_all((*worked[near[0]], *(one.value for one in reversed(parts))))
                yield Point("wrong_fact", sentence.text[result.start : result.end], against, reason, _FIX)
                return
        windows.append(found)


def _worked(result: Figure, parts: Sequence[Figure]) -> dict[float, tuple[float, ...]]:
    """What the numbers come to, each with those it is made of."""
    like = [one.value for one in parts if one.money == result.money and (one.unit in {result.unit, ""} or one.money)]
    like = [one for one in like if one > 0][-_SUMMANDS:]
    counts = [one.value for one in parts if not one.money and one.value == int(one.value) and 1 < one.value <= 40]
    found: dict[float, tuple[float, ...]] = {}
    for size in range(1, len(like) + 1):
        for group in itertools.combinations(like, size):
            found.setdefault(round(sum(group), 4), group)
            rest = round(2 * max(group) - sum(group), 4)
            if size > 1 and rest > 0:
                found.setdefault(rest, group)
            if size <= 2:
                for count in counts:
                    found.setdefault(round(count * sum(group), 4), (*group, count))
    return found
