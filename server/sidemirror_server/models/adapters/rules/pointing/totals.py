"""Finds totals that do not match the amounts on record."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Item, PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import (
    numbers,
    same,
)

_TOTAL = re.compile(
    r"\b(?:total\w{0,4}|altogether|in all|sum|spent|overall|combined|together|adds? up|comes? to|amounts? "
    r"to|balance)\b",
    re.IGNORECASE,
)
_ENDS_IN_AMOUNT = re.compile(r"[ |\t,][$€£]? ?(-?\d[\d,]{0,12}\.\d{2})\s{0,4}\|?$")
_BLOCK_CHARS = 600
_FIX = "Count again what the record lists."


def totals(reading: Reading) -> Iterator[Point]:
    """Finds a total that is no sum of recorded amounts. The record has one list of amounts, whose sum the answer does
    not give."""
    columns = [column for call in reading.record.worked for column in _columns(call)]
    for sentence in reading.sentences if columns else ():
        if not _TOTAL.search(sentence.text) or is_unreal(sentence.text):
            continue
        for number in numbers(sentence.text):
            if reading.knows(number) or reading.works_out(number) or is_hedged(sentence, number.start):
                continue
            near = [
                (total, block)
                for total, block in columns
                if 0.5 < number.value / total < 2 and not same(total, number.value)
            ]
            if len(near) == 1 and not any(same(near[0][0], said) for said in reading.said):
                yield Point(
                    "wrong_fact", number.text, near[0][1], f"The amounts on record add up to {near[0][0]:.10g}.", _FIX
                )


def _columns(call: PastCall) -> Iterator[tuple[float, str]]:
    """The sums of amounts that stand under each other, each with the rows they stand in."""
    by_key: dict[tuple[tuple[str, ...], str], list[tuple[float, Item]]] = {}
    for item in call.items:
        for field in item.fields:
            if isinstance(field.value, float):
                by_key.setdefault((item.place, field.key), []).append((field.value, item))
    for (_, key), column in by_key.items():
        if 2 <= len(column) <= 100 and any(value != int(value) for value, _ in column):
            yield sum(value for value, _ in column) or 1.0, _block_of([item for _, item in column], key)
    lines = [line for line in call.text.splitlines() if _ENDS_IN_AMOUNT.search(line)] if not call.is_json else []
    amounts = [float(found[1].replace(",", "")) for line in lines if (found := _ENDS_IN_AMOUNT.search(line))]
    if len(amounts) >= 2 and not any(_TOTAL.search(line) for line in lines):
        yield (
            sum(amounts) or 1.0,
            call.text[call.text.find(lines[0]) : call.text.rfind(lines[-1]) + len(lines[-1])][:_BLOCK_CHARS],
        )


def _block_of(group: list[Item], key: str) -> str:
    """The part of the record that has these items."""
    text = group[0].call.text
    begin, last = text.find(group[0].quote(key)), text.rfind(group[-1].quote(key))
    return text[max(0, begin) : last + len(group[-1].quote(key))][:_BLOCK_CHARS]
