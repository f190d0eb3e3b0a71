"""Finds dates whose weekday is wrong by the calendar."""

import datetime
import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Right before a day, and only there: in "Monday 17 August, Tuesday 18 August" the second belongs to what follows.
_WEEKDAY = re.compile(rf"\b({'|'.join(_DAYS)}),? (?:the )?$", re.IGNORECASE)
_WEEKDAY_CHARS = 20
_OTHER_YEAR = re.compile(r"\b(?:next|last|this) year\b", re.IGNORECASE)


def weekdays(reading: Reading) -> Iterator[Point]:
    """Finds dates of the answer that are given a wrong weekday. The year is the answer's, or the one that the record
    has for the same date."""
    recorded = reading.days
    for sentence in (one for one in reading.sentences if not _OTHER_YEAR.search(one.text + reading.record.request)):
        for day in days(sentence.text):
            begin = max(0, day.start - _WEEKDAY_CHARS)
            match = _WEEKDAY.search(sentence.text[begin : day.start])
            if match is None:
                continue
            same = [one for one in recorded if one.may_be(day)]
            years = {day.year} if day.year else {one.year for one in same if one.year}
            if len(years) != 1:
                continue
            try:
                date = datetime.date(years.pop() or 0, day.month, day.day)
            except ValueError:
                continue
            has = _DAYS[date.weekday()]
            if match[1].casefold() != has:
                quote = sentence.text[begin + match.start() : day.end]
                reason = f"{day.text} is a {has.capitalize()}."
                against = same[0].text if same else _compact(reading, date)
                yield Point("wrong_fact", quote, against, reason, "Check the day and its weekday.")


def _compact(reading: Reading, date: datetime.date) -> str:
    """The date as calendars write it (`20260514`), if the record has it so."""
    written = f"{date:%Y%m%d}"
    return written if any(written in call.text for call in reading.record.calls) else ""
