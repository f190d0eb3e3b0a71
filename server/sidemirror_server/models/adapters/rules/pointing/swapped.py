"""Finds values that the answer gives for a thing or under a name, where the record gives them for another."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.facts import (
    Cell,
    Facts,
    Group,
    Row,
    Value,
    aligned,
    marks,
    shape,
    typed,
)
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_denied, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken, name_words

_FIX = "Take it from the record."
_COMPARES = re.compile(
    r"\b(?:than|instead of|rather|unlike|whereas|compared|versus|vs|from \S{0,20}\d\S{0,20} to|another|other|both|"
    r"each|all|next|"
    r"before|previous\w{0,2}|earlier|later|after that|originally|until then|besides|difference|same)\b|→|->",
    re.IGNORECASE,
)
# What makes a sentence say something else than that it is so.
UNREAL = re.compile(
    r"\b(?:if|unless|might|could|should|(?-i:may)|suppose|e\.g|for example|such as|or|shall)\b", re.IGNORECASE
)
_SPANS = re.compile(r"\b(?:since|until|till|before|after)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[;:()](?!\d)|,(?!\d)|\s[-–—]\s|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
# What the words of the meant row must weigh, and which part of it those of any other may: chosen on the seen pairs.
_LEAST, _OTHERS, _OWN, _FAR = 1.0, 0.6, 0.25, 0.5
# How far two numbers of a column may lie from each other to be mistaken.
_RATIO = 5.0
_ID_CHARS, _TELLING = 5, 0.4
_ROUNDED, _SCALES = 0.006, (1.0, 1e-3, 1e-6, 0.01, 100.0)


def swapped(reading: Reading) -> Iterator[Point]:
    """Finds values of another row or field than the one that the words around them name. What the record gives there
    stands nowhere in the answer."""
    facts = reading.facts
    if not facts.rows:
        return
    given = reading.given
    before, last = "", ""
    for sentence in reading.sentences:
        before, last = last, sentence.text
        if UNREAL.search(sentence.text):
            continue
        for value, start, end in _mentions(sentence, facts):
            if (
                _in_command(sentence.text, start)
                or value in reading.asked
                or _is_small(value)
                or is_hedged(sentence, start)
            ):
                continue
            begin, stop = clause_of(sentence.text, start, end)
            clause = sentence.text[begin:stop]
            if is_denied(clause):
                continue
            cell = _of_row(sentence, clause, before, value, facts, given) or _of_key(
                clause, sentence, value, facts, given
            )
            if cell is not None:
                quote = clause.strip(" ,;:()") or sentence.plain
                yield Point("wrong_fact", quote, cell.quote, "The record has another value here.", _FIX)
                return


def _mentions(sentence: Spoken, facts: Facts) -> Iterator[tuple[Value, int, int]]:
    folded = sentence.text.casefold()
    for value, _, start, end in typed(sentence.text):
        if value in facts.places:
            yield value, start, end
    for value in facts.places:
        if value[0] == "text" and isinstance(value[1], str) and value[1] in folded:
            at = folded.find(value[1])
            said = sentence.text[at : at + len(value[1])]
            proper = any(map(str.isdigit, said)) or (said.lower() != said and (at or " " in said))
            if proper and not folded[max(0, at - 1) : at].isalnum() and not folded[at + len(value[1]) :][:1].isalnum():
                yield value, at, at + len(value[1])


def _in_command(text: str, start: int) -> bool:
    """Whether the place lies within a command that is quoted."""
    before = text.rfind("`", 0, start)
    after = text.find("`", start)
    return text.count("`", 0, start) % 2 == 1 and after > 0 and " " in text[before:after]


def _is_small(value: Value) -> bool:
    return value[0] == "number" and isinstance(value[1], float) and value[1] < 10 and value[1] == int(value[1])


def clause_of(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the clause that has this place begins and ends."""
    begin = max((match.end() for match in _CLAUSE.finditer(text, 0, start)), default=0)
    after = _CLAUSE.search(text, end)
    return begin, after.start() if after else len(text)


def _of_row(
    sentence: Spoken, clause: str, before: str, value: Value, facts: Facts, given: frozenset[Value]
) -> Cell | None:
    if (_COMPARES.search(clause) and value[0] != "day") or (_SPANS.search(clause) and value[0] == "text"):
        return None
    mine = aligned(str(value[1])) | marks((value,))
    said, near = aligned(sentence.text) - mine, aligned(clause) - mine
    places = facts.places[value]
    found = None
    for group_key, key in {(row.group, cell.key) for row, cell in places}:
        group = facts.groups[group_key]
        owners = [row for row, cell in places if row.group == group_key and cell.key == key]
        peers = [(row, cell) for row in group.rows for cell in row.cells if cell.key == key and row not in owners]
        named = sum(group.weigh(row, said) >= _LEAST for row in (*owners, *(row for row, _ in peers)))
        far = aligned(before) - mine if not named else said - near if named == 1 else frozenset[str]()

        def weigh(row: Row, group: Group = group, far: frozenset[str] = far) -> float:
            return group.weigh(row, near) + _FAR * group.weigh(row, far)

        ranked = sorted(((weigh(row), place) for place, (row, _) in enumerate(peers)), reverse=True)
        owned = max(map(weigh, owners), default=0.0)
        if owned >= _LEAST * _OWN and (not ranked or owned > _OWN * ranked[0][0]):
            return None
        if not ranked or ranked[0][0] < _LEAST or (len(ranked) > 1 and ranked[1][0] > _OTHERS * ranked[0][0]):
            continue
        row, cell = peers[ranked[0][1]]
        if not _is_named(value, group, row, near, near | far):
            continue
        if cell.values and not _is_given(cell, given) and _is_like(value, cell, near):
            found = cell
    return found


def _is_given(cell: Cell, given: frozenset[Value]) -> bool:
    """Whether the answer gives a value of the cell, numbers also rounded or in thousands and millions."""
    if cell.values & given:
        return True
    said = [value for _, value in given if isinstance(value, float)]
    have = [value for _, value in cell.values if isinstance(value, float)]
    return any(abs(one * scale - other) <= _ROUNDED * other for one in have for other in said for scale in _SCALES)


def _is_named(value: Value, group: Group, row: Row, near: frozenset[str], words: frozenset[str]) -> bool:
    """Whether the words suffice: an identifier needs two, a time one in its own clause."""
    if value[0] == "id":
        return (
            len(str(value[1])) >= _ID_CHARS and sum(group.weights[word] >= _TELLING for word in row.words & words) > 1
        )
    return value[0] != "time" or group.weigh(row, near) > 0


def _is_like(value: Value, cell: Cell, near: frozenset[str]) -> bool:
    """Whether a value may be given in the place of the cell's: identifiers made alike, numbers that are not far."""
    for kind, other in cell.values:
        if kind != value[0]:
            continue
        if isinstance(value[1], float) and isinstance(other, float):
            far = max(value[1], other) > _RATIO * max(min(value[1], other), 1e-9)
            whole = value[1] == int(value[1]) and cell.name and not cell.name & near
            return not far and not whole
        return kind != "id" or shape(str(other)) == shape(str(value[1]))
    return False


def _of_key(clause: str, sentence: Spoken, value: Value, facts: Facts, given: frozenset[Value]) -> Cell | None:
    places = facts.places[value]
    own = [(row, cell) for row, cell in places if not cell.inherited]
    if sum(kind == value[0] for (kind, _), *_ in typed(clause)) > 1:
        return None
    if _COMPARES.search(clause):
        return None
    if len(own) != 1 or own[0][0].item is None or not own[0][1].name:
        return None
    ((row, cell),) = own
    call = row.item.call if row.item else None
    said, near = frozenset(name_words(sentence.text)), frozenset(name_words(clause))
    others = (one for one in facts.rows if one is not row and one.item and one.item.call is call)
    for rows in ((row,), others):
        found: dict[str, list[Cell]] = {}
        for other in (cell for one in rows for cell in one.cells):
            if other.key == cell.key or other.inherited or not other.values or _type(other) != _type(cell):
                continue
            theirs, ours = other.name - cell.name, cell.name - other.name
            if theirs and theirs <= near and not ours & said:
                found.setdefault(other.key, []).append(other)
        if found:
            ((first, *more),) = [*found.values()][:1]
            return None if more or len(found) > 1 or _is_given(first, given) else first
    return None


def _type(cell: Cell) -> frozenset[str]:
    return frozenset(kind for kind, _ in cell.values)
