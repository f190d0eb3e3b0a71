"""Finds percentages that the two counts told with them do not come to."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken, numbers
from sidemirror_server.models.adapters.rules.pointing.units import UNITS

_OF = re.compile(r"(?P<a>\d[\d,]{0,9}) (?:out )?of (?:the |its |all |our |your )?(?P<b>\d[\d,]{0,9})\b")
_PERCENT = re.compile(r"(?P<p>\d{1,3}(?:\.\d{1,3})?) ?(?:%|per ?cent\b)", re.IGNORECASE)
# What follows a percentage of something else.
_OTHER = re.compile(
    r" (?:points?|more|less|higher|lower|off|discount|cheaper|dearer|of|up|down|above|below|vat|tax|faster|slower)\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"(?:,? (?:i\.e\.|that is|that['’]s|which is|or|so)|,|\()\s?(?P<p>\d{1,3}(?:\.\d{1,3})?) ?%"
    r"(?= of the time| of (?:them|those|all|runs|cases|it)|[.,);]| overall)"
)
_NEAR_CHARS = 60
_REASON, _FIX = "The two numbers beside it come to another share.", "Work it out again."


def shares(reading: Reading) -> Iterator[Point]:
    """Finds a percentage beside the two counts whose share it is said to be: `157 of 800, 85%`, `failed in 18 of 240
    runs, i.e. 13.3%`."""
    for sentence in reading.sentences:
        found = _after_counts(sentence) or _beside_of(sentence)
        if found is None or is_hedged(sentence, found[0].start("p")):
            continue
        match, one, two = found
        said, places = float(match["p"]), len(match["p"].partition(".")[2])
        if said in reading.record.numbers and not _in_one_line(reading, one, two):
            continue
        made = (100 * one / two, 100 - 100 * one / two, 100 * (two - one) / one)
        if all(abs(value - said) > 10.0**-places for value in made):
            quote = sentence.text[match.start("p") : match.end()]
            yield Point("wrong_fact", quote, reading.quote_of_all([one, two]), _REASON, _FIX)


def _in_one_line(reading: Reading, one: float, two: float) -> bool:
    """Whether two numbers stand in one line of the record, whose share is theirs."""
    lines: dict[tuple[int, int], set[float]] = {}
    for place, (text, figures) in enumerate(reading.record.figures[1:]):
        for figure in figures:
            lines.setdefault((place, text.count("\n", 0, figure.start)), set()).add(figure.value)
    return any({one, two} <= values for values in lines.values())


def _after_counts(sentence: Spoken) -> tuple[re.Match[str], float, float] | None:
    """A percentage that follows the only two counts of its sentence, and these, the lesser first."""
    told = _TOLD.search(sentence.text)
    counts = [one for one in numbers(sentence.text) if not one.places and not one.money and one.unit not in _NO_COUNT]
    if told is None or len(counts) != 2 or counts[1].end >= told.start():
        return None
    one, two = sorted(number.value for number in counts)
    return (told, one, two) if one > 0 else None


def _beside_of(sentence: Spoken) -> tuple[re.Match[str], float, float] | None:
    """A percentage near the only `A of B` of its sentence, and these two."""
    parts = [*_OF.finditer(sentence.text)]
    if len(parts) != 1:
        return None
    (part,) = parts
    said = [one for one in _PERCENT.finditer(sentence.text) if not _OTHER.match(sentence.text, one.end())]
    near = [one for one in said if min(abs(one.end() - part.start()), abs(one.start() - part.end())) < _NEAR_CHARS]
    one, two = (float(part[name].replace(",", "")) for name in ("a", "b"))
    return (near[0], one, two) if len(near) == 1 and 0 < one <= two else None


_NO_COUNT = frozenset({"%", *UNITS})
