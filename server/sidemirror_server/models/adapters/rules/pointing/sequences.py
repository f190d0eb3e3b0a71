"""Finds `this came before that` where the recorded times have it the other way round."""

import re
from collections.abc import Iterator, Sequence

from sidemirror_server.models.adapters.rules.pointing.facts import Group, Row, aligned
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.record import PastCall
from sidemirror_server.models.adapters.rules.pointing.swapped import UNREAL

_FIX = "Compare the times on record again."
# What comes first stands on the left, or on the right. Of `first ... then` both stand in this order.
_BEFORE = re.compile(r"\b(?:before|ahead of|prior to|earlier than|preceded)\b", re.IGNORECASE)
_AFTER = re.compile(r"(?<!shortly )\b(?:after(?! that)|later than|behind)\b", re.IGNORECASE)
_THEN = re.compile(
    r"(?P<one>[^.;\n]{8,120}?)(?:,| and)(?: and)? (?P<two>[^.;\n]{8,120}?) (?:followed|came (?:next|later|second|"
    r"after)|after that|afterwards)\b",
    re.IGNORECASE,
)
_TIMED = re.compile(r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?")
_LEAST = 1.0
_LEAST_ROWS, _MOST_ROWS, _QUOTE_CHARS = 3, 80, 240


def sequences(reading: Reading) -> Iterator[Point]:
    """Finds two events of one recorded sequence that the answer puts the other way round. Both are aligned by words
    that few lines of the sequence have."""
    logs = [(call, lines) for call in reading.record.worked if (lines := _lines(call))]
    for sentence in reading.sentences if logs else ():
        if UNREAL.search(sentence.text):
            continue
        for left, right in _pairs(sentence.text):
            for call, rows in logs:
                group = Group(rows)
                ones, others = _best(group, rows, left), _best(group, rows, right)
                if ones and others and min(ones) > max(others):
                    against = _from_to(call.text, str(rows[max(others)].group[1]), str(rows[min(ones)].group[1]))
                    yield Point("wrong_fact", sentence.plain, against, "On record it came later.", _FIX)
                    return


def _from_to(text: str, one: str, other: str) -> str:
    """The record's lines from one to the other; if they stand far from each other, only the one that came later."""
    begin, end = text.find(one), text.find(other)
    whole = text[begin : end + len(other)] if 0 <= begin < end else other
    return whole if len(whole) <= _QUOTE_CHARS else other[:_QUOTE_CHARS]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """What comes first and what later, as two parts of a sentence."""
    for pattern, turned in ((_BEFORE, False), (_AFTER, True)):
        for match in pattern.finditer(text):
            begin = max(text.rfind(mark, 0, match.start()) for mark in ":;.") + 1
            left, right = text[begin : match.start()], re.split(r"[;.:]\s|, (?:and|but)|$", text[match.end() :])[0]
            yield (right, left) if turned else (left, right)
    for match in _THEN.finditer(text):
        yield match["one"], match["two"]


def _lines(call: PastCall) -> list[Row]:
    """The lines of a result that begin with a time, if they stand in its order; else nothing."""
    lines = [line.strip() for line in call.text.splitlines() if _TIMED.search(line[:60])]
    if not _LEAST_ROWS <= len(lines) <= _MOST_ROWS:
        return []
    times = [line[: match.end()].rjust(_QUOTE_CHARS) for line in lines if (match := _TIMED.search(line[:60]))]
    if times != sorted(times):
        return []
    return [Row((place, line), aligned(line), [], None) for place, line in enumerate(lines)]


def _best(group: Group, rows: Sequence[Row], text: str) -> list[int]:
    """The places of the rows that share the most with a text; none if they share little."""
    said = aligned(text)
    scores = [group.weigh(row, said) for row in rows]
    most = max(scores)
    return [place for place, score in enumerate(scores) if score > 0.8 * most] if most >= _LEAST * 0.6 else []
