"""JSON with comments and trailing commas, read with the place of everything in it. Pure.

The files of hosts are people's own. They are changed by inserting and cutting text at these places, so that comments,
order and white space stay as they are; a library that reads and writes anew keeps most of that, and not all.
"""

import json
import re
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BEYOND = re.compile(
    rf'"(?:[^"\\]|\\.)*"|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<comma>,)(?={_BLANK.pattern}[}}\]])', re.DOTALL
)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')

_BYTE_ORDER_MARK = "\ufeff"
# Chosen here: settings of hosts are some ten deep, and Python's stack ends at some hundreds.
_DEEPEST = 200


class BadFile(Exception):
    """The text is not JSON, with or without comments."""


class Beyond(StrEnum):
    """What stands in such files beyond JSON."""

    COMMENT = "comment"
    COMMA = "comma"


class JsonNode(Struct, frozen=True):
    """A value at `start` to `end`. `members`: of an object, in order; `items`: of a list. None for everything else.
    `named_at`: where the name of a member begins, -1 for what is none."""

    start: int
    end: int
    members: tuple[tuple[str, "JsonNode"], ...] | None = None
    items: tuple["JsonNode", ...] | None = None
    scalar: Any = None
    named_at: int = -1

    def member(self, name: str) -> "JsonNode | None":
        """The object's member of this name."""
        return next((node for key, node in self.members or () if key == name), None)


def parsed(text: str) -> JsonNode:
    """The value that a text is. Raises BadFile, which names the line."""
    start = _after_blank(text, 1 if text.startswith(_BYTE_ORDER_MARK) else 0)
    node = _value(text, start, 0)
    if _after_blank(text, node.end) != len(text):
        raise _bad(text, node.end, "there is more than one value")
    return node


def value_of(node: JsonNode) -> Any:
    """What a node stands for, without its places."""
    if node.members is not None:
        return {key: value_of(child) for key, child in node.members}
    if node.items is not None:
        return [value_of(child) for child in node.items]
    return node.scalar


def beyond_json(text: str) -> dict[Beyond, str]:
    """The line of the first comment, and of the first comma before a closing bracket. `text`: one that `parsed`
    takes."""
    found: dict[Beyond, str] = {}
    for match in _BEYOND.finditer(text):
        if match.lastgroup:
            found.setdefault(Beyond(match.lastgroup), line_of(text, match.start()))
    return found


def _value(text: str, start: int, depth: int) -> JsonNode:
    opening = text[start : start + 1]
    if opening in ("{", "["):
        if depth == _DEEPEST:
            raise BadFile(f"{line_of(text, start)}: it is nested more than {_DEEPEST} deep")
        return _container(text, start, depth + 1, closing="}" if opening == "{" else "]")
    found = _SCALAR.match(text, start)
    if found is None:
        raise _bad(text, start, "a value is expected")
    try:
        return JsonNode(start, found.end(), scalar=json.loads(found[0]))
    except ValueError as error:
        raise _bad(text, start, "a value is expected") from error


def _container(text: str, start: int, depth: int, closing: str) -> JsonNode:
    members: list[tuple[str, JsonNode]] = []
    items: list[JsonNode] = []
    at = _after_blank(text, start + 1)
    while text[at : at + 1] != closing:
        if closing == "}":
            key = _value(text, at, depth)
            at = _after_blank(text, key.end)
            if not isinstance(key.scalar, str) or text[at : at + 1] != ":":
                raise _bad(text, at, "a name and a colon are expected")
            value = _value(text, _after_blank(text, at + 1), depth)
            members.append((key.scalar, msgspec.structs.replace(value, named_at=key.start)))
        else:
            value = _value(text, at, depth)
            items.append(value)
        at = _after_blank(text, value.end)
        if text[at : at + 1] == ",":
            at = _after_blank(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _bad(text, at, f"a comma or {closing} is expected")
    if closing == "}":
        return JsonNode(start, at + 1, members=tuple(members))
    return JsonNode(start, at + 1, items=tuple(items))


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _bad(text: str, at: int, expected: str) -> BadFile:
    return BadFile(f"{line_of(text, at)}: {expected}")


def line_of(text: str, at: int) -> str:
    """The line at a place, such as "line 3"."""
    return f"line {text.count(chr(10), 0, at) + 1}"
