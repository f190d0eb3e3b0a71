"""Which JSON argument of an attempt changed, and how, and whether another call can be changed alike. Pure; called by
`trail.py` and `deciding.py`."""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from sidemirror_server.memory.recoveries.asked import Asked
from sidemirror_server.memory.recoveries.dates import are_days, are_one_day
from sidemirror_server.memory.recoveries.forms import A_LIST, A_SINGLE_VALUE, NO, YES, can_be_written, form_of
from sidemirror_server.memory.recoveries.observation import CameFrom, Form, Move, MoveKind, ValueKind

_WORD = re.compile(r"[^\W_]\w*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.Z+-]{4,20})?\Z")
_EMAIL = re.compile(r"[^@\s]{1,80}@[^@\s]{1,80}\.\w{2,12}\Z")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?\Z")
# Currency signs and blanks stand around it; the sign that parts thousands does not part cents.
_AROUND = r"[$£¥\u20a0-\u20cf\s]{0,5}"
_AMOUNT = re.compile(
    rf"(-?){_AROUND}(-?)(\d{{1,3}}([.,' ])(?:\d{{2,3}}\4)*\d{{3}}|\d+)(?:(?!\4)[.,](\d{{1,2}}))?{_AROUND}"
)
# Chosen here: no amount has more.
_AMOUNT_CHARS = 40
# What says more than a number: a unit, a bound, or brackets around it.
_SAYS_MORE = re.compile(r"\d\s{0,5}(?:[^\W\d_]|[%+])|[<>≤≥~≈±]|\A\s{0,5}\([^()]{0,40}\)\s{0,5}\Z")
_RUN = re.compile(r"\d+|[^\W\d_]+")
# The same, but a number with its fraction is one part: `5, 6` and the version `1.2.3` are not the numbers 56 and 123.
_RUN_OR_NUMBER = re.compile(r"\d+(?:[.,]\s*\d+)*|[^\W\d_]+")
# A number of so many digits is a telephone number or the like, which may be written with points between its parts.
_IDENTIFIER_DIGITS = 9
# Longer values are not compared: the time grows with the square of their words and numbers. Chosen here: ids, words,
# dates and amounts are shorter.
_COMPARED_CHARS = 300
# What may be written with or without something before it, such as `#1` and `1`.
_OF_SIGNS = {ValueKind.ID, ValueKind.WORD, ValueKind.NUMBER}
# An argument that is one of these is a flag.
OF_FLAGS = frozenset((ValueKind.TRUE, ValueKind.FALSE, ValueKind.NULL))
# Shorter values are found in any text.
FEWEST_VALUE_CHARS = 3


def change(failed: Asked, attempt: Asked, came_from: Callable[[str, Sequence[str]], CameFrom | None]) -> Move:
    """The move of an attempt with other JSON arguments. `came_from`: where a value, as JSON, stood before; None where
    it is another thing than the values of its kind in whose place it stands, so that the attempt is no repair."""
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
    were, are = set(old), set(new)
    fresh = [value for value in new if value not in were]
    stale = [value for value in old if value not in are]
    if len(stale) == len(fresh) and all(map(_same_content, stale, fresh)):
        forms = set(map(form_of, stale, fresh))
        if len(forms) == 1:
            return Move(MoveKind.CHANGED, paths, True, ValueKind.REFORMATTED, form=forms.pop())
    if len(fresh) != 1:
        return Move(MoveKind.CHANGED, paths, True)
    kind = _kind_of(fresh[0])
    source = came_from(fresh[0], [value for value in stale if _kind_of(value) is kind])
    if source is None:
        return Move(MoveKind.CHANGED, paths, True)
    return Move(MoveKind.CHANGED, paths, True, kind, source, is_added=bool(added) and kind not in OF_FLAGS)


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
    if move.form == A_SINGLE_VALUE:
        return len(own) == 1
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
    found: dict[str, list[str]] = {}
    for path, value in values:
        found.setdefault(path, []).append(value)
    return {path: tuple(of_path) for path, of_path in found.items()}


def _same_content(old: str, new: str) -> bool:
    """The values differ in signs, capitals or quotation marks alone, or are one day or one flag; of ids and words, one
    may be part of the other. Numbers and amounts are equal, and no unit is lost."""
    if max(len(old), len(new)) > _COMPARED_CHARS:
        return False
    kinds = {_kind_of(old), _kind_of(new)}
    before, now = old.strip('"').casefold(), new.strip('"').casefold()
    if new in ("true", "false"):
        return before in (YES if new == "true" else NO)
    if before == now or are_one_day(old.strip('"'), new.strip('"')):
        return True
    if kinds == {ValueKind.DATE} or are_days(old.strip('"'), new.strip('"')):
        return False
    if ValueKind.NUMBER in kinds:
        amounts = {_amount(before), _amount(now)}
        if None not in amounts:
            return len(amounts) == 1
        if _SAYS_MORE.search(before):
            return False
    run = _RUN_OR_NUMBER if ValueKind.NUMBER in kinds and len(now) < _IDENTIFIER_DIGITS else _RUN
    shorter, longer = sorted((run.findall(before), run.findall(now)), key=lambda runs: len("".join(runs)))
    if "".join(shorter) == "".join(longer):
        return len("".join(longer)) >= FEWEST_VALUE_CHARS
    return ValueKind.ID in kinds and kinds <= _OF_SIGNS and _is_part(shorter, longer)


def _amount(text: str) -> Decimal | None:
    """The number that a text without letters is, such as `$1,200.50`; None if it is none."""
    if _NUMBER.match(text):
        return Decimal(text)
    found = _AMOUNT.fullmatch(text) if len(text) <= _AMOUNT_CHARS else None
    if found is None:
        return None
    whole = "".join(filter(str.isdigit, found[3]))
    return Decimal(f"{found[1] or found[2]}{whole}.{found[5] or 0}")


def _is_part(shorter: list[str], longer: list[str]) -> bool:
    """Whether whole words and numbers of a value are those of a shorter one, perhaps with zeros in front. A short word
    is part of any text, and a digit by itself of many an id: it is its last number."""
    one, other = ([run.lstrip("0") or run for run in runs] for runs in (shorter, longer))
    if len("".join(one)) == 1:
        return [run for run in other if run[0].isdigit()][-1:] == one
    is_told = any(map(str.isdigit, one)) or len("".join(one)) >= FEWEST_VALUE_CHARS
    return is_told and any(other[at : at + len(one)] == one for at in range(len(other)))


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
