"""Finds a question for a time, or for a person, that the answer leaves open and the record does not."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading

# Only what is asked: neither "when I run it" nor "my colleague, who is ill".
_WHEN = re.compile(
    r"\b(?P<asks>(?:(?:by|since|until|from|till) )?when (?:is|are|was|were|will|do|does|did|can|should|has|have)\b"
    r"(?! (?:I|we|you)\b)[^,;.?!\n]{2,60}|what time\b[^,;.?!\n]{0,60})[^.!\n]{0,60}\?",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"(?:^|, and |(?<!,) and |[.?!] |tell me |say )(?P<asks>who(?:se|m)?\b[^,;.?!\n]{2,60})[^.!\n]{0,60}\?",
    re.IGNORECASE,
)
_WEEKDAY = r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
# Any word of time, as vague as it may be: only an answer without one leaves the question open.
_ANY_TIME = re.compile(
    rf"\d{{1,2}}:\d{{2}}|\b(?:19|20)\d{{2}}\b|{_WEEKDAY}|\b\d{{1,2}} ?(?:am|pm)\b|\d{{1,2}}(?:st|nd|rd|th)\b"
    r"|\b(?:january|february|april|june|july|august|september|october|november|december)\b"
    r"|\b(?:in|since|by|until|on) (?:march|may)\b|\b\d{1,2} (?:march|may)\b|\b(?:march|may) \d"
    r"|\b(?:today|tomorrow|yesterday|tonight|ago|hours?|days|minutes?|weeks?|months?|noon|midnight|morning|evening|"
    r"afternoon|never|soon|not yet|unknown|immediately|quarter|spring|summer|autumn|winter|no date)\b"
    r"|\b\d{1,2} (?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b|\b(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|"
    r"dec)\.? \d",
    re.IGNORECASE,
)
_A_TIME = re.compile(
    rf"\d{{1,2}}:\d{{2}}|\b\d{{4}}-\d{{2}}-\d{{2}}|\b\d{{1,2}} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    rf"{_WEEKDAY}",
    re.IGNORECASE,
)
_NAME = r"[A-ZÀ-Þ][a-zà-ÿ'’-]{1,20}"
_PERSON = re.compile(rf"\b{_NAME} (?:(?:van|de|von|da) )?{_NAME}\b|\b[A-Z]\. [A-Z][a-z]{{2,20}}\b")
_RESULT_CHARS, _NAME_CHARS = 60_000, 3
_FIX = "Answer it too."


def unanswered(reading: Reading) -> Iterator[Point]:
    """Finds a question for a time, or for a person, where the answer has none at all and the record has one."""
    request = reading.record.request
    results = "\n".join(call.text for call in reading.record.worked)[:_RESULT_CHARS]
    when, who = _WHEN.search(request), _WHO.search(request)
    if when is not None and _A_TIME.search(results) and not _ANY_TIME.search(reading.answer):
        yield _open(when, "The request asks when, and the answer names no time.")
    if who is not None and (names := set(_PERSON.findall(results))) and not _PERSON.search(reading.answer):
        parts = {part.casefold() for name in names for part in name.split() if len(part) >= _NAME_CHARS}
        if not any(part in reading.folded for part in parts):
            yield _open(who, "The request asks who, and the answer names nobody.")


def _open(question: re.Match[str], reason: str) -> Point:
    return Point("missing_critical_information", "", question["asks"].strip(" ,"), reason, _FIX)
