"""Claims that a tool's record contradicts. Doubtful cases are not reported."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.arithmetic import NUMBER, number_in
from sidemirror_server.models.adapters.rules.response import Response

# In code points: how much of a result is read. Longer results are documents rather than records.
_READ_CHARS = 32_000
_MOST_KEYS = 200
_FLAT = re.compile(r'"([A-Za-z_]\w{2,40})"\s*:\s*("(?:[^"\\\n]{1,60})"|-?\d+(?:\.\d+)?)')


def contradicted(response: Response) -> Iterator[tuple[str, str]]:
    """Yields (quote of the response, reason) for each field of a tool's record that the response contradicts.

    A field counts if it has the same value in all results. The response contradicts a field if another number follows
    the field's name, unless the material or the question mentions that number.
    """
    values = _fields("\n".join(step.text[:_READ_CHARS] for step in response.worked))
    for name, value in values.items():
        spoken = re.escape(name).replace("_", r"[ _]")
        stated = re.compile(rf"\b{spoken}\b[ \t]*(?:is|was|of|:|=|are)[ \t]*\$?({NUMBER})", re.IGNORECASE)
        for match in stated.finditer(response.text):
            said = number_in(match[1])
            if said is None or said == value or _mentions(response.material, match[1]):
                continue
            if _mentions(response.evidence.question, match[1]):
                continue
            yield match[0], f"The evidence has {name} {value:g}, and the response says {match[1].rstrip(',')}."


def _fields(text: str) -> dict[str, float]:
    """Fields of JSON-like records that have the same numeric value wherever they occur."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, value in _FLAT.findall(text):
        if len(found) < _MOST_KEYS or name in found:
            found[name.casefold()].add(value)
    single: dict[str, float] = {}
    for name, spelled in found.items():
        value = number_in(json.loads(min(spelled))) if len(spelled) == 1 else None
        if value is not None:
            single[name] = value
    return single


def _mentions(text: str, number: str) -> bool:
    plain = number.replace(",", "").rstrip(".")
    return re.search(rf"(?<![\d.]){re.escape(plain)}(?!\d)", text.replace(",", "")) is not None
