"""How many there are, against what the record counts or lists."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Call, Field, Item
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Number,
    Sentence,
    name_words,
    numbers,
    same,
    stem_set,
    words_of,
)

# Keys of how many there are, as a whole or as a part of a key.
_COUNTS = frozenset({"count", "total", "num", "length", "size", "found", "hit", "match", "row", "result", "n"})
_NO_THINGS = stem_set(
    "second minute hour day week month year time ms percent dollar euro usd eur gb mb kb degree point "
    "item people way "
    "more other further further star bag passenger piece night adult child step option"
)
_BLOCK_CHARS = 600
_LEAST_ROWS = 3
_RANGE = re.compile(r"\s?[-–—/]")
_ROWS_TOLD = re.compile(r"\((\d{1,6}) rows?\)")
_FOLLOWS = re.compile(r"(?: [A-Za-z]{2,15}){1,6}")
_BETWEEN = frozenset(words_of("them those these which still are is were was currently now remain total"))
_TOTAL = re.compile(
    r"\b(?:total\w{0,4}|altogether|in all|sum|spent|overall|combined|together|adds? up|comes? to|amounts? "
    r"to|balance)\b",
    re.IGNORECASE,
)
_ENDS_IN_AMOUNT = re.compile(r"[ |\t,][$€£]? ?(-?\d[\d,]{0,12}\.\d{2})\s{0,4}\|?$")
_NAMED = re.compile(
    r"\b(?:sizes?|versions?|lines?|steps?|numbers?|no\.?|pages?|items?|rows?|terminal|gate|room|zone|step) $",
    re.IGNORECASE,
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


def counts_of_rows(reading: Reading) -> Iterator[Point]:
    """How many things that the request names, where the one result with nearly as many rows has one more or
    fewer."""
    counted = [(count, block) for call in reading.record.worked for count, block in _rows(call)]
    kinds = list(_kinds(reading.record.items))
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
                or set(after[:1]) & _NO_THINGS
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
                yield float(len(values)), call.text[max(0, at) :][:_BLOCK_CHARS]
    else:
        lines = [line for line in call.text.splitlines() if line.strip()]
        listed = [item for item in call.items if item.listed]
        if listed:
            yield float(len(listed)), call.text[:_BLOCK_CHARS]
        elif len(lines) >= _LEAST_ROWS and len({len(line.split()) > 12 for line in lines}) == 1:
            yield float(len(lines)), call.text[:_BLOCK_CHARS]


def counts_of_kinds(reading: Reading) -> Iterator[Point]:
    """How many of some things are `unread`, `failed` or another value of a field, against how many the record lists."""
    groups = list(_kinds(reading.record.items))
    for sentence in reading.sentences if groups else ():
        if is_unreal(sentence.text):
            continue
        for number in numbers(sentence.text, spelled=True):
            if (
                number.money
                or number.places
                or is_hedged(sentence, number.start)
                or number.unit == "%"
                or _NAMED.search(sentence.text[: number.start])
            ):
                continue
            follows = _FOLLOWS.match(sentence.text, number.end)
            words = words_of(follows[0]) if follows else []
            fits = [
                (have, quote)
                for kind, things, have, quote in groups
                if kind in words and all(word in things or word in _BETWEEN for word in words[: words.index(kind)])
            ]
            if number.value in reading.quantities:
                continue
            if len(fits) == 1 and fits[0][0] != number.value and fits[0][0] not in reading.said:
                quote = sentence.text[number.start : follows.end() if follows else number.end]
                yield Point("wrong_fact", quote, fits[0][1], f"The record lists {fits[0][0]:g}.", _FIX)


def _kinds(items: list[Item]) -> Iterator[tuple[str, frozenset[str], float, str]]:
    """For each value of a field of several items: its stem, the words for these items, how many have it, and a row."""
    groups: dict[tuple[int, tuple[str, ...]], list[Item]] = {}
    for item in items:
        groups.setdefault((item.call.place, item.place), []).append(item)
    for (_, place), group in groups.items():
        if not 2 <= len(group) <= 200:
            continue
        things = frozenset(word for key in place for word in name_words(key)) | group[0].call.words
        for field in group[0].fields:
            values = [item.value(field.key) for item in group]
            if all(isinstance(value, bool) for value in values) and field.name:
                have = [item.quote(field.key) for item, value in zip(group, values, strict=True) if value is True]
                yield field.name[-1], things, float(len(have)), _block(group, field.key)
            elif all(isinstance(value, str) and len(value) <= 20 for value in values) and 2 <= len(set(values)) <= 8:
                for value in set(values):
                    if len(words_of(str(value).replace("_", " "))) == 1:
                        many = float(values.count(value))
                        yield words_of(str(value))[0], things, many, _block(group, field.key)


def _block(group: list[Item], key: str) -> str:
    """The part of the record that has these items."""
    text = group[0].call.text
    begin, last = text.find(group[0].quote(key)), text.rfind(group[-1].quote(key))
    return text[max(0, begin) : last + len(group[-1].quote(key))][:_BLOCK_CHARS]


def totals(reading: Reading) -> Iterator[Point]:
    """A total that no sum comes to, where the record has one list of amounts, whose sum the answer does not have."""
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


def _columns(call: Call) -> Iterator[tuple[float, str]]:
    """The sums of amounts that stand under each other, each with the rows they stand in."""
    by_key: dict[tuple[tuple[str, ...], str], list[tuple[float, Item]]] = {}
    for item in call.items:
        for field in item.fields:
            if isinstance(field.value, float):
                by_key.setdefault((item.place, field.key), []).append((field.value, item))
    for (_, key), column in by_key.items():
        if 2 <= len(column) <= 100 and any(value != int(value) for value, _ in column):
            yield sum(value for value, _ in column) or 1.0, _block([item for _, item in column], key)
    lines = [line for line in call.text.splitlines() if _ENDS_IN_AMOUNT.search(line)] if not call.is_json else []
    amounts = [float(found[1].replace(",", "")) for line in lines if (found := _ENDS_IN_AMOUNT.search(line))]
    if len(amounts) >= 2 and not any(_TOTAL.search(line) for line in lines):
        yield (
            sum(amounts) or 1.0,
            call.text[call.text.find(lines[0]) : call.text.rfind(lines[-1]) + len(lines[-1])][:_BLOCK_CHARS],
        )


def _against(
    reading: Reading, sentence: Sentence, number: Number, counted: list[tuple[frozenset[str], float, str]]
) -> tuple[float, str] | None:
    """The record's count of what the number counts, and its quote; None if it is the same or not known."""
    after = words_of(sentence.text[number.end :].split(",")[0].split(" - ")[0])[:3]
    if not after or after[0] in _NO_THINGS:
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
