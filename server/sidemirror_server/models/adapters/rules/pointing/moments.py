"""Finds days and times of the answer that the record's moments contradict.

A time that the record has on another day; a time that a named zone does not make of any recorded moment.
"""

import datetime
import re
import zoneinfo
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from sidemirror_server.models.adapters.rules.pointing.days import Day, days
from sidemirror_server.models.adapters.rules.pointing.facts import CLOCK, clock
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken

# Between a day and a time that belong together, and between a time and its day.
_DAY_TIME = re.compile(r"^,? ?(?:at|by|from|until|till|,|\(|@)? ?(?:about )?$|^ (?:\d{4} )?at $", re.IGNORECASE)
_TIME_DAY = re.compile(
    r"^(?: (?:local|UTC|CET|CEST|Berlin|GMT|hours|o'clock)(?: time)?)?,? (?:on )?"
    r"(?:the (?:morning|evening|night) of )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:the )?$",
    re.IGNORECASE,
)
_ZONES = {
    "utc": 0, "gmt": 0, "bst": 60, "cet": 60, "cest": 120, "eet": 120, "eest": 180, "est": -300, "edt": -240,
    "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "jst": 540, "sgt": 480,
}  # fmt: skip
_OFFSET = re.compile(r"\b(?:UTC|GMT) ?(?P<sign>[+−-])(?P<h>\d{1,2})(?::(?P<m>\d{2}))?\b")
_ZONE = re.compile(rf"\b(?:{'|'.join(_ZONES)})\b", re.IGNORECASE)
_CITY_NAME = r"[A-Z][a-z]{2,20}(?: [A-Z][a-z]{2,20}){0,2}"
# A city names a zone only as one of times.
_CITY = re.compile(
    rf"(?P<of>{_CITY_NAME})(?= time\b)|\btimes (?:are |is )in (?P<all>{_CITY_NAME})|^ in (?P<at>{_CITY_NAME})"
)
_RECURS = re.compile(r"\b(?:weekly|daily|monthly|recur\w{0,6}|rrule|cron|schedule)\b", re.IGNORECASE)
_UTC_SAID = re.compile(r"(?::\d{2})? ?(?:UTC|GMT|Z)\b")
_UNREAL = re.compile(
    r"\b(?:if|would|could|should|might|instead|alternatively|option|rather|or|next|every|again)\b", re.IGNORECASE
)
# A zone stands so near to its time. In code points.
_ZONE_CHARS = 40
# A conversion in the wrong direction, or without summer time, is off by no more.
_MOST_HOURS_OFF = 2
# No zone is further from UTC. In minutes.
_MOST_EAST = 14 * 60
_FIX = "Take it from the record."


class _Told(msgspec.Struct, frozen=True):
    """A time of the answer, the day that is told with it, and where both stand."""

    time: tuple[int, int]
    day: Day | None
    start: int
    end: int


def moments(reading: Reading) -> Iterator[Point]:
    """Finds the days and times that the moments on record contradict."""
    for sentence in reading.sentences:
        told = _told(sentence.text) if reading.moments else ()
        if (point := _other_day(reading, sentence, told) or _other_zone(reading, sentence, told)) is not None:
            yield point


def _told(text: str) -> list[_Told]:
    """The times of a sentence, each with the day next to it."""
    named = days(text)
    found = []
    for match in CLOCK.finditer(text):
        before = [one for one in named if one.end <= match.start() and _DAY_TIME.search(text[one.end : match.start()])]
        after = [one for one in named if match.end() <= one.start and _TIME_DAY.search(text[match.end() : one.start])]
        day = before[-1] if before else after[0] if after else None
        found.append(_Told(clock(match), day, match.start(), match.end()))
    return found


def _other_day(reading: Reading, sentence: Spoken, told: Sequence[_Told]) -> Point | None:
    """A time that the record has on one other day alone."""
    if _UNREAL.search(sentence.text) or _RECURS.search(reading.record.text) or _zone_of(sentence.text):
        return None
    for one in told:
        if one.day is None:
            continue
        same = [moment for moment in reading.moments if moment.time == one.time]
        of_days = {(moment.at.month, moment.at.day) for moment in same}
        # A time that also stands without a day may be of any.
        if len(of_days) != 1 or (one.day.month, one.day.day) in of_days or reading.clocks.count(one.time) > len(same):
            continue
        of_day = [other for other in reading.moments if (other.at.month, other.at.day) == (one.day.month, one.day.day)]
        against = next((other for other in of_day if other.at.minute == one.time[1]), same[0])
        quote = sentence.text[min(one.start, one.day.start) : max(one.end, one.day.end)]
        return Point("wrong_fact", quote, against.text, "The record has this time on another day.", _FIX)
    return None


def _other_zone(reading: Reading, sentence: Spoken, told: Sequence[_Told]) -> Point | None:
    """A time that is not what a named zone makes of the recorded moments."""
    for one in told:
        said, text = sentence.text[one.start : one.end], sentence.text
        local_ones = [moment for moment in reading.moments if moment.time == one.time]
        as_utc = _UTC_SAID.match(text, one.end)
        if as_utc and local_ones and all(moment.offset for moment in local_ones):
            quote = text[one.start : as_utc.end()].strip()
            return Point("wrong_fact", quote, local_ones[0].text, "On record that is no time in UTC.", _FIX)
        if as_utc:
            continue
        zone = _zone_of(text[one.end : one.end + _ZONE_CHARS]) or _zone_of(text) or _zone_of(reading.record.request)
        if zone is None:
            continue
        local = [(moment, moment.utc.astimezone(zone)) for moment in reading.moments if moment.offset is not None]
        there = [(moment, at) for moment, at in local if (at.hour, at.minute) == one.time]
        of_days = {(at.month, at.day) for _, at in there}
        known = one.time in reading.clocks
        if one.day and len(of_days) == 1 and (one.day.month, one.day.day) not in of_days and not known:
            quote = text[min(one.start, one.day.start) : max(one.end, one.day.end)]
            return Point("wrong_fact", quote, there[0][0].text, "In that zone it is another day.", _FIX)
        in_utc = [moment for moment in local_ones if moment.offset == 0 and zone.utcoffset(moment.at)]
        if len(in_utc) == 1 and not there and _says_zone(text, one):
            return Point("wrong_fact", said, in_utc[0].text, "That is the time in UTC.", _FIX)
        if known or there:
            continue
        near = [moment for moment, at in local if at.minute == one.time[1] and _hours_off(at, one) <= _MOST_HOURS_OFF]
        if len({moment.utc for moment in near}) == 1:
            reason = "In that zone the recorded moment is another time."
            return Point("wrong_fact", said, near[0].text, reason, _FIX)
    return None


def _hours_off(at: datetime.datetime, told: _Told) -> int:
    """By how many hours of the day two times differ."""
    off = abs(at.hour - told.time[0])
    return min(off, 24 - off)


def _says_zone(text: str, one: _Told) -> bool:
    """Whether the sentence names the zone of its times before any of them, or right after this one, and never UTC."""
    first = CLOCK.search(text)
    before = text[: first.start()] if first else ""
    named = _zone_of(before) is not None and re.search(r"\btimes?\b", before) is not None
    beside = _zone_of(text[one.end : one.end + _ZONE_CHARS]) is not None
    return (named or beside) and "UTC" not in text and "GMT" not in text


def _zone_of(text: str) -> datetime.tzinfo | None:
    """The only zone that a text names other than UTC."""
    found: set[datetime.tzinfo] = set()
    for match in _OFFSET.finditer(text):
        minutes = int(match["h"]) * 60 + int(match["m"] or 0)
        if minutes <= _MOST_EAST:
            found.add(datetime.timezone(datetime.timedelta(minutes=minutes if match["sign"] == "+" else -minutes)))
    if not found:
        named = (_ZONES[match[0].casefold()] for match in _ZONE.finditer(text))
        found |= {datetime.timezone(datetime.timedelta(minutes=minutes)) for minutes in named if minutes}
        cities = (
            _cities().get((match["of"] or match["all"] or match["at"]).casefold()) for match in _CITY.finditer(text)
        )
        found |= {zoneinfo.ZoneInfo(name) for name in cities if name is not None}
    return found.pop() if len(found) == 1 else None


@cache
def _cities() -> dict[str, str]:
    """The names of zones by their cities; empty where the system has no zones."""
    regions = ("America/", "Europe/", "Asia/", "Africa/", "Australia/", "Pacific/")
    names = sorted(name for name in zoneinfo.available_timezones() if name.startswith(regions))
    return {name.rpartition("/")[2].replace("_", " ").casefold(): name for name in names}
