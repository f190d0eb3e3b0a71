"""How long it is between two times or two days."""

import datetime
import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.dates import Day, days
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal

_CLOCK = re.compile(
    r"(?<![\d:])(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<sec>\d{2}))?(?:[ \u202f]?(?P<half>[ap])\.?m\b)?", re.IGNORECASE
)
_LONG = re.compile(
    r"\b(?:(?P<h>\d{1,3}) ?(?:h|hours?)\b)?(?:,? ?(?:and )?(?P<m>\d{1,3}) ?(?:min|minutes?)\b)?(?:,? "
    r"?(?:and )?(?P<s>\d{1,3}) ?(?:s|sec|seconds?)\b)?(?<=[a-z])",
    re.IGNORECASE,
)
_SO_MANY = re.compile(
    r"\b(?P<many>\d{1,4}) (?P<unit>days?|nights?|weeks?)\b(?: (?:left|later|remain|before|after|between|apart|away))?",
    re.IGNORECASE,
)
_BLOCK_CHARS = 600


def spans(reading: Reading) -> Iterator[Point]:
    """How long it is between two times that one sentence has, or between two days of it and of the one before."""
    before: list[Day] = []
    for sentence in reading.sentences:
        times = [_seconds(match) for match in _CLOCK.finditer(sentence.text)]
        long = next((match for match in _LONG.finditer(sentence.text) if match["m"] or match["h"]), None)
        if len(times) == 2 and long is not None:
            said = 3600 * int(long["h"] or 0) + 60 * int(long["m"] or 0) + int(long["s"] or 0)
            lies = abs(times[1] - times[0])
            if abs(lies - said) >= 60 and abs(86_400 - lies - said) >= 60:
                yield _point(
                    long[0].strip(), _lines_with(reading, *(match[0] for match in _CLOCK.finditer(sentence.text)))
                )
        said_days = [*before, *days(sentence.text)][-3:]
        match = _SO_MANY.search(sentence.text)
        if match is not None and len(said_days) == 2 and not is_unreal(sentence.text):
            year = next((day.year for day in said_days if day.year), None) or next(
                (day.year for day in days(reading.record.text) if day.year), None
            )
            try:
                one, two = (datetime.date(day.year or year or 2000, day.month, day.day) for day in said_days)
            except ValueError:
                continue
            lies = abs((two - one).days)
            count = int(match["many"]) * (7 if match["unit"].casefold().startswith("week") else 1)
            if year and abs(lies - count) > (
                7 if count % 7 == 0 and match["unit"].casefold().startswith("week") else 1
            ):
                yield _point(match[0].strip(), _lines_with(reading, said_days[0].text, said_days[1].text))
        before = days(sentence.text)


def _seconds(match: re.Match[str]) -> int:
    half = (match["half"] or "").casefold()
    hour = int(match["h"]) % 12 + (12 if half == "p" else 0) if half else int(match["h"])
    return 3600 * hour + 60 * int(match["min"]) + int(match["sec"] or 0)


def _lines_with(reading: Reading, *texts: str) -> str:
    """The record's lines from the first that has one of these days or times to the last one, of one result."""
    for call in reading.record.calls:
        lines = [line for line in call.text.splitlines() if len(line) < 300]
        found = [line for line in lines for text in texts if _has(line, text)]
        if found:
            begin, end = call.text.find(found[0]), call.text.rfind(found[-1]) + len(found[-1])
            begin, end = min(begin, call.text.find(found[-1])), max(end, call.text.find(found[0]) + len(found[0]))
            return call.text[begin:end][:_BLOCK_CHARS]
    return ""


def _has(line: str, text: str) -> bool:
    wanted = days(text)
    return text in line or (bool(wanted) and any(wanted[0].may_be(day) for day in days(line)))


def _point(quote: str, against: str) -> Point:
    return Point("wrong_fact", quote, against, "The record has another day or time.", "Take it from the record.")
