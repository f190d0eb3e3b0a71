"""Finds values of one row of the record that the answer gives for another row."""

import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import (
    tokens_of,
)

_MOST_ROWS = 400
_FIX = "Take it from this row of the record."
_TIME = re.compile(r"(?<![\d:])\d{2}:\d{2}(?![\d:])")
_DATE_LIKE = re.compile(r"[\d:.,/t+z-]+")


def mixed_rows(reading: Reading) -> Iterator[Point]:
    """Finds a day or a time beside the identifier of one row, if it stands on record only in another row of the same
    result."""
    for call in reading.record.worked if _facts(reading.answer)[1] else ():
        found = [_Facts(line, *_facts(line)) for line in _lines_of(call)][:_MOST_ROWS]
        names = Counter(name for row in found for name in row.names)
        facts = Counter(fact for row in found for fact in row.facts)
        if len(found) < 2:
            continue
        for sentence in reading.sentences:
            own_names, own_facts = _facts(sentence.text)
            named = [row for row in found if any(names[name] == 1 for name in row.names & own_names)]
            if len(named) != 1 or is_unreal(sentence.text):
                continue
            kinds = {_kind_of(fact) for fact in named[0].facts}
            for fact in sorted(own_facts - named[0].facts):
                if _kind_of(fact) not in kinds:
                    continue
                other = [row for row in found if fact in row.facts]
                if facts[fact] == 1 and other and not _stands_elsewhere(reading, call, fact):
                    yield Point(
                        "wrong_fact", sentence.plain, other[0].text[:300], "The record has this in another row.", _FIX
                    )
                    return


class _Facts(msgspec.Struct, frozen=True):
    text: str
    names: frozenset[str]
    facts: frozenset[str]


def _lines_of(call: PastCall) -> list[str]:
    if not call.is_json:
        return [line.strip() for line in call.text.splitlines() if 3 < len(line) <= 300]
    return [", ".join(field.quote for field in item.fields) for item in call.items if item.listed]


def _facts(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The days, the times and the identifiers of a text, with the last parts of its paths."""
    told = {f"{day.month}-{day.day}" for day in days(text)} | {match[0] for match in _TIME.finditer(text)}
    named = {
        word for word in tokens_of(text) if any(map(str.isdigit, word)) or "/" in word or "_" in word or "." in word
    }
    named |= {word.rpartition("/")[2] for word in named}
    return frozenset(word for word in named if len(word) > 3 and not _DATE_LIKE.fullmatch(word)), frozenset(told)


def _kind_of(fact: str) -> str:
    return "time" if ":" in fact else "day"


def _stands_elsewhere(reading: Reading, call: PastCall, fact: str) -> bool:
    texts = [
        reading.record.request,
        *(one.text for one in reading.record.calls if one is not call),
        *(one.arguments for one in reading.record.calls),
    ]
    return any(fact in _facts(text)[1] for text in texts)
