"""Which JSON argument of an attempt changed, and how, and whether another call can be changed alike. Pure; called by
`trail.py` and `deciding.py`."""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal

from sidemirror_server.memory.recoveries.asked import Asked
from sidemirror_server.memory.recoveries.forms import A_LIST, A_SINGLE_VALUE, can_be_written, form_of
from sidemirror_server.memory.recoveries.observation import CameFrom, Form, Move, MoveKind, ValueKind

_WORD = re.compile(r"[^\W_]\w*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.Z+-]{4,20})?\Z")
_EMAIL = re.compile(r"[^@\s]{1,80}@[^@\s]{1,80}\.\w{2,12}\Z")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?\Z")
# What may be written with or without something before it, such as `#1` and `1`.
_OF_SIGNS = {ValueKind.ID, ValueKind.WORD, ValueKind.NUMBER}
# An argument that is one of these is a flag.
OF_FLAGS = frozenset((ValueKind.TRUE, ValueKind.FALSE, ValueKind.NULL))
# Shorter values are found in any text.
FEWEST_VALUE_CHARS = 3


def change(failed: Asked, attempt: Asked, came_from: Callable[[str], CameFrom]) -> Move:
    """The move of an attempt with other JSON arguments. `came_from`: where a value, as JSON, stood before."""
    before, now = _by_path(failed.values), _by_path(attempt.values)
    paths = tuple(path for path in dict.fromkeys((*before, *now)) if before.get(path) != now.get(path))
    removed = [path for path in paths if path not in now]
    added = [path for path in paths if path not in before]
    if len(paths) == 2 and removed and added and _is_moved(before[removed[0]], now[added[0]]):
        if form := _listed(removed[0], added[0]):
            return Move(MoveKind.CHANGED, (removed[0],), True, ValueKind.REFORMATTED, form=form)
        return Move(MoveKind.CHANGED, (removed[0], added[0]), True, ValueKind.RENAMED)
    if len(paths) != 1:
        return Move(MoveKind.CHANGED, tuple(sorted(paths)), True)
    if removed:
        return Move(MoveKind.CHANGED, paths, True, ValueKind.REMOVED)
    old, new = before.get(paths[0], ()), now[paths[0]]
    fresh = [value for value in new if value not in old]
    if len(fresh) != 1:
        return Move(MoveKind.CHANGED, paths, True)
    if len(old) == len(new) == 1 and _same_content(old[0], fresh[0]):
        return Move(MoveKind.CHANGED, paths, True, ValueKind.REFORMATTED, form=form_of(old[0], fresh[0]))
    kind = _kind_of(fresh[0])
    return Move(MoveKind.CHANGED, paths, True, kind, came_from(fresh[0]), is_added=bool(added) and kind not in OF_FLAGS)


def can_be_made(move: Move, failed: Iterable[tuple[str, str]]) -> bool:
    """Whether the arguments of a call can be changed as a move has it, and are not so already. `failed`: by
    `Asked.values`."""
    if move.kind is not MoveKind.CHANGED or move.value is None:
        return True
    values = _by_path(failed)
    own = values.get(move.steps[0], ())
    if move.value is ValueKind.RENAMED:
        return bool(own) and move.steps[-1] not in values
    if move.value in OF_FLAGS:
        return own != (move.value.value,)
    if move.is_added:
        return not own
    return any(not move.form or can_be_written(value, move.form) for value in own)


def _is_moved(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether the values are the same, and tell so: two flags that are both set are not one that was renamed."""
    return old == new and not all(value in OF_FLAGS for value in new)


def _listed(before: str, now: str) -> Form:
    """The form of a value that was put into a list, or taken out of one."""
    if now == f"{before}[]":
        return A_LIST
    return A_SINGLE_VALUE if before == f"{now}[]" else ()


def _by_path(values: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path, value in values:
        found[path] = (*found.get(path, ()), value)
    return found


def _same_content(old: str, new: str) -> bool:
    """The values differ in signs, capitals or quotation marks alone; of ids and words, one may be part of the other.
    Numbers are equal."""
    kinds = {_kind_of(old), _kind_of(new)}
    if kinds == {ValueKind.NUMBER}:
        return Decimal(old.strip('"')) == Decimal(new.strip('"'))
    if old.casefold() == new.casefold():
        return True
    one, other = ("".join(_WORD.findall(value.casefold())).replace("_", "") for value in (old, new))
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < FEWEST_VALUE_CHARS or shorter not in longer:
        return False
    is_part = kinds == {ValueKind.DATE} or (ValueKind.ID in kinds and kinds <= _OF_SIGNS)
    return shorter == longer or is_part


def _kind_of(value: str) -> ValueKind:
    if value in ("true", "false", "null"):
        return ValueKind(value)
    text = value.strip('"')
    for kind, form in ((ValueKind.NUMBER, _NUMBER), (ValueKind.DATE, _DATE), (ValueKind.EMAIL, _EMAIL)):
        if form.match(text):
            return kind
    if any(map(str.isdigit, text)) and len(text.split()) == 1:
        return ValueKind.ID
    return ValueKind.WORD if len(text.split()) == 1 else ValueKind.TEXT
