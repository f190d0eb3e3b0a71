"""Times as people give them on the command line, and as they read them."""

import re
from datetime import UTC, datetime, time, timedelta

_AGO = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_OF_DAY = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TO_THE_MINUTE = re.compile(r".*[T ][0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?")


def minute(at_us: int) -> str:
    """A time to the minute, with its zone."""
    return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"


def moment_in(text: str, now_us: int) -> tuple[int, int] | None:
    """A time in microseconds since the epoch, and how long what the text names lasts: a minute, a second or a day. None
    if the text is no time, or one before 1970."""
    now = datetime.fromtimestamp(now_us / 1e6).astimezone()
    try:
        if ago := _AGO.fullmatch(text):
            return _in_range(now - timedelta(seconds=int(ago[1]) * _UNITS_S[ago[2]]), 1)
        if of_day := _OF_DAY.fullmatch(text):
            begin = datetime.combine(now.date(), time.fromisoformat(text)).astimezone()
            if begin > now:
                begin = datetime.combine(now.date() - timedelta(days=1), time.fromisoformat(text)).astimezone()
            return _in_range(begin, 1 if of_day[1] else 60)
        begin = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    width_s = _UNITS_S["d"] if _DATE.fullmatch(text) else 60 if _TO_THE_MINUTE.fullmatch(text) else 1
    return _in_range(begin, width_s)


def _in_range(begin: datetime, width_s: int) -> tuple[int, int] | None:
    try:
        at_us = int(begin.timestamp() * 1e6)
    except (ValueError, OverflowError, OSError):
        return None
    return (at_us, width_s * 1_000_000) if at_us >= 0 else None
