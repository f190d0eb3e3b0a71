"""Does anything of one customer stand in what is told to others? For `bench/recoveries.py`, over all tau episodes.

The list is every id, name, order, payment, address and date of birth that occurs in any tool call or result, by the
field that it stands in, and every text that has the form of one of tau's ids. It is held against what would be kept of
every observation (signature, move, labels), and against the sentence of every move, whether or not a gate lets it by.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bench.recovery_runs import Run
from sidemirror_server.memory.recoveries.moves import Recovery, Tally
from sidemirror_server.memory.recoveries.observation import recovery_id
from sidemirror_server.memory.recoveries.sentences import said
from sidemirror_server.trace.event import ToolCalled, ToolReturned

_FIELDS = re.compile(
    r"(?:^|_)(?:id|ids|email|zip|phone|phone_number|dob|date_of_birth|address1|address2|last_four|orders|reservations|"
    r"first_name|last_name|full_name|customer_id|line_ids|bill_ids|order_ids?|item_ids?)$"
)
_FORMS = re.compile(
    r"#W\d{5,}|\b[a-z]+_[a-z]+_\d{3,5}\b|\b(?:credit_card|gift_card|paypal|certificate)_\d+\b|\b\d{9,}\b|"
    r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{3}-\d{4}\b"
)
_FEWEST_CHARS = 3


def strangers(runs: Iterable[Run]) -> tuple[list[str], set[str], int]:
    """The leaks, as what was found where; the sentences; and how many values were looked for."""
    every = list(runs)
    values = {value for run in every for value in values_of(run)}
    rows = [row for run in every for row in run.observations]
    found = [
        said(Recovery(recovery_id(row.signature, row.move), row.signature, row.move, Tally(20, 20))) for row in rows
    ]
    sentences = {one.text for one in found if one is not None}
    kept = {"\n".join((row.signature, row.label, *row.then, *row.move.steps)) for row in rows}
    leaks = [f"{value!r} in {text!r}" for text in sorted(sentences | kept) for value in values_in(text, values)]
    return leaks, sentences, len(values)


def values_in(text: str, values: set[str]) -> list[str]:
    """The values that stand in a text as words of their own, or as several."""
    lowered = text.lower()
    return [
        value
        for value in values
        if value in lowered and re.search(rf"(?<![a-z0-9_]){re.escape(value)}(?![a-z0-9_])", lowered)
    ]


def values_of(run: Run) -> Iterator[str]:
    """The values of a run's customers, in lower case."""
    for event in run.events:
        match event.what:
            case ToolCalled(arguments=text) | ToolReturned(content=text):
                yield from (found.lower() for found in _FORMS.findall(text))
                yield from _fields(text)
            case _:
                pass


def _fields(text: str) -> Iterator[str]:
    try:
        parsed = json.loads(text)
    except ValueError:
        return
    yield from (value.lower() for name, value in _leaves(parsed, "") if _FIELDS.search(name) and _is_telling(value))


def _is_telling(value: str) -> bool:
    return len(value) >= _FEWEST_CHARS


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    elif isinstance(value, str):
        yield name, value
