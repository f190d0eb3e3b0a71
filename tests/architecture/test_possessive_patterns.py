"""No pattern of ours holds in a possessive quantifier what Python before 3.11.5 matches wrongly there: alternatives, a
reference to a group, or another quantifier that may give back what it took.

Seen to fail: passwords in quotation marks stayed in what is stored.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import sidemirror_server

_POSSESSIVE = (codes.POSSESSIVE_REPEAT, codes.ATOMIC_GROUP)
_WRONG = (codes.BRANCH, codes.GROUPREF, codes.GROUPREF_EXISTS)
_GREEDY = (codes.MAX_REPEAT, codes.MIN_REPEAT)


def patterns_in(value: Any, depth: int = 4) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif depth and isinstance(value, dict | tuple | list | set | frozenset):
        for one in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(one, depth - 1)


def parts_of(node: Any) -> Iterator[tuple[Any, Any]]:
    """All parts of a parsed pattern, with those within them."""
    if isinstance(node, parser.SubPattern):
        for code, given in node:
            yield code, given
            yield from parts_of(given)
    elif isinstance(node, tuple | list):
        for one in node:
            yield from parts_of(one)


def is_wrong(pattern: str, flags: int = 0) -> bool:
    for code, given in parts_of(parser.parse(pattern, flags)):
        if code in _POSSESSIVE:
            for inner, what in parts_of(given):
                if inner in _WRONG or (inner in _GREEDY and what[0] != what[1]):
                    return True
    return False


def test_possessive_quantifiers_hold_nothing_that_gives_back() -> None:
    assert is_wrong(r"(?:a|bc)++")
    assert is_wrong(r"(?P<q>a)(?:(?!(?P=q))b)++")
    assert not is_wrong(r"(?:a++[bc])*+(?:d|ef)+")
    wrong, count = [], 0
    for module in pkgutil.walk_packages(sidemirror_server.__path__, "sidemirror_server."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in patterns_in(value):
                count += 1
                if is_wrong(pattern.pattern, pattern.flags):
                    wrong.append(f"{module.name}.{name}")
    assert wrong == []
    assert count > 100, "patterns are found"
