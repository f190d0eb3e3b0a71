"""Claims that are wrong by what the response was made from, or by arithmetic. Careful: silent when in doubt."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.response import Response

# Results longer than this are documents, not records; reading them costs more than it shows.
_READ_CHARS = 32_000
_MOST_KEYS = 200
_NUMBER = r"-?\d[\d,]*(?:\.\d+)?"
_COMPARED = re.compile(rf"({_NUMBER})(?: ?\([^)\n]{{0,40}}\))? ?(<=|>=|<|>) ?({_NUMBER})")
_SUM = re.compile(rf"(?<![\d.,/*+-])({_NUMBER}) ?([+*×x/-]) ?({_NUMBER}) ?= ?\$?({_NUMBER})(?![\d%])")
_FLAT = re.compile(r'"([A-Za-z_]\w{2,40})"\s*:\s*("(?:[^"\\\n]{1,60})"|-?\d+(?:\.\d+)?)')


def contradicted(response: Response) -> Iterator[tuple[str, str]]:
    """(quote of the response, reason) for each field of a tool's record that the response states otherwise.

    A field counts when it has one value in all that was given, and the response puts another number right beside the
    field's name that nothing given mentions.
    """
    values = _fields("\n".join(step.text[:_READ_CHARS] for step in response.worked))
    for name, value in values.items():
        spoken = re.escape(name).replace("_", r"[ _]")
        stated = re.compile(rf"\b{spoken}\b[ \t]*(?:is|was|of|:|=|are)[ \t]*\$?({_NUMBER})", re.IGNORECASE)
        for match in stated.finditer(response.text):
            said = _value(match[1])
            if said is None or said == value or _mentions(response.material, match[1]):
                continue
            if _mentions(response.evidence.question, match[1]):
                continue
            yield match[0], f"The evidence has {name} {value:g}, and the response says {match[1].rstrip(',')}."


def miscalculated(text: str) -> Iterator[tuple[str, str]]:
    """(quote, reason) for each sum or comparison of two numbers that is wrong."""
    for match in _COMPARED.finditer(text):
        left, right = _value(match[1]), _value(match[3])
        if left is not None and right is not None and not _holds(left, match[2], right):
            yield match[0], "This comparison of numbers is wrong."
    for match in _SUM.finditer(text):
        result = _calculated(match[1], match[2], match[3])
        said = _value(match[4])
        if result is not None and said is not None and abs(result - said) > max(0.01, abs(result) * 0.005):
            yield match[0], "This calculation is wrong."


def _fields(text: str) -> dict[str, float]:
    """Fields of JSON-like records that have one numeric value throughout."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, value in _FLAT.findall(text):
        if len(found) < _MOST_KEYS or name in found:
            found[name.casefold()].add(value)
    single: dict[str, float] = {}
    for name, spelled in found.items():
        value = _value(json.loads(min(spelled))) if len(spelled) == 1 else None
        if value is not None:
            single[name] = value
    return single


def _value(text: object) -> float | None:
    try:
        return float(str(text).replace(",", "").replace("$", ""))
    except ValueError:
        return None


def _mentions(text: str, number: str) -> bool:
    plain = number.replace(",", "").rstrip(".")
    return re.search(rf"(?<![\d.]){re.escape(plain)}(?!\d)", text.replace(",", "")) is not None


def _holds(left: float, sign: str, right: float) -> bool:
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign]


def _calculated(left: str, sign: str, right: str) -> float | None:
    one, other = _value(left), _value(right)
    if one is None or other is None:
        return None
    if sign == "/":
        return one / other if other else None
    return one + other if sign == "+" else one - other if sign == "-" else one * other
