"""Finds things that the answer tells in the state of others of their kind.

`Ann and Bob have accepted`, where Bob's row says `tentative` and only Ann's `accepted`.
"""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.effects import is_out_of_date, last_change
from sidemirror_server.models.adapters.rules.pointing.facts import FactRow, RowGroup, aligned
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import DataField
from sidemirror_server.models.adapters.rules.pointing.states import STATE_KEYS
from sidemirror_server.models.adapters.rules.pointing.texts import name_words, stem

_SAYS = re.compile(
    r"(?P<subject>[^;:()\n]{2,100}?) (?:has|have|is|are|was|were)"
    r"(?: (?:now|already|been|also|all|both|fully|currently|still)){0,3} (?P<state>[a-z][a-z-]{3,18})\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:()\n]|,? (?:and|but|while|whereas) (?=[^,;]{2,60} (?:has|have|is|are|was|were) )")
_NOT = re.compile(
    r"\b(?:not|no|never|none|nobody|neither|nor|if|when|once|until|which|that|who|one|some)\b|n['’]t\b", re.I
)
_VALUE_CHARS, _FEW = 40, 2
_REASON, _FIX = "The record has it in another state.", "Tell the state that the record has."


def row_states(reading: Reading) -> Iterator[Point]:
    """Finds a state that other rows of a result have, told of a row with another one that the answer leaves out."""
    change = last_change(reading.record)
    groups = [(group, fields) for group in reading.facts.groups if (fields := _states(group, change))]
    for sentence in reading.sentences if groups else ():
        begin = 0
        for end in (*(cut.end() for cut in _CLAUSE.finditer(sentence.text)), len(sentence.text)):
            clause, begin = sentence.text[begin:end], end
            match = _SAYS.search(clause)
            if match is None or _NOT.search(match[0]) or is_unreal(clause):
                continue
            for group, fields in groups:
                field = _contradicted(reading, group, fields, match)
                if field is not None:
                    yield Point("wrong_fact", match[0].strip(" ,"), field.quote, _REASON, _FIX)
                    break


def _states(group: RowGroup, change: int) -> dict[int, DataField]:
    """The state of each row, by its place, unless a later call may have changed it; empty if all have the same."""
    found = {}
    for place, row in enumerate(group.rows):
        state = _state(row)
        if state is not None and not is_out_of_date(state.item.call, change):
            found[place] = state
    return found if len({field.value for field in found.values()}) > 1 else {}


def _state(row: FactRow) -> DataField | None:
    fields = row.item.fields if row.item is not None else ()
    found = [
        field
        for field in fields
        if frozenset(field.name) & STATE_KEYS and isinstance(field.value, str) and 2 < len(field.value) <= _VALUE_CHARS
    ]
    return found[0] if len(found) == 1 else None


def _contradicted(
    reading: Reading, group: RowGroup, fields: dict[int, DataField], match: re.Match[str]
) -> DataField | None:
    """The state of a row that the subject names, if others have what is said and it has something else, untold."""
    said = stem(match["state"])
    having = {place for place, field in fields.items() if said in name_words(str(field.value))}
    if not having:
        return None
    weights = group.weights(aligned(match["subject"]))
    named = [place for place, weight in weights.items() if weight >= 1 and place in fields]
    for place in named:
        words = name_words(str(fields[place].value))
        told = any(word[:5] in reading.folded for word in words)
        if place not in having and not told and not _has_been(group, place, having):
            return fields[place]
    return None


def _has_been(group: RowGroup, place: int, having: set[int]) -> bool:
    """Whether another row of several tells the same thing in the state that is said, at another time."""
    common = frozenset.intersection(*(row.words for row in group.rows))
    own = group.rows[place].words - common
    return len(group.rows) > _FEW and any(own & group.rows[other].words for other in having)
