"""Finds how many there are, where the record says another number of the same things, or the answer lists others."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.texts import SPELLED, stem, word_set

_FIX = "Count again."
_COUNT = rf"\d{{1,3}}|{'|'.join(word for word in SPELLED if word not in {'both', 'dozen', 'zero', 'one'})}"
_SAYS = re.compile(
    rf"\b(?:there (?:are|were)|reports?|has|have|had|found|lists?|contains?|shows?|got|all|total of|in all|sum|"
    rf"are)(?: \w{{1,8}}){{0,1}} "
    rf"(?P<many>{_COUNT}) (?P<noun>(?:[a-z-]{{3,20}} )?[a-z]{{3,20}}s)\b|^(?P<many2>{_COUNT}) "
    rf"(?P<noun2>(?:[a-z-]{{3,20}} )?[a-z]{{3,20}}s)\b",
    re.IGNORECASE,
)
_ON_RECORD = re.compile(r"(?<![\w.,:/-])(?P<many>\d{1,3}) (?P<noun>[a-z]{3,20}s)\b", re.IGNORECASE)
_ROWS = re.compile(r"^\((?P<many>\d{1,4}) rows?\)|^-- (?P<many2>\d{1,4}) rows? --", re.MULTILINE)
_LISTED = re.compile(
    rf"(?P<count>\b(?P<many>{_COUNT})\b(?P<noun>[^.:;\n\d]{{3,60}}))(?:, all "
    rf"[^:.;\n]{{0,40}})?:\s(?P<list>[^.:;\n]{{5,300}})",
    re.IGNORECASE,
)
_UNITS = frozenset(
    map(
        stem,
        word_set(
            "days hours minutes seconds weeks months years nights percent points times dollars euros pounds kilos "
            "grams "
            "metres meters miles bytes users"
        ),
    )
)
_LEAST, _MOST = 2, 40


def counts(reading: Reading) -> Iterator[Point]:
    """Finds a count of things that a recorded summary counts otherwise, and a count beside a list of another length."""
    yield from _listed(reading)
    recorded = _recorded(reading)
    for sentence in reading.sentences if recorded else ():
        if is_unreal(sentence.text):
            continue
        for match in _SAYS.finditer(sentence.text):
            many, noun = match["many"] or match["many2"], (match["noun"] or match["noun2"]).split()
            value = _value(many)
            if is_hedged(sentence, match.start("many") if match["many"] else match.start()) or stem(noun[-1]) in _UNITS:
                continue
            found = recorded.get(stem(noun[-1]), {})
            if len(found) == 1 and value not in found and not _is_asked(reading, many):
                ((other, quote),) = found.items()
                if abs(other - value) <= max(2, other // 3):
                    yield Point("wrong_fact", match[0], quote, "The record counts otherwise.", _FIX)
                    return


def _recorded(reading: Reading) -> dict[str, dict[int, str]]:
    """How many of what the results say there are: by the stem of the noun, each number with its words."""
    found: dict[str, dict[int, str]] = {}
    for call in reading.record.worked:
        for match in _ON_RECORD.finditer(call.text):
            begin = call.text.rfind("\n", 0, match.start()) + 1
            end = call.text.find("\n", match.end())
            line = call.text[begin : end if end > 0 else len(call.text)].strip()
            found.setdefault(stem(match["noun"]), {}).setdefault(
                int(match["many"]), line if len(line) < 160 else match[0]
            )
    return found


def _is_asked(reading: Reading, many: str) -> bool:
    """Whether the request has this number."""
    return re.search(rf"\b{re.escape(many)}\b", reading.record.request, re.IGNORECASE) is not None


def _value(many: str) -> int:
    return int(many) if many.isdigit() else int(SPELLED[many.casefold()])


def _listed(reading: Reading) -> Iterator[Point]:
    """Finds `six of them: a, b and c`. Each item is short and has a sign of a name."""
    for match in _LISTED.finditer(reading.answer):
        items = [
            one.strip(" `*\"'")
            for one in re.split(r",? and |, (?=[^)]*(?:\(|$))", match["list"].strip())
            if one.strip()
        ]
        value = _value(match["many"])
        if (
            not _LEAST <= len(items) <= _MOST
            or value == len(items)
            or value > _MOST
            or "(" in match["list"]
            or "..." in match["list"]
        ):
            continue
        if not all(len(one) <= 40 and _NAMED.search(one) and len(one.split()) <= 4 for one in items) or re.search(
            r"\b(?:such as|including|for example|e\.g|among|mainly|mostly|most|others?|of)\b",
            match["count"],
            re.IGNORECASE,
        ):
            continue
        if abs(value - len(items)) == 1:
            against = next((line.strip() for line in reading.record.text.splitlines() if items[-1] in line), "")
            yield Point("wrong_fact", match[0], against[:240], f"The answer itself lists {len(items)}.", _FIX)
            return


_NAMED = re.compile(r"[A-Z]|\d|[_./-]")
