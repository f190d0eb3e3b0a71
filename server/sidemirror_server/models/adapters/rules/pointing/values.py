"""A number beside the name of a field whose value is another."""

from collections.abc import Iterator, Mapping
from typing import Any

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_named_by, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Field
from sidemirror_server.models.adapters.rules.pointing.texts import Number, Sentence, numbers, same

# Of fields by one name so many are looked at: among more a sentence hardly means one.
_MOST_ALIKE = 200
_FIX = "Take the value from the record."


def values(reading: Reading) -> Iterator[Point]:
    """Numbers that are nowhere on record, where the record has one value for the field that the answer names."""
    numeric: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Field]] = {}
    for field in reading.record.fields:
        if isinstance(field.value, float):
            numeric.setdefault((field.name, field.item.path[-1:]), []).append(field)
    if not numeric:
        return
    for sentence in reading.sentences:
        if is_unreal(sentence.text):
            continue
        for number in numbers(sentence.text):
            if is_hedged(sentence, number.start) or reading.knows(number):
                continue
            meant = _meant(reading, sentence, number, numeric)
            if meant is not None and not reading.works_out(number):
                quote = sentence.text[number.start : number.end]
                yield Point(
                    "wrong_fact", _around(sentence, number) or quote, meant.quote, "The record has another value.", _FIX
                )


def _meant(reading: Reading, sentence: Sentence, number: Number, numeric: Mapping[Any, list[Field]]) -> Field | None:
    context = reading.context(sentence, number.start, number.end)
    fields = [field for alike in numeric.values() if is_named_by(alike[0], context) for field in alike][:_MOST_ALIKE]
    most = max((len(field.name) for field in fields), default=0)
    fields = reading.about(sentence, [field for field in fields if len(field.name) == most])
    found = {field.value for field in fields}
    if len(found) != 1:
        return None
    (value,) = found
    if any(same(float(value), said.value) for said in numbers(sentence.text)):  # type: ignore[arg-type]
        return None
    return fields[-1]


def _around(sentence: Sentence, number: Number) -> str:
    """The number with the two words before it and the one after it, as they stand in the answer."""
    begin = sentence.text.rfind(" ", 0, max(0, sentence.text.rfind(" ", 0, max(0, number.start - 1)))) + 1
    end = sentence.text.find(" ", number.end + 1)
    return sentence.text[begin : end if end >= 0 else len(sentence.text)].strip()
