"""Finds sums and comparisons of two numbers in a text, and checks whether they are right."""

import re
from collections.abc import Iterator

import msgspec

NUMBER = r"-?\d[\d,]*(?:\.\d+)?"
# A match starts only at the start of a number: starting at every digit of a long number would take quadratic time.
_FROM_ITS_BEGINNING = r"(?:(?=-)|(?<!\d)(?<!\d,)(?<!,,))"
_COMPARED = re.compile(rf"{_FROM_ITS_BEGINNING}({NUMBER})(?: ?\([^)\n]{{0,40}}\))? ?(<=|>=|<|>) ?({NUMBER})")
_SUM = re.compile(rf"(?<![\d.,/*+-])({NUMBER}) ?([+*×x/-]) ?({NUMBER}) ?= ?\$?({NUMBER})(?![\d%])")
# A result within one of these differences (absolute, relative) counts as rounded, and so as right.
_ROUNDED, _ROUNDED_RATIO = 0.01, 0.005


class Worked(msgspec.Struct, frozen=True):
    """One sum or comparison, as written in the text. `result`: a sum's result as written; empty for a comparison."""

    quote: str
    holds: bool
    result: str = ""


def worked_out(text: str) -> Iterator[Worked]:
    """Every sum and comparison of two numbers in the text."""
    for match in _COMPARED.finditer(text):
        left, right = number_in(match[1]), number_in(match[3])
        if left is not None and right is not None:
            yield Worked(match[0], _compares(left, match[2], right))
    for match in _SUM.finditer(text):
        result, said = _calculated(match[1], match[2], match[3]), number_in(match[4])
        if result is not None and said is not None:
            off = abs(result - said)
            yield Worked(match[0], off <= max(_ROUNDED, abs(result) * _ROUNDED_RATIO), match[4])


def number_in(text: object) -> float | None:
    """`text` as a number; None if it is not one."""
    try:
        return float(str(text).replace(",", "").replace("$", ""))
    except ValueError:
        return None


def _compares(left: float, sign: str, right: float) -> bool:
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign]


def _calculated(left: str, sign: str, right: str) -> float | None:
    one, other = number_in(left), number_in(right)
    if one is None or other is None:
        return None
    if sign == "/":
        return one / other if other else None
    return one + other if sign == "+" else one - other if sign == "-" else one * other
