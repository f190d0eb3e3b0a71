"""Finds durations that are not those between the two times told with them, or between two moments on record."""

import itertools
import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken

_HOURS = re.compile(
    r"\b(?P<h>\d{1,3}) ?(?:h|hours?)(?:,? and |,? )(?:a )?(?P<m>\d{1,2}) ?(?:m|min|mins|minutes?)\b"
    r"|\b(?P<m2>\d{1,3}) ?(?:min|minutes?)(?:,? and |,? )(?P<s>\d{1,2}) ?(?:s|sec|seconds?)\b",
    re.IGNORECASE,
)
_MINUTES = re.compile(r"\b(?P<n>\d{1,4}) ?(?P<unit>minutes|min|hours|h)\b", re.IGNORECASE)
_CLOCK = re.compile(r"(?<![\d:.])(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?")
_FROM = re.compile(r"\b(?:from|between)\b[^.;]{0,30}$", re.IGNORECASE)
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
# Of so many moments each is compared with each other one; those further apart are not. In seconds.
_MOST_MOMENTS, _MOST_APART = 60, 400 * _HOUR
# A slip in the greater unit is no greater.
_MOST_OFF = 12
_FIX = "Take it from the record."


def durations(reading: Reading) -> Iterator[Point]:
    """Finds a duration of two parts that is off in the greater one alone, and minutes beside two times of a day that
    lie further or less far apart."""
    for sentence in reading.sentences:
        yield from _of_two_parts(reading, sentence)
        yield from _between(reading, sentence)


def _of_two_parts(reading: Reading, sentence: Spoken) -> Iterator[Point]:
    for match in _HOURS.finditer(sentence.text):
        if is_hedged(sentence, match.start()) or match[0].casefold() in reading.record.folded:
            continue
        step, least = (_HOUR, _MINUTE) if match["h"] else (_MINUTE, 1)
        said = int(match["h"] or match["m2"]) * step + int(match["m"] or match["s"]) * least
        spans = list(_spans(reading, sentence, least))
        off = [abs(span - said) for span, _ in spans]
        if min(off, default=0) < least:
            continue
        near = {span: quote for (span, quote), by in zip(spans, off, strict=True) if not by % step}
        near = {span: quote for span, quote in near.items() if abs(span - said) <= _MOST_OFF * step}
        if len(near) == 1:
            reason = "Between the two moments lies another time."
            yield Point("wrong_fact", match[0], next(iter(near.values())), reason, _FIX)


def _between(reading: Reading, sentence: Spoken) -> Iterator[Point]:
    """`down from 21:48 to 22:31, so for 83 minutes`."""
    clocks = [*_CLOCK.finditer(sentence.text)]
    told = [one for one in _MINUTES.finditer(sentence.text) if not is_hedged(sentence, one.start())]
    if len(clocks) != 2 or len(told) != 1 or not _FROM.search(sentence.text[: clocks[0].start()]):
        return
    if days(sentence.text[clocks[0].end() : clocks[1].start()]) or told[0].start() < clocks[1].end():
        return
    gap = _gap(*clocks) // _MINUTE
    in_hours = told[0]["unit"].casefold().startswith("h")
    said = int(told[0]["n"]) * (60 if in_hours else 1)
    if not gap or abs(gap - said) <= 1 or gap in reading.said or (in_hours and said == gap // 60 * 60):
        return
    reason = f"From {clocks[0][0]} to {clocks[1][0]} it is {gap} minutes."
    yield Point("wrong_fact", told[0][0], reading.line_of(clocks[0][0]), reason, _FIX)


def _spans(reading: Reading, sentence: Spoken, least: int) -> Iterator[tuple[int, str]]:
    """The times between recorded moments, and between the two times of the sentence, in seconds and in full units;
    each with the words of the record."""
    zoned = [one for one in reading.moments if one.offset is not None][:_MOST_MOMENTS]
    for one, other in itertools.combinations(zoned, 2):
        gap = int(abs((one.utc - other.utc).total_seconds()))
        if 0 < gap < _MOST_APART:
            yield gap - gap % least, one.text
    clocks = [*_CLOCK.finditer(sentence.text)]
    if len(clocks) == 2:
        yield _gap(*clocks), reading.line_of(clocks[0][0])


def _gap(one: re.Match[str], other: re.Match[str]) -> int:
    """The seconds from one time of a day to another, the next day's if it is earlier."""
    first, second = (int(at["h"]) * _HOUR + int(at["m"]) * _MINUTE + int(at["s"] or 0) for at in (one, other))
    return (second - first) % _DAY
