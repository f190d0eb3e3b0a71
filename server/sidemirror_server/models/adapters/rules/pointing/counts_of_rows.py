"""How many there are, against how many rows a result has."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.counts import NO_THINGS
from sidemirror_server.models.adapters.rules.pointing.counts_of_kinds import BLOCK_CHARS, kinds_of
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Call
from sidemirror_server.models.adapters.rules.pointing.texts import (
    numbers,
    words_of,
)

_LEAST_ROWS = 3
_RANGE = re.compile(r"\s?[-–—/]")
_ROWS_TOLD = re.compile(r"\((\d{1,6}) rows?\)")
_FIX = "Count again what the record lists."


def counts_of_rows(reading: Reading) -> Iterator[Point]:
    """How many things that the request names, where the one result with nearly as many rows has one more or
    fewer."""
    counted = [(count, block) for call in reading.record.worked for count, block in _rows(call)]
    kinds = list(kinds_of(reading.record.items))
    for sentence in reading.sentences if counted else ():
        if is_unreal(sentence.text):
            continue
        for number in numbers(sentence.text, spelled=True):
            after = words_of(sentence.text[number.end :].split(",")[0])[:4]
            if number.money or number.places or number.value < _LEAST_ROWS or is_hedged(sentence, number.start):
                continue
            if (
                _RANGE.match(sentence.text, number.end)
                or number.value in reading.quantities
                or not set(after) & reading.record.request_words
                or set(after[:1]) & NO_THINGS
            ):
                continue
            near = {count: block for count, block in counted if abs(count - number.value) <= 1}
            if len(near) == 1 and number.value not in near and not any(have == number.value for _, _, have, _ in kinds):
                ((count, block),) = near.items()
                if count not in reading.said:
                    end = sentence.text.find(" ", number.end + 1)
                    quote = sentence.text[number.start : end if end >= 0 else len(sentence.text)].rstrip(".,:; ")
                    yield Point("wrong_fact", quote, block, f"The record has {count:g}.", _FIX)


def _rows(call: Call) -> Iterator[tuple[float, str]]:
    """How many rows a result has, and the text of these rows."""
    told = _ROWS_TOLD.search(call.text)
    if told is not None:
        yield float(told[1]), call.text[max(0, told.start() - 200) : told.end()]
    elif call.is_json:
        for item in call.items:
            for key, values in item.lists.items():
                at = call.text.find(f'"{key}"') if key else 0
                yield float(len(values)), call.text[max(0, at) :][:BLOCK_CHARS]
    else:
        lines = [line for line in call.text.splitlines() if line.strip()]
        listed = [item for item in call.items if item.listed]
        if listed:
            yield float(len(listed)), call.text[:BLOCK_CHARS]
        elif len(lines) >= _LEAST_ROWS and len({len(line.split()) > 12 for line in lines}) == 1:
            yield float(len(lines)), call.text[:BLOCK_CHARS]
