"""The days that a text names."""

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
        if 1 <= number <= 12 and 1 <= day <= 31:
            found.append(Day(number, day, int(year) if year else None, match[0], match.start(), match.end()))
    return found
