"""Times as people give them on the command line, and as they read them."""

import re
from datetime import UTC, datetime, time, timedelta

_AGO = re.compile(r"([0-9]{1,6})([smhd])")
_SECOND_US = 1_000_000
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_OF_DAY = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
_FRACTION = re.compile(r":[0-9]{2}:[0-9]{2}\.([0-9]{1,6})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TO_THE_MINUTE = re.compile(r".*[T ][0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?")


def minute(at_us: int) -> str:
    """A time to the minute, with its zone."""
    return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"


def second(at_us: int) -> str:
    """A time to the second, with its zone."""
    return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M:%S} UTC"


def moment_in(text: str, now_us: int) -> tuple[int, int] | None:
    """A time in microseconds since the epoch, and how long what the text names lasts: a day, a minute, a second or the
    last digit of its fraction. None if the text is no time, or one before 1970."""
    now = datetime.fromtimestamp(now_us / 1e6).astimezone()
    try:
        if ago := _AGO.fullmatch(text):
            return _in_range(now - timedelta(seconds=int(ago[1]) * _UNITS_S[ago[2]]), _SECOND_US)
        if of_day := _OF_DAY.fullmatch(text):
            begin = datetime.combine(now.date(), time.fromisoformat(text)).astimezone()
            if begin > now:
                begin = datetime.combine(now.date() - timedelta(days=1), time.fromisoformat(text)).astimezone()
            return _in_range(begin, _to_the_second(text) if of_day[1] else 60 * _SECOND_US)
        begin = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    if _DATE.fullmatch(text):
        return _in_range(begin, _UNITS_S["d"] * _SECOND_US)
    return _in_range(begin, 60 * _SECOND_US if _TO_THE_MINUTE.fullmatch(text) else _to_the_second(text))


def _to_the_second(text: str) -> int:
    """The microseconds that a time names which is given to the second, or to a fraction of it."""
    fraction = _FRACTION.search(text)
    return _SECOND_US if fraction is None else int(_SECOND_US / 10 ** len(fraction[1]))


def _in_range(begin: datetime, width_us: int) -> tuple[int, int] | None:
    try:
        at_us = round(begin.timestamp() * 1e6)
    except (ValueError, OverflowError, OSError):
        return None
    return (at_us, width_us) if at_us >= 0 else None
