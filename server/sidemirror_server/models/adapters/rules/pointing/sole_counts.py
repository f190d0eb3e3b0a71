"""Finds a count that is another one than the only number that the calls brought."""

import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.effects import has_failed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.texts import Figure, numbers, stem, stem_set, words_of

# A result with nothing but a number is as short. Of longer results, and of more calls, not everything may be on record.
_SOLE_CHARS, _MOST_CHARS, _MOST_CALLS = 200, 500, 15
# Of psql's tables, which have one number more.
_ROWS = re.compile(r"\(\d+ rows?\)")
# Names of a number that say nothing of what is counted.
_COUNT_NAMES = stem_set("n cnt count counts total num number result value rows")
_HOW_MANY = re.compile(
    r"\b(?:how many|(?:the )?(?:number|count|total) of|count)\b((?: [\w-]{1,30}){1,3})", re.IGNORECASE
)
# What a sentence says of all, and not of some of them: "there are 41 orders in March", and not "two orders are late".
_OF_ALL = re.compile(
    r"(?:^|\b(?:there (?:are|is|were|was)|has|have|had|holds?|contains?|received|found|counted)\s)\s*"
    r"(?:exactly |just |currently |now |all )?$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"[ \u00a0]{1,3}([^\W\d_]{2,30})\b(?=\s*(?:[.!,;*]|$)| (?:in|on|at|from|here|there)\b)", re.IGNORECASE
)
# What is counted together with something that an earlier turn may have brought.
_WITH_OTHERS = re.compile(
    r"\b(?:total|totals|altogether|together|in all|combined|sum|both|overall|difference|compared|remain\w{0,3}|left|"
    r"other|rest|so far|with the|plus|minus)\b",
    re.IGNORECASE,
)
_REASON, _FIX = "The only number that was found is another one.", "Take it from the record."


class _Sole(msgspec.Struct, frozen=True):
    """The number, its words in the record, and stems of what it counts."""

    value: float
    quote: str
    counted: frozenset[str]


def sole_counts(reading: Reading) -> Iterator[Point]:
    """Finds the count in an answer with one number, where the calls that worked brought one number of the same things,
    and the answer's cannot be had from it."""
    said = list(numbers(reading.answer, spelled=True))
    if len(said) != 1 or _WITH_OTHERS.search(reading.answer) or _WITH_OTHERS.search(reading.record.request):
        return
    number, sole = said[0], _sole(reading)
    is_plain = number.spelled or (number.text.replace(",", "").isdigit() and not number.money)
    if sole is None or not is_plain or number.value == sole.value or reading.can_be(number):
        return
    if stem(_noun(reading.answer, number)) not in sole.counted:
        return
    for sentence in reading.sentences:
        start = number.start - sentence.start
        if not 0 <= start < len(sentence.text) or not _OF_ALL.search(sentence.text[:start].lstrip()):
            continue
        if not (is_hedged(sentence, start) or is_unreal(sentence.text)):
            yield Point("wrong_fact", reading.answer[number.start : number.end], sole.quote, _REASON, _FIX)


def _sole(reading: Reading) -> _Sole | None:
    """The only number that all results have together; None if there are more, or it stands in a longer text."""
    calls = reading.record.calls
    if len(calls) > _MOST_CALLS or any(len(call.text) > _MOST_CHARS for call in calls):
        return None
    worked = ((call, _ROWS.sub(" ", call.text)) for call in calls if not has_failed(call))
    found = [(call, number) for call, text in worked for number in numbers(text)]
    if len(found) != 1 or len(found[0][0].text) > _SOLE_CHARS:
        return None
    call, number = found[0]
    if call is not next((one for one in reversed(calls) if not has_failed(one)), None):
        return None  # what came behind it may be a part of what was counted
    named = frozenset(word for item in call.items for field in item.fields for word in field.name)
    asked = frozenset(
        stem(word) for match in _HOW_MANY.finditer(reading.record.request) for word in words_of(match[1])[:2]
    )
    beside = frozenset({stem(number.unit)} if number.unit else ())
    counted = (named | beside) - _COUNT_NAMES
    return _Sole(number.value, call.text.strip(), counted or asked)


def _noun(text: str, number: Figure) -> str:
    """The word behind a number, which is what it counts; empty where more is said of it."""
    found = _COUNTED.match(text, number.end)
    return found[1] if found else ""
