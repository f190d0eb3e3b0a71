"""Finds `the migration ran before the rollout`, where the record's times put them the other way round."""

import itertools
import re
from collections.abc import Iterator, Sequence

import msgspec

from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.facts import CLOCK, clock
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import tokens_of

_RELATION = re.compile(
    r"\b(?:(?P<before>before|ahead of|earlier than|prior to)|after|later than)\b"
    r"(?! (?:\d{1,3}[ :%]|(?:an?|it|they|I|he|she|that|this|one|two|both|all|everyone|anyone|others?|everything)\b)) ",
    re.IGNORECASE,
)
# Where the clause begins that stands before such a word, and where it ends.
_BEGIN = re.compile(r"[.;:\n(]|,? (?:and|but|so|while|then) ")
_END = re.compile(r"[.;:,\n(]")
_LEFT_CHARS, _RIGHT_CHARS = 120, 60
# What should be so, or has been made so, is no claim about what was.
_CHANGED = re.compile(
    r"\b(?:must|ha(?:ve|s) to|needs? to|should|I (?:changed|made|set|moved|fixed)|so that|so the|from now on)\b", re.I
)
# Words are the same that begin so; one that more of the events have names none.
_STARTS, _WIDE = 5, 0.5
_MOST_EVENTS, _LINE_CHARS = 120, 240
_REASON, _FIX = "The record's times put them the other way round.", "Tell them in the order of the record."


class _Event(msgspec.Struct, frozen=True):
    """A line or object of the record with a time. `words`: the beginnings of its words."""

    at: tuple[tuple[int, int, int], tuple[int, int], str, int]
    quote: str
    words: frozenset[str]


def sequences(reading: Reading) -> Iterator[Point]:
    """Finds what the answer puts before or after something, if each has events of one result that no event of the
    other stands between, and they come in the other order."""
    timelines = [events for call in reading.record.worked if len(events := _events(call)) > 1]
    for sentence in reading.sentences if timelines else ():
        for match in _RELATION.finditer(sentence.text):
            left = _BEGIN.split(sentence.text[max(0, match.start() - _LEFT_CHARS) : match.start()])[-1]
            right = _END.split(sentence.text[match.end() : match.end() + _RIGHT_CHARS])[0]
            if is_unreal(left) or _CHANGED.search(sentence.text):
                continue
            against = _against(reading, left, right, timelines, match["before"] is not None)
            if against is not None:
                quote = f"{left}{match[0]}{right}".strip(" -*•,")
                yield Point("wrong_fact", quote, against, _REASON, _FIX)
                return


def _against(
    reading: Reading, left: str, right: str, timelines: Sequence[Sequence[_Event]], is_before: bool
) -> str | None:
    """The record's words that put two things in the other order; None if none do."""
    for events in timelines:
        one, other = _of(left, right, events), _of(right, left, events)
        early, late = (one, other) if is_before else (other, one)
        if one and other and min(event.at for event in early) > max(event.at for event in late):
            return reading.span_of(one[0].quote, other[0].quote)
    return None


def _of(text: str, other: str, events: Sequence[_Event]) -> list[_Event]:
    """The events that a text speaks of most, by words that the other text and most events do not have."""
    words = _starts(text) - _starts(other)
    few = {word for word in words if 0 < sum(word in event.words for event in events) <= max(_WIDE * len(events), 2)}
    counts = [len(few & event.words) for event in events]
    most = max(counts)
    return [event for event, count in zip(events, counts, strict=True) if count == most] if most else []


def _starts(text: str) -> frozenset[str]:
    return frozenset(word[:_STARTS] for word in tokens_of(text) if len(word) > 2)


def _events(call: PastCall) -> list[_Event]:
    found = []
    items = [item for item in call.items if item.listed and item.fields]
    if items and call.text.lstrip()[:1] in {"{", "["} and call.is_json:
        parts = [(" ".join(one.quote for one in item.fields), item.fields[0].quote) for item in items]
    else:
        parts = [(line.strip(), line.strip()) for line in call.text.splitlines()]
    for place, (text, quote) in enumerate(parts[:_MOST_EVENTS]):
        time = CLOCK.search(text)
        if len(text) > _LINE_CHARS or time is None:
            continue
        day = next(iter(days(text)), None)
        at = ((day.year or 0, day.month, day.day) if day else (0, 0, 0), clock(time), time[0], place)
        found.append(_Event(at, quote, _starts(text)))
    is_bare = any(not event.at[0][1] for event in found)
    # Without a day a clock that goes back has passed midnight.
    if is_bare and any(one.at[1] > other.at[1] for one, other in itertools.pairwise(found)):
        return []
    return found
