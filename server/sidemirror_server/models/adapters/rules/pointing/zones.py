"""Finds clock times that the answer gives for a city, and that no recorded instant has there."""

import datetime
import itertools
import re
import zoneinfo
from collections.abc import Iterator
from functools import lru_cache

from sidemirror_server.models.adapters.rules.pointing.facts import CLOCK, clock
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal

_INSTANT = re.compile(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})")
_NAME = re.compile(r"[A-Z][A-Za-zÀ-ÿ]{2,20}")
_REGIONS = ("Europe", "America", "Asia", "Australia", "Africa", "Pacific", "Atlantic", "Indian")
_MOST_NAMES, _MOST_INSTANTS, _MOST_OFF_HOURS = 20, 60, 2
_REASON, _FIX = "It is another hour there.", "Convert the time again."


def zones(reading: Reading) -> Iterator[Point]:
    """Finds a clock time that is not on record, in a sentence that names a city, if a recorded instant has the same
    minute and nearly the same hour there, and none has this one in any city that is named."""
    instants = list(dict.fromkeys(_INSTANT.findall(reading.record.text)))[:_MOST_INSTANTS]
    recorded = {clock(match) for match in CLOCK.finditer(reading.record.text)} if instants else set()
    for sentence in reading.sentences if instants else ():
        unknown = [match for match in CLOCK.finditer(sentence.text) if clock(match) not in recorded]
        here = _named(sentence.text) if unknown else []
        there = [(text, _local(text, zone)) for text in instants for zone in here]
        elsewhere = (
            {_local(text, zone) for text in instants for zone in _named(reading.record.request)} if here else set()
        )
        for match in unknown:
            before = sentence.text[: match.start()]
            if clock(match) in {*elsewhere, *(local for _, local in there)} or is_unreal(before):
                continue
            near = [(text, local) for text, local in there if _is_near(clock(match), local)]
            if near and not is_hedged(sentence, match.start()):
                yield Point("wrong_fact", match[0], _shown(reading, *near[0]), _REASON, _FIX)


def _shown(reading: Reading, instant: str, right: tuple[int, int]) -> str:
    """The record's line with the right time, where it has it; else the instant."""
    text = reading.record.text
    found = next((match for match in CLOCK.finditer(text) if clock(match) == right), None)
    return reading.line_at(found.start()) if found is not None else instant


def _named(text: str) -> list[zoneinfo.ZoneInfo]:
    """The zones of the cities that a text names."""
    words = list(dict.fromkeys(_NAME.findall(text)))[:_MOST_NAMES]
    pairs = ("_".join(pair) for pair in itertools.pairwise(words))
    return [zone for name in (*words, *pairs) if (zone := _zone(name)) is not None]


@lru_cache(maxsize=2_048)
def _zone(city: str) -> zoneinfo.ZoneInfo | None:
    """The zone that a city has given its name; none where the system has no zones. To list them all takes 0.1 s."""
    for region in _REGIONS:
        try:
            return zoneinfo.ZoneInfo(f"{region}/{city}")
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return None


def _local(text: str, zone: zoneinfo.ZoneInfo) -> tuple[int, int]:
    """The hour and minute that an instant has in a zone; midnight of a day that no calendar has."""
    try:
        instant = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(zone)
    except (ValueError, OverflowError):
        return 0, 0
    return instant.hour, instant.minute


def _is_near(said: tuple[int, int], local: tuple[int, int]) -> bool:
    apart = abs(said[0] - local[0])
    return said[1] == local[1] and 0 < min(apart, 24 - apart) <= _MOST_OFF_HOURS
