"""Days and times that are not those of the record, and weekdays that a day does not have."""

import datetime
import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.texts import Sentence, words_of

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTHS).replace("sep(", "sept?(")
_DATE = re.compile(
    rf"\b(?:(?P<y>\d{{4}})-(?P<m>\d{{2}})-(?P<d>\d{{2}})"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH})\b\.?(?:,? (?P<y1>\d{{4}}))?"
    rf"|(?P<m2>{_MONTH})\.? {{1,2}}(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?(?: "
    rf"\d{{2}}:\d{{2}}:\d{{2}})? (?P<y2>\d{{4}}))?)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\d:.T-])(?P<h>\d{1,2}):(?P<min>\d{2})(?::\d{2})?(?:[ \u202f]?(?P<half>[ap])\.?m\b)?", re.IGNORECASE
)
_RECORDED_TIME = re.compile(
    r"(?<![\d:])(?P<h>\d{1,2}):(?P<min>\d{2})(?::\d{2})?(?:[ \u202f]?(?P<half>[ap])\.?m\b)?", re.IGNORECASE
)
_HOUR = re.compile(r"(?<![\d:])(?P<h>\d{1,2})[ \u202f]?(?P<half>[ap])\.?m\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b({'|'.join(_DAYS)})\b", re.IGNORECASE)
_ZONE = re.compile(r"\b(?:UTC|GMT|[ECMP][SD]T|CES?T|time ?zone|local time)\b", re.IGNORECASE)
# A day that is said beside one of these is counted from another one.
_COUNTED_TEXT = "ago within after before until till since between from now later earlier today tomorrow yesterday"
_COUNTED = frozenset(_COUNTED_TEXT.split())
_FORM = frozenset(words_of("at on date time day datetime timestamp utc iso of the"))


class Day(msgspec.Struct, frozen=True):
    """A day as written. `year`: None where none is said."""

    month: int
    day: int
    year: int | None
    text: str
    start: int
    end: int

    def may_be(self, other: "Day") -> bool:
        same_year = self.year is None or other.year is None or self.year == other.year
        return same_year and (self.month, self.day) == (other.month, other.day)


def dates(reading: Reading) -> Iterator[Point]:
    """Days and times of the answer that stand nowhere on record, where the record has one for the same thing."""
    recorded = days(reading.record.text)
    times = {_minutes(match) for pattern in (_RECORDED_TIME, _HOUR) for match in pattern.finditer(reading.record.text)}
    has_zone = _ZONE.search(reading.answer) is not None
    years = {day.year for day in recorded if day.year}
    for sentence in reading.sentences:
        said = days(sentence.text)
        for day in said:
            yield from _weekday(sentence, day, recorded, years)
            if is_unreal(sentence.text) or any(day.may_be(other) for other in recorded):
                continue
            meant = _meant(reading, sentence, day)
            if meant is not None:
                yield _point(day.text, meant)
        if not has_zone:
            yield from _times(reading, sentence, times)


def days(text: str) -> list[Day]:
    """The days of a text, in its order. Days that no calendar has are left out."""
    found = []
    for match in _DATE.finditer(text):
        month = match["m"] or match["m1"] or match["m2"]
        day = int(match["d"] or match["d1"] or match["d2"])
        year = match["y"] or match["y1"] or match["y2"]
        number = int(month) if month.isdigit() else 1 + [name[:3] for name in _MONTHS].index(month[:3].casefold())
        if 1 <= number <= 12 and 1 <= day <= 31:
            found.append(Day(number, day, int(year) if year else None, match[0], match.start(), match.end()))
    return found


def _meant(reading: Reading, sentence: Sentence, day: Day) -> str | None:
    """The record's words for the day that the answer means; None if that cannot be told."""
    near = set(sentence.text[max(0, day.start - 40) : day.end + 40].casefold().split())
    if near & _COUNTED:
        return None
    context = set(reading.context(sentence, day.start, day.end))
    fields = [field for field in reading.record.fields if isinstance(field.value, str) and len(days(field.value)) == 1]
    named = [field for field in fields if set(field.name) - _FORM and (set(field.name) - _FORM) & context]
    fields = reading.about(sentence, named) if named else []
    if fields:
        most = max(len(set(field.name) & context) for field in fields)
        fields = [field for field in fields if len(set(field.name) & context) == most]
    found = {(one.month, one.day, one.year): field.quote for field in fields for one in days(str(field.value))}
    if not found:
        texts = [call.text for call in reading.record.worked]
        every = [one for text in texts for one in days(text)]
        if len({(one.month, one.day) for one in every}) == 1 and len({one.text for one in days(reading.answer)}) == 1:
            found = {(every[0].month, every[0].day, every[0].year): every[0].text}
    if len(found) != 1:
        return None
    ((month, number, year), quote) = next(iter(found.items()))
    meant = Day(month, number, year, "", 0, 0)
    return None if any(meant.may_be(one) for one in days(sentence.text)) else quote


def _weekday(sentence: Sentence, day: Day, recorded: list[Day], years: set[int]) -> Iterator[Point]:
    """A weekday right before or after a day that does not have it. The year is the answer's, else the record's one."""
    year = day.year or (next(iter(years)) if len(years) == 1 else None)
    if year is None:
        return
    begin = max(0, day.start - 14)
    named = [
        *_WEEKDAY.finditer(sentence.text, begin, day.start),
        *_WEEKDAY.finditer(sentence.text, day.end, day.end + 14),
    ]
    try:
        has = _DAYS[datetime.date(year, day.month, day.day).weekday()]
    except ValueError:
        return
    for match in named:
        between = (
            sentence.text[match.end() : day.start]
            if match.end() <= day.start
            else sentence.text[day.end : match.start()]
        )
        if match[1].casefold() != has and not between.strip(" ,(the"):
            quote = sentence.text[min(match.start(), day.start) : max(match.end(), day.end)]
            against = next((one.text for one in recorded if one.may_be(day)), "")
            reason = f"{year}-{day.month:02}-{day.day:02} is a {has.capitalize()}."
            yield Point("wrong_fact", quote, against, reason, "Check the day and its weekday.")


def _times(reading: Reading, sentence: Sentence, recorded: set[int]) -> Iterator[Point]:
    """A time of day that the record lacks, where the record has one time for the thing that the sentence names."""
    if is_unreal(sentence.text):
        return
    for match in (*_TIME.finditer(sentence.text), *_HOUR.finditer(sentence.text)):
        said = _minutes(match)
        if said in recorded or (not match["half"] and (said + 720) % 1440 in recorded):
            continue
        context = set(reading.context(sentence, match.start(), match.end()))
        fields = []
        for field in reading.record.fields:
            if isinstance(field.value, str) and len(list(_RECORDED_TIME.finditer(field.value))) == 1:
                name = set(field.name) - _FORM
                if name and name & context:
                    fields.append(field)
        fields = reading.about(sentence, fields)
        quotes = {field.quote: None for field in fields}
        if len(quotes) == 1:
            yield _point(match[0], next(iter(quotes)))


def _minutes(match: re.Match[str]) -> int:
    groups = match.groupdict()
    hour, minute = int(groups["h"]), int(groups.get("min") or 0)
    half = (groups["half"] or "").casefold()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return (hour * 60 + minute) % 1440


def _point(quote: str, against: str) -> Point:
    return Point("wrong_fact", quote, against, "The record has another day or time.", "Take it from the record.")
