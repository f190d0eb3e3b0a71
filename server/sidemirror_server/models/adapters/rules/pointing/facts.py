"""What is on record, as rows of typed values: what an answer's words can be aligned with.

A row is a JSON object, a row of a table or a line of a text. Rows of one kind stand in one group: the objects of a
list, the rows of a table, the lines of a text, the results of several calls of one tool.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.record import Item, PastCall, Record
from sidemirror_server.models.adapters.rules.pointing.texts import name_words, numbers, stem, tokens_of, word_set

Value = tuple[str, str | float]

_MOST_ROWS, _MOST_LINES, _LINE_CHARS = 400, 200, 300
_TIME = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?: ?(?P<half>[ap])\.?m\b)?", re.I
)
_ID = re.compile(
    r"(?<![\w/])#?(?=[\w./@-]{0,40}\d)(?=[\w./@-]{0,40}[A-Za-z])[A-Za-z0-9][\w-]{2,40}(?![\w@])|\b\d{6,18}\b"
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|(?<![\w/])(?:[\w.-]{1,60}/){1,10}[\w.-]{1,60}"
)
# Names of persons, places and things: two capitalised words and more.
_NAMED = re.compile(r"[A-ZÀ-Þ][\w.'’-]{1,20}(?: (?:de|van|von|da|of|the|[A-ZÀ-Þ][\w.'’-]{0,20})){1,4}")
_HEX = re.compile(r"[0-9a-f]{7,40}")
_NAME_CHARS = 40
_KINDS = word_set("% gb mb kb tb ms s sec min h km m kg g l mbps kwh mi ft lbs °c °f days hours minutes seconds nights")
# What these say is told of many things, and names none.
_STATE_KEYS = frozenset(map(stem, word_set("status state")))
_MONTHS = frozenset(
    map(
        stem,
        word_set(
            "january february march april june july august september october november december jan feb mar apr "
            "jun jul aug "
            "sep sept oct nov dec"
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
    """What stands together on record. `words`: what it can be aligned by. `own`: its cells without its parents'."""

    __slots__ = ("cells", "group", "item", "words")

    def __init__(self, group: tuple[object, ...], words: frozenset[str], cells: list[Cell], item: Item | None) -> None:
        self.group, self.words, self.cells, self.item = group, words, cells, item


class Facts:
    """The rows of all results that worked."""

    def __init__(self, record: Record) -> None:
        self.rows = list(_rows(record))[:_MOST_ROWS]


def typed(text: str) -> Iterator[tuple[Value, str, int, int]]:
    """The values of a text, each with its kind, and where it stands: days, times, identifiers and quantities."""
    for day in days(text):
        yield ("day", f"{day.month}-{day.day}"), "day", day.start, day.end
    for match in _TIME.finditer(text):
        hour = (
            int(match["hour"]) % 12 + (12 if match["half"].casefold() == "p" else 0)
            if match["half"]
            else int(match["hour"])
        )
        yield ("time", f"{hour}:{match['minute']}"), "time", match.start(), match.end()
    for match in _ID.finditer(text):
        yield ("id", match[0].lstrip("#").casefold()), "id" + shape(match[0]), match.start(), match.end()
    for number in numbers(text):
        kind = "money" if number.money else number.unit if number.unit in _KINDS else ""
        yield ("number", round(abs(number.value), 6)), "number" + kind, number.start, number.end


def aligned(text: str) -> frozenset[str]:
    """What a text can be aligned by: its words, those within names too, and its values."""
    return _words_in(text) | marks(value for value, *_ in typed(text))


@lru_cache(maxsize=4_096)
def _words_in(text: str) -> frozenset[str]:
    return frozenset(word for word in (*tokens_of(text), *name_words(text)) if len(word) > 2) - _MONTHS


def marks(values: Iterable[Value]) -> frozenset[str]:
    """Values as words. Numbers of one digit are none: they stand everywhere."""
    return frozenset(
        f"={value:g}" if isinstance(value, float) else f"={value}"
        for _, value in values
        if not isinstance(value, float) or value > 9
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
    words = _words(item) | marks(value for cell in cells for value in cell.values)
    up, depth = item.parent, 0
    while up is not None and depth < 3:
        if item.listed:
            cells += [
                _cell(field.key, field.value, field.quote, frozenset(field.name), inherited=True)
                for field in up.fields
                if isinstance(field.value, str) and depth == 0
            ]
        words |= _words(up)
        up, depth = up.parent, depth + 1
    root = item.parent is None
    if root:
        words |= frozenset(word for text in item.call.asked for word in aligned(text))
    keys = "" if item.listed or root else ",".join(sorted(field.key for field in item.fields))
    return FactRow((item.call.name, item.place, keys), words, cells, item)


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
            values.add(("text", value.casefold()))
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
            yield FactRow((call.place, "line"), aligned(text), cells, None)
