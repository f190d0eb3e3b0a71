"""What is on record, as rows of typed values: what an answer's words can be aligned with.

A row is a JSON object, a row of a table or a line of a text. Rows of one kind stand in one group: the objects of a
list, the rows of a table, the lines of a text, the results of several calls of one tool.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.record import Item, PastCall, Record
from sidemirror_server.models.adapters.rules.pointing.texts import (
    name_words,
    numbers,
    stem,
    stem_set,
    tokens_of,
    word_set,
)

Value = tuple[str, str | float]
# With its kind, and where it begins and ends in its text.
TypedValue = tuple[Value, str, int, int]

_MOST_ROWS, _MOST_LINES, _LINE_CHARS = 400, 200, 300
# So many values of the object that has a list belong to each of its items as well.
_MOST_INHERITED = 30
CLOCK = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d)(?::[0-5]\d)?(?: ?(?P<half>[ap])\.?m\b)?|"
    r" ?(?P<half_of_hour>[ap])\.?m\b)",
    re.I,
)
_ID = re.compile(
    r"(?<![\w/])#?(?=[\w./@-]{0,40}\d)(?=[\w./@-]{0,40}[A-Za-z])[A-Za-z0-9][\w-]{2,40}(?![\w@])|\b\d{6,18}\b"
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|(?<![\w/])(?:[\w.-]{1,60}/){1,10}[\w.-]{1,60}"
)
_VERSION = re.compile(r"(?<![\w.-])v?\d{1,4}(?:\.\d{1,4}){2,4}(?![\w-]|\.\d)")
# Names of persons, places and things: two capitalised words and more.
_NAMED = re.compile(r"[A-ZÀ-Þ][\w.'’-]{1,20}(?: (?:de|van|von|da|of|the|[A-ZÀ-Þ][\w.'’-]{0,20})){1,4}")
# "level 1", "segment 2": what a number of one digit is told with.
_COUNTED = re.compile(r"\b([A-Za-z]{3,20}) #?(\d)\b(?![.,:]\d)")
_HEX = re.compile(r"[0-9a-f]{7,40}")
_NAME_CHARS = 40
DIGITS = frozenset(map(float, range(10)))
# The least weight by which a text speaks of a row: one word that only this row has, or more where the row is a line or
# the value is a name. Then what it may weigh for other rows, and the weight of a value. Chosen here.
_LEAST_WEIGHT, _MORE_THAN_A_WORD, _MOST_BESIDE, _VALUE_WEIGHT = 0.99, 1.1, 0.5, 1.5
_LITTLE = 0.3
_SPREAD = 0.8
_KINDS = word_set("% gb mb kb tb ms s sec min h km m kg g l mbps kwh mi ft lbs °c °f days hours minutes seconds nights")
# What these say is told of many things, and names none.
_STATE_KEYS = stem_set("status state")
_MONTHS = frozenset(
    map(
        stem,
        word_set(
            "january february march april june july august september october november december jan feb mar apr "
            "jun jul aug sep sept oct nov dec"
        ),
    )
)
_SEGMENT = re.compile(r" \| |; |(?<=[a-z)])\. (?=[A-Z])")


class Cell:
    """One value of a row. `key`: what values of other rows share with it; `name`: the words of its key."""

    __slots__ = ("inherited", "key", "name", "quote", "values")

    def __init__(
        self, key: str, values: frozenset[Value], quote: str, name: frozenset[str], *, inherited: bool = False
    ) -> None:
        self.key, self.values, self.quote, self.name, self.inherited = key, values, quote, name, inherited


class FactRow:
    """What stands together on record. `words`: what it can be aligned by. `values`: those of its cells."""

    __slots__ = ("cells", "group", "item", "values", "words")

    def __init__(self, group: tuple[object, ...], words: frozenset[str], cells: list[Cell], item: Item | None) -> None:
        self.group, self.words, self.cells, self.item = group, words, cells, item
        self.values = frozenset[Value]().union(*(cell.values for cell in cells))


class RowGroup:
    """Rows of one kind. A word counts for a row by how few of them have it; what all have names none."""

    def __init__(self, rows: list[FactRow]) -> None:
        self.rows = rows
        self._owners: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            for word in row.words:
                self._owners.setdefault(word, []).append(place)

    @cached_property
    def values(self) -> frozenset[Value]:
        return frozenset[Value]().union(*(row.values for row in self.rows))

    @cached_property
    def names(self) -> list[tuple[str, Value]]:
        """Its names of persons, places and things, as they are written."""
        return [(str(value[1]), value) for value in self.values if value[0] == "text"]

    def weights(self, words: frozenset[str]) -> dict[int, float]:
        """How much these words speak of each row, by its place."""
        found: dict[int, float] = {}
        for word in words:
            owners = self._owners.get(word, ())
            weight = _VALUE_WEIGHT if "=" in word else 1.0
            for place in owners if len(owners) < len(self.rows) else ():
                found[place] = found.get(place, 0.0) + weight / len(owners) ** _SPREAD
        return found

    def meant(self, words: frozenset[str], *, by_a_word: bool = False) -> list[FactRow]:
        """The rows that these words speak of; none if others are spoken of as well, a little. `by_a_word`: one word is
        enough, unless the rows are lines."""
        found = self.weights(words)
        best = max(found.values(), default=0.0)
        if best < (_LEAST_WEIGHT if by_a_word and self.rows[0].item is not None else _MORE_THAN_A_WORD):
            return []
        meant = [place for place, weight in found.items() if weight >= best / 2]
        beside = any(max(_MOST_BESIDE, best * _LITTLE) < weight < best / 2 for weight in found.values())
        return [] if beside else [self.rows[place] for place in sorted(meant)]


class Facts:
    """The rows of all results that worked."""

    def __init__(self, record: Record) -> None:
        self.rows = list(itertools.islice(_rows(record), _MOST_ROWS))

    @cached_property
    def names(self) -> frozenset[Value]:
        """The names of persons, places and things in it."""
        return frozenset(value for row in self.rows for value in row.values if value[0] == "text")

    @cached_property
    def groups(self) -> list[RowGroup]:
        """The groups that have several rows."""
        found: dict[tuple[object, ...], list[FactRow]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return [RowGroup(rows) for rows in found.values() if len(rows) > 1]


def typed(text: str) -> tuple[TypedValue, ...]:
    """The values of a text, each with its kind, and where it stands: days, times, identifiers and quantities."""
    return _typed_short(text) if len(text) <= _LINE_CHARS else tuple(_typed(text))


# A judgement reads the same cells and lines for each claim anew.
@lru_cache(maxsize=4_096)
def _typed_short(text: str) -> tuple[TypedValue, ...]:
    return tuple(_typed(text))


def _typed(text: str) -> Iterator[TypedValue]:
    for day in days(text):
        yield ("day", f"{day.month}-{day.day}"), "day", day.start, day.end
    for match in CLOCK.finditer(text):
        hour, minute = clock(match)
        yield ("time", f"{hour}:{minute:02}"), "time", match.start(), match.end()
    for match in _ID.finditer(text):
        yield ("id", match[0].lstrip("#").casefold()), "id" + shape(match[0]), match.start(), match.end()
    for match in _VERSION.finditer(text):
        yield ("id", match[0].lstrip("v")), "idversion", match.start(), match.end()
    for number in numbers(text):
        kind = "money" if number.money else number.unit if number.unit in _KINDS else ""
        yield ("number", round(abs(number.value), 6)), "number" + kind, number.start, number.end


def clock(match: re.Match[str]) -> tuple[int, int]:
    """The hour and minute of a time of `CLOCK`."""
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if half := match["half"] or match["half_of_hour"]:
        hour = hour % 12 + (12 if half.casefold() == "p" else 0)
    return hour, minute


def aligned(text: str) -> frozenset[str]:
    """What a text can be aligned by: its words, those within names too, and its values."""
    counted = (f"{stem(match[1])}={match[2]}" for match in _COUNTED.finditer(text))
    return _words_in(text) | marks(value for value, *_ in typed(text)) | frozenset(counted)


@lru_cache(maxsize=4_096)
def _words_in(text: str) -> frozenset[str]:
    return frozenset(word for word in (*tokens_of(text), *name_words(text)) if len(word) > 2) - _MONTHS


def marks(values: Iterable[Value]) -> frozenset[str]:
    """Values as words. Numbers of one digit are none: they stand everywhere."""
    return frozenset(
        f"={value:g}" if isinstance(value, float) else f"={value}" for _, value in values if value not in DIGITS
    )


def shape(text: str) -> str:
    """How an identifier is made: runs of letters and digits, without their length."""
    if _HEX.fullmatch(text):
        return "hex"
    return re.sub(r"[A-Za-z]+", "a", re.sub(r"\d+", "0", text.lstrip("#")))[:20]


def _rows(record: Record) -> Iterator[FactRow]:
    for call in record.worked:
        items = [item for item in call.items if item.fields]
        if call.text.lstrip()[:1] in {"{", "["} and call.is_json:
            for item in items:
                yield _of_item(item)
        else:
            tabled = [item for item in items if item.listed]
            for item in tabled:
                yield _of_item(item)
            if len(tabled) < 2:
                yield from _of_lines(call)


def _of_item(item: Item) -> FactRow:
    cells = [
        _cell(field.key, field.value, field.quote, frozenset(field.name))
        for field in item.fields
        if field.value is not None
    ]
    words = _words(item) | marks(value for cell in cells for value in cell.values) | _counted(item)
    up, depth = item.parent, 0
    while up is not None and depth < 3:
        if item.listed:
            cells += [
                _cell(field.key, field.value, field.quote, frozenset(field.name), inherited=True)
                for field in up.fields[:_MOST_INHERITED]
                if isinstance(field.value, str) and depth == 0
            ]
        words |= _words(up) | _counted(up)
        up, depth = up.parent, depth + 1
    root = item.parent is None
    if root:
        words |= frozenset(word for text in item.call.asked for word in aligned(text))
    keys = "" if item.listed or root else ",".join(sorted(field.key for field in item.fields))
    return FactRow((item.call.name, item.place, keys), words, cells, item)


def _counted(item: Item) -> frozenset[str]:
    """Its numbers of one digit, with the last word of their names."""
    fields = [field for field in item.fields if isinstance(field.value, float) and field.name]
    return frozenset(f"{one.name[-1]}={one.value:g}" for one in fields if one.value in DIGITS)


def _words(item: Item) -> frozenset[str]:
    if item.words is not None:
        return item.words
    texts = [
        field.value[:80] for field in item.fields if isinstance(field.value, str) and not set(field.name) & _STATE_KEYS
    ]
    texts += [*item.path[-1:], *item.plain]
    item.words = frozenset[str]().union(*map(_words_in, texts))
    return item.words


def _cell(key: str, value: object, quote: str, name: frozenset[str], *, inherited: bool = False) -> Cell:
    values: set[Value] = set()
    if isinstance(value, float):
        values.add(("number", round(abs(value), 6)))
    elif isinstance(value, str):
        values |= {one for one, *_ in typed(value[:80])}
        if len(value) <= _NAME_CHARS and _NAMED.fullmatch(value):
            values.add(("text", value))
    return Cell(key, frozenset(values), quote, name, inherited=inherited)


def _of_lines(call: PastCall) -> Iterator[FactRow]:
    for line in call.text.splitlines()[:_MOST_LINES]:
        for part in _SEGMENT.split(line) if len(line) > 40 else (line,):
            text = part.strip()
            if not 3 < len(text) <= _LINE_CHARS:
                continue
            counts: Counter[str] = Counter()
            cells = []
            for value, kind, *_ in typed(text):
                if kind == "number":
                    continue
                counts[kind] += 1
                cells.append(Cell(f"{kind}/{counts[kind]}", frozenset((value,)), text, frozenset()))
            for place, match in enumerate(_NAMED.finditer(text)):
                cells.append(Cell(f"text/{place}", frozenset({("text", match[0])}), text, frozenset()))
            yield FactRow((call.place, "line"), aligned(text), cells, None)
