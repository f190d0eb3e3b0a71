"""How many there are, against what the record counts or lists."""

from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Call, Field
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Number,
    Sentence,
    name_words,
    numbers,
    stem_set,
    words_of,
)

# Keys of how many there are, as a whole or as a part of a key.
_COUNTS = frozenset({"count", "total", "num", "length", "size", "found", "hit", "match", "row", "result", "n"})
NO_THINGS = stem_set(
    "second minute hour day week month year time ms percent dollar euro usd eur gb mb kb degree point "
    "item people way "
    "more other further further star bag passenger piece night adult child step option"
)
_FIX = "Count again what the record lists."


def counts(reading: Reading) -> Iterator[Point]:
    """Numbers before the name of things, where the record has one count of these things, and it is another."""
    counted = [found for call in reading.record.worked for found in _counted(call)]
    if not counted:
        return
    for sentence in reading.sentences:
        if is_unreal(sentence.text):
            continue
        for number in numbers(sentence.text, spelled=True):
            if number.money or number.places or is_hedged(sentence, number.start):
                continue
            found = _against(reading, sentence, number, counted)
            if found is not None:
                end = sentence.text.find(" ", number.end + 1)
                quote = sentence.text[number.start : end if end >= 0 else len(sentence.text)].rstrip(".,:; ")
                yield Point("wrong_fact", quote, found[1], f"The record has {found[0]:g}.", _FIX)


def _against(
    reading: Reading, sentence: Sentence, number: Number, counted: list[tuple[frozenset[str], float, str]]
) -> tuple[float, str] | None:
    """The record's count of what the number counts, and its quote; None if it is the same or not known."""
    after = words_of(sentence.text[number.end :].split(",")[0].split(" - ")[0])[:3]
    if not after or after[0] in NO_THINGS:
        return None
    fits = [(len(things & set(after)), count, quote) for things, count, quote in counted if things & set(after)]
    if not fits:
        return None
    most = max(fits)[0]
    found = {count: quote for fit, count, quote in fits if fit == most}
    if len(found) != 1 or number.value in found:
        return None
    ((count, quote),) = found.items()
    if count in reading.said or reading.knows(number):
        return None
    return count, quote


def _counted(call: Call) -> Iterator[tuple[frozenset[str], float, str]]:
    """The words for the things that are counted, how many there are, and the record's words for it."""
    asked = call.name_words | frozenset(name_words(call.arguments[:500]))
    for item in call.items[:500]:
        told = False
        for field in item.fields:
            if isinstance(field.value, float) and field.value == int(field.value) and set(field.name) & _COUNTS:
                yield (frozenset(set(field.name) - _COUNTS) | _about(field)) or asked, field.value, field.quote
                told = True
        if told:
            continue
        for key, values in item.lists.items():
            things = frozenset(name_words(key)) - _COUNTS
            yield things or asked, float(len(values)), f'"{key}":' if key else call.text[:80]


def _about(field: Field) -> frozenset[str]:
    """What an unnamed count counts: the lists beside it, else what was asked for."""
    beside = {word for key in field.item.lists for word in name_words(key)}
    return frozenset(beside | set(field.item.call.words))
