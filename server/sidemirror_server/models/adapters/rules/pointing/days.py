"""The days, and the moments with a day and a time, that a text names."""

import datetime
import re

import msgspec

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTHS).replace("sep(", "sept?(")
_DATE = re.compile(
    rf"\b(?:(?P<y>\d{{4}})-(?P<m>\d{{2}})-(?P<d>\d{{2}})"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH})\b\.?(?:,? (?P<y1>\d{{4}}))?"
    rf"|(?P<m2>{_MONTH})\.? {{1,2}}(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?(?: "
    rf"\d{{2}}:\d{{2}}:\d{{2}})? (?P<y2>\d{{4}}))?)",
    re.IGNORECASE,
)


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


def days(text: str) -> list[Day]:
    """The days of a text, in its order, without those that no calendar has."""
    found = []
    for match in _DATE.finditer(text):
        month = match["m"] or match["m1"] or match["m2"]
        day = int(match["d"] or match["d1"] or match["d2"])
        year = match["y"] or match["y1"] or match["y2"]
        number = int(month) if month.isdigit() else 1 + [name[:3] for name in _MONTHS].index(month[:3].casefold())
        if _is_a_day(int(year) if year else _LEAP_YEAR, number, day):
            found.append(Day(number, day, int(year) if year else None, match[0], match.start(), match.end()))
    return found


def _is_a_day(year: int, month: int, day: int) -> bool:
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True


_LEAP_YEAR = 2000
# Outside of these a moment stands for none: the first and the last one that a computer knows.
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
_MOMENT = re.compile(
    r"\b(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})[T ](?P<hour>\d{2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?:[.,]\d{1,9})?)?(?P<zone>Z|[ ]?UTC|[ ]?GMT|[+-]\d{2}:?\d{2}|[+-]\d{2}\b)?"
)


class Instant(msgspec.Struct, frozen=True):
    """A day and time as written. `at`: as if it were in UTC; `offset`: minutes east of UTC, None where none is
    said."""

    at: datetime.datetime
    offset: int | None
    text: str

    @property
    def time(self) -> tuple[int, int]:
        return self.at.hour, self.at.minute

    @property
    def utc(self) -> datetime.datetime:
        return self.at - datetime.timedelta(minutes=self.offset or 0)


def moments_in(text: str) -> list[Instant]:
    """The moments of a text, in its order, without those that no calendar has."""
    found = []
    for match in _MOMENT.finditer(text):
        year, month, day, hour, minute, second = (
            int(match[name] or 0) for name in ("y", "m", "d", "hour", "minute", "second")
        )
        try:
            at = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
        except ValueError:
            continue
        if _FIRST_YEAR <= year <= _LAST_YEAR:
            found.append(Instant(at, _minutes(match["zone"]), match[0]))
    return found


def _minutes(zone: str | None) -> int | None:
    if not zone:
        return None
    plain = zone.strip().replace(":", "")
    if plain in {"Z", "UTC", "GMT"}:
        return 0
    sign = -1 if plain[0] == "-" else 1
    return sign * (int(plain[1:3]) * 60 + int(plain[3:5] or 0))
