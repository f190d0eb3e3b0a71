"""In which shape a day is written, such as `YYYY-MM-DD`, perhaps with a time behind it. Pure.

`changed.py` asks whether two values are one day, `forms.py` for the shape that is told. A shape holds no digit. Shapes
are stored and never change.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_YEAR_FIRST = re.compile(r"([0-9]{4})([-/.]?)([0-9]{1,2})\2([0-9]{1,2})")
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_NAMED = (
    re.compile(r"(?P<day>[0-9]{1,2})\.? (?P<month>[A-Za-z]{3,9})\.?,? (?P<year>[0-9]{4})"),
    re.compile(r"(?P<month>[A-Za-z]{3,9})\.? (?P<day>[0-9]{1,2}),? (?P<year>[0-9]{4})"),
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WITH_TIME = re.compile(
    r"(.{1,30}?)([T ])([0-9]{2})(?::|(?<=T..))([0-9]{2})(?::?([0-9]{2}(?:\.[0-9]+)?))?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_OFFSET = "+hh:mm"
# Chosen here: no date has more.
_MOST_CHARS = 40
# Shapes that are told. Of a day with slashes or dots none has a time.
_ISO = re.compile(r"YYYY-MM-DD(?:[T ]hh:mm(?::ss)?(?:Z|\+hh:mm)?)?|YYYYMMDD|(?:DD-MM|MM-DD)-YYYY")
_SIGNED = re.compile(r"(YYYY|DD|MM)([/.])(MM|DD)\2(YYYY|DD)")
_SIGNS = {"/": "slashes", ".": "dots"}


class _Read(NamedTuple):
    """One way to read a value. `day`: year, month and day; `time`: hours, minutes and seconds, empty without one;
    `zone`: as in `+02:00`, empty if none is given. `shape`: empty if it is none that is told."""

    day: tuple[int, int, int]
    time: tuple[float, ...]
    zone: str
    shape: str


def shape_of(old: str, new: str) -> str:
    """The shape of the new value, if both are one day and time as in `are_one_day`; else empty, as where day and month
    could change places."""
    shapes = {now.shape for now in _reads(new) for before in _reads(old) if _are_one(before, now)}
    shape = shapes.pop() if len(shapes) == 1 else ""
    return "" if has_shape(old, shape) else shape


def are_one_day(old: str, new: str) -> bool:
    """Whether both values may be one day, and one time and one zone unless one of them has none."""
    return any(_are_one(before, now) for before in _reads(old) for now in _reads(new))


def are_days(old: str, new: str) -> bool:
    """Whether both values may be days."""
    return any(_reads(old)) and any(_reads(new))


def has_shape(value: str, shape: str) -> bool:
    """Whether a value is written so."""
    pattern = re.sub("[YMDhms]", "[0-9]", re.escape(shape.removesuffix(_OFFSET)))
    offset = "[+-][0-9]{2}:[0-9]{2}" if shape.endswith(_OFFSET) else ""
    return re.fullmatch(pattern + offset, value) is not None


def told(shape: str) -> str:
    """The shape in words; empty if it is none."""
    if _ISO.fullmatch(shape):
        return shape
    signed = _SIGNED.fullmatch(shape)
    if signed is None or len({signed[1], signed[3], signed[4]}) < 3:
        return ""
    return f"{signed[1]}, {signed[3]} and {signed[4]} with {_SIGNS[signed[2]]}"


def _are_one(before: _Read, now: _Read) -> bool:
    given = ((before.time, now.time), (before.zone, now.zone))
    return before.day == now.day and all(one == other for one, other in given if one and other)


def _reads(value: str) -> Iterator[_Read]:
    if len(value) > _MOST_CHARS:
        return
    timed = _WITH_TIME.fullmatch(value)
    text, zone, behind = value, "", ""
    time: tuple[float, ...] = ()
    if timed:
        text, between, hours, minutes, seconds, offset = timed.groups(default="")
        time = (float(hours), float(minutes), float(seconds or 0))
        zone = "+00:00" if offset == "Z" else offset and f"{offset[:3]}:{offset[-2:]}"
        behind = between + ("hh:mm:ss" if seconds else "hh:mm") + (_OFFSET if offset[1:] else offset)
    for shape, year, month, day in _days(text):
        whole = shape + behind
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield _Read((year, month, day), time, zone, whole if has_shape(value, whole) else "")


def _days(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Shape, year, month and day."""
    if (found := _YEAR_FIRST.fullmatch(text)) and (found[2] or len(text) == len("YYYYMMDD")):
        yield f"YYYY{found[2]}MM{found[2]}DD", int(found[1]), int(found[3]), int(found[4])
    if found := _YEAR_LAST.fullmatch(text):
        one, sign, other, year = found[1], found[2], found[3], int(found[4])
        yield f"DD{sign}MM{sign}YYYY", year, int(other), int(one)
        yield f"MM{sign}DD{sign}YYYY", year, int(one), int(other)
    for named in _NAMED:
        if found := named.fullmatch(text):
            months = (at for at, month in enumerate(_MONTHS, 1) if month.startswith(found["month"].lower()))
            yield "", int(found["year"]), next(months, 0), int(found["day"])
