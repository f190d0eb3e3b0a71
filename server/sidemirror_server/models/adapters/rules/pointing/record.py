"""What is on record, as values with their names: fields of JSON, of lines such as `key: value`, and of tables."""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from sidemirror_server.models.adapters.rules.pointing.texts import Figure, name_words, numbers
from sidemirror_server.models.adapters.rules.wording import spoken_name
from sidemirror_server.models.evidence import Evidence, EvidenceStep

# Only this much of a result is read, and of all results together: longer ones are documents. In code points.
READ_CHARS, READ_CHARS_IN_ALL = 32_000, 100_000
# And of the arguments of a call.
ARGUMENT_CHARS = 2_000
_MOST_ITEMS = 600
_COMMANDS = frozenset({"cmd", "command", "args", "code", "query", "sql", "script", "statement", "input"})
_MOST_TRIES = 20
_DECODER = json.JSONDecoder()
# Only so many attempts fail: each reads on to where it does.
_OPENS = re.compile(r"(?:^|[\s:=])(?P<at>[{\[](?=[\s\"{\[\d\]}tfn-]))", re.MULTILINE)
_NAME_CHARS = 60
_LINE = re.compile(
    r"^[ \t*•-]{0,8}(?P<key>[A-Za-z][\w ./()%-]{0,40}?)[*\"'` ]{0,3}(?:[:=|]|\t)[ \t*\"'`]{0,4}(?P<value>[^\n|"
    r"]{1,120}?)[\"'`*, |]{0,4}$",
    re.MULTILINE,
)
_PAIR = re.compile(r"(?<![\w.])(?P<key>[A-Za-z_]\w{0,40})=(?P<value>\"[^\"\n]{0,80}\"|[^\s,;)\]\"]{1,80})")
_RULE = re.compile(r"^[\s|:+=-]+$")

_KEYS = re.compile(r"\"[\w -]{1,40}\"\s?:|^[ \t]{0,8}[A-Za-z][\w ]{0,30}:", re.MULTILINE)
_IS_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,12})?")

Scalar = str | float | bool | None


class PastCall:
    """One tool call and its outcome. `name`, `arguments` and `text` as recorded."""

    def __init__(self, place: int, name: str, arguments: str, text: str, *, failed: bool) -> None:
        self.place, self.name, self.arguments, self.text, self.failed = place, name, arguments, text, failed

    @cached_property
    def items(self) -> list["Item"]:
        """What its result has, as items."""
        return items_of(self)

    @cached_property
    def asked(self) -> list[str]:
        """The short texts among its arguments."""
        data = next((part for part in jsons_in(self.arguments) if isinstance(part, dict)), {})
        return [value for value in data.values() if _is_name(value)]

    @cached_property
    def command(self) -> str:
        """The command or code that it runs; empty if its arguments are of another kind, or JSON that was cut."""
        data = next((part for part in jsons_in(self.arguments) if isinstance(part, dict)), None)
        if data is None:
            text = self.arguments.strip()
            return "" if text.startswith(("{", "[")) else text
        return next((value for key, value in data.items() if key in _COMMANDS and isinstance(value, str)), "")

    @cached_property
    def is_json(self) -> bool:
        return any(not isinstance(part, str) for part in jsons_in(self.text))

    @cached_property
    def name_words(self) -> frozenset[str]:
        return frozenset(name_words(self.name))

    @cached_property
    def value_words(self) -> frozenset[str]:
        """The stems of what its result says, without the names of its fields."""
        return frozenset(name_words(_KEYS.sub(" ", self.text[:20_000])))

    @cached_property
    def spoken(self) -> str:
        """The name without what no name has."""
        return spoken_name(self.name)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the name and the arguments, those within identifiers too."""
        return self.name_words | frozenset(name_words(self.arguments[:ARGUMENT_CHARS]))


class DataField:
    """A named value. `name`: the words of its key, stemmed. `quote`: the record's own words for it."""

    __slots__ = ("item", "key", "name", "quote", "value")

    def __init__(self, key: str, value: Scalar, item: "Item", quote: str) -> None:
        self.key, self.value, self.item, self.quote = key, value, item, quote
        self.name = name_words(key)


class Item:
    """A record of fields that belong together: a JSON object, a row of a table, or the lines of a text.

    `path`: the keys that lead to it, without places in lists. `names`: what it may be called by, in lower case.
    """

    def __init__(self, path: tuple[str, ...], call: PastCall, parent: "Item | None", *, listed: bool = False) -> None:
        self.path, self.call, self.parent, self.listed = path, call, parent, listed
        self.fields: list[DataField] = []
        # The short texts of the lists among its values.
        self.plain: list[str] = []
        self.words: frozenset[str] | None = None

    @cached_property
    def names(self) -> frozenset[str]:
        own = {str(field.value).casefold() for field in self.fields if _is_name(field.value)}
        if not self.path and not self.listed:
            own |= {text.casefold() for text in self.call.asked}
        return frozenset(own | ({self.path[-1].casefold()} if self.path and not self.listed else set()))

    @property
    def place(self) -> tuple[str, ...]:
        """The keys that items of one kind share: of objects by name, those of the object that has them."""
        return self.path if self.listed or not self.path else (*self.path[:-1], "*")

    def value(self, key: str) -> Scalar:
        return next((field.value for field in self.fields if field.key == key), None)

    def quote(self, key: str) -> str:
        return next((field.quote for field in self.fields if field.key == key), "")

    def field(self, *keys: str) -> DataField | None:
        """The first field whose key is one of these, in lower case."""
        return next((field for field in self.fields if field.key.casefold() in keys), None)


class Record:
    """Everything on record, read once."""

    def __init__(self, evidence: Evidence) -> None:
        self.request = "\n".join(dict.fromkeys(filter(None, (evidence.task, evidence.question))))
        self.calls = list(_calls(evidence.steps))

    @cached_property
    def worked(self) -> list[PastCall]:
        return [call for call in self.calls if not call.failed]

    @cached_property
    def text(self) -> str:
        """The request, and what tools were called with and returned."""
        parts = [self.request, *(part for call in self.calls for part in (call.arguments, call.text))]
        return "\n".join(parts)

    @cached_property
    def folded(self) -> str:
        return self.text.casefold()

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number that stands anywhere on record, within identifiers too."""
        found = re.findall(r"\d{1,18}(?:\.\d{1,12})?", self.text)
        found += re.findall(r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,12})?", self.text)
        return frozenset(float(one.replace(",", "")) for one in found if len(one) < 20)

    @cached_property
    def figures(self) -> list[tuple[str, list[Figure]]]:
        """The request and each result, with the quantities in it."""
        texts = (self.request, *(call.text for call in self.calls))
        return [(text, list(numbers(text))) for text in texts]

    @cached_property
    def items(self) -> list[Item]:
        """The items of all results that worked, the oldest call first."""
        return [item for call in self.worked for item in call.items][:_MOST_ITEMS]

    @cached_property
    def fields(self) -> list[DataField]:
        return [field for item in self.items for field in item.fields]


def items_of(call: PastCall) -> list[Item]:
    """The items of one result."""
    items: list[Item] = []
    rest = []
    for part in jsons_in(call.text):
        if isinstance(part, str):
            rest.append(part)
        else:
            _walk(part, (), call, None, items)
    for part in rest:
        items += [*_table(part, call), *_lines(part, call)]
    return items


def jsons_in(text: str) -> Iterator[Any]:
    """The JSON objects and lists of a text, and the texts between them, in its order. One begins where a line does, or
    after a colon or a space."""
    begin = at = 0
    tries = 0
    while tries < _MOST_TRIES:
        match = _OPENS.search(text, at)
        if match is None:
            break
        try:
            data, end = _DECODER.raw_decode(text, match.start("at"))
        except ValueError:
            at, tries = match.end(), tries + 1
            continue
        except RecursionError:
            break
        if match.start("at") > begin:
            yield text[begin : match.start("at")]
        yield data
        begin = at = end
    if begin < len(text):
        yield text[begin:]


def _calls(steps: tuple[EvidenceStep, ...]) -> Iterator[PastCall]:
    arguments = {step.event_id: step.text for step in steps if step.kind == "tool_call"}
    left = READ_CHARS_IN_ALL
    found = []
    for place in range(len(steps) - 1, -1, -1):
        step = steps[place]
        if step.kind in {"tool_result", "tool_failure"} and left > 0:
            text = step.text[: min(READ_CHARS, left)]
            left -= len(text)
            called = arguments.get(step.answers, "") if step.answers else ""
            found.append(PastCall(place, step.name, called, text, failed=step.is_error))
    yield from reversed(found)


def _walk(
    data: Any,
    path: tuple[str, ...],
    call: PastCall,
    parent: Item | None,
    items: list[Item],
    *,
    listed: bool = False,
) -> None:
    if len(items) >= _MOST_ITEMS or len(path) > 12:
        return
    if isinstance(data, dict):
        item = Item(path, call, parent, listed=listed)
        items.append(item)
        data = {**data, **_named_rows(data, path, call, item, items)}
        for key, value in data.items():
            if isinstance(value, dict | list):
                item.plain += [one for one in value if isinstance(one, str) and len(one) <= _NAME_CHARS][:20]
                _walk(value, (*path, key), call, item, items)
            else:
                scalar = _as_scalar(value)
                item.fields.append(DataField(key, scalar, item, _spelled(call.text, key, value)))
    elif isinstance(data, list):
        if parent is None:
            parent = Item(path, call, None)
            items.append(parent)
        for value in data:
            _walk(value, path, call, parent, items, listed=True)


def _as_scalar(value: Any) -> Scalar:
    """A member of a JSON object or list that is neither. A number of which there is no float stays as it is written."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < _MOST_NUMBER else str(value)
    return value  # type: ignore[no-any-return]


_MOST_NUMBER = 10**300
_HEADINGS, _ROWS = ("columns", "fields", "headers", "header", "names"), ("rows", "values", "data", "records")


def _named_rows(
    data: dict[str, Any], path: tuple[str, ...], call: PastCall, item: Item, items: list[Item]
) -> dict[str, Any]:
    """Lists of values below a list of their names become items; returned is what is left of the two members."""
    for heading in _HEADINGS:
        names = data.get(heading)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            continue
        for key in _ROWS:
            rows = data.get(key)
            if (
                isinstance(rows, list)
                and rows
                and all(isinstance(row, list) and len(row) == len(names) for row in rows)
            ):
                for row in rows[:_MOST_ITEMS]:
                    made = Item((*path, key), call, item, listed=True)
                    text = json.dumps(row)
                    quote = text if text in call.text else json.dumps(row, separators=(",", ":"))
                    made.fields = [
                        DataField(name, _as_scalar(one), made, quote)
                        for name, one in zip(names, row, strict=True)
                        if not isinstance(one, dict | list)
                    ]
                    items.append(made)
                return {heading: [], key: []}
    return {}


def _spelled(text: str, key: str, value: Any) -> str:
    """How a member of a JSON object is written in its text."""
    for ascii_only in (False, True):
        name, said = (json.dumps(part, ensure_ascii=ascii_only) for part in (key, value))
        for between in (": ", ":", " : "):
            if (whole := f"{name}{between}{said}") in text:
                return whole
    return str(value)


def _lines(text: str, call: PastCall) -> Iterator[Item]:
    item = Item((), call, None)
    for match in _LINE.finditer(text):
        if len(match["key"].split()) <= 5:
            item.fields.append(_line_field(match, item))
    several = [[*_PAIR.finditer(line)] for line in text.splitlines()[:_MOST_ITEMS]]
    several = [pairs for pairs in several if pairs]
    # Lines of several pairs each are rows.
    rows = len(several) > 1 and all(len(pairs) > 1 for pairs in several[:2])
    for pairs in several:
        row = Item(("lines",), call, None, listed=True) if rows and len(pairs) > 1 else item
        row.fields += [_line_field(match, row) for match in pairs]
        if row is not item:
            yield row
    if item.fields:
        yield item


def _line_field(match: re.Match[str], item: Item) -> DataField:
    value = _scalar(match["value"].strip("\"' "))
    return DataField(match["key"].strip(), value, item, match[0].strip(" \t*•-|,"))


def _table(text: str, call: PastCall) -> Iterator[Item]:
    """The rows of a table with a header: cells between `|`, commas, tabs, or two and more spaces."""
    rows: list[tuple[str, list[str]]] = []
    for line in [*text.split("\n"), ""]:
        cells = _cells(line)
        if _RULE.match(line) and line.strip() and rows:
            continue
        if rows and len(cells) != len(rows[0][1]):
            yield from _rows(rows, call)
            rows = []
        if len(cells) > 1:
            rows.append((line.strip(), cells))


def _rows(rows: list[tuple[str, list[str]]], call: PastCall) -> Iterator[Item]:
    header = rows[0][1]
    if (
        len(rows) < 2
        or any(cell.endswith(":") for cell in header)
        or not all(cell and not cell.lstrip("$€£-+").startswith(tuple("0123456789")) for cell in header)
    ):
        return
    for line, cells in rows[1:]:
        item = Item((), call, None, listed=True)
        item.fields = [DataField(key, _scalar(cell), item, line) for key, cell in zip(header, cells, strict=True)]
        yield item


def _cells(line: str) -> list[str]:
    line = line.strip()
    if "|" in line:
        return [cell.strip() for cell in line.strip("|").split("|")]
    if "\t" in line:
        return [cell.strip() for cell in line.split("\t")]
    # Between columns of spaces a comma is one of a number.
    spaced = [cell for cell in re.split(r" {2,}", line) if cell]
    return spaced if len(spaced) > 2 or "," not in line else [cell.strip() for cell in line.split(",")]


def _scalar(text: str) -> Scalar:
    plain = text.replace(",", "").lstrip("$€£").rstrip("%").strip()
    if _IS_NUMBER.fullmatch(plain):
        return float(plain)
    return {"true": True, "false": False}.get(text.casefold(), text)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 2 < len(value) <= _NAME_CHARS and any(letter.isalpha() for letter in value)
