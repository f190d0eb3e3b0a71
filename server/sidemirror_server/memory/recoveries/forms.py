"""The form in which a value is written: kinds of letters, digits and signs, in their order. Pure.

`changed.py` finds it, where the same value was written otherwise; `sentences.py` tells it. It holds no letter and no
digit of the value. The parts are stored and never change.
"""

import re

from sidemirror_server.memory.recoveries.observation import Form

# A form of more parts is no rule that somebody could follow. Chosen here: an ISO date has five.
MOST_PARTS = 7
# Chosen here: longer numbers are not filled with zeros.
_MOST_DIGITS = 20

_SIGNS = {
    "-": "hyphen",
    "_": "underscore",
    "/": "slash",
    ".": "dot",
    ":": "colon",
    ",": "comma",
    "#": "number sign",
    "@": "at sign",
    "+": "plus sign",
    " ": "blank",
}
# JSON without quotation marks; else it is a number.
_BARE = {"true": "a boolean", "false": "a boolean", "null": "null"}
# An argument with a value of these types is a flag.
FORMS_OF_FLAGS: tuple[Form, ...] = (("a boolean",), ("null",))
_OF_TYPES: tuple[Form, ...] = (("a string",), ("a number",), *FORMS_OF_FLAGS)
A_LIST: Form = ("a list",)
A_SINGLE_VALUE: Form = ("a single value",)
_OF_PATHS = (A_LIST, A_SINGLE_VALUE)
_LETTERS = {
    "capitals": "capital letters",
    "small": "small letters",
    "capitalised": "a capitalised word",
    "letters": "letters",
}
_PHRASES = {
    **_LETTERS,
    "digits": "digits",
    **{kind: kind for (kind,) in (*_OF_TYPES, *_OF_PATHS)},
    **{name: f"an {name}" if name[0] in "aeiou" else f"a {name}" for name in _SIGNS.values()},
}
_FILLED = re.compile(r"([1-9]|1[0-9]|20) digits\Z")
_PART = re.compile(rf"[A-Za-z]+|[0-9]+|[{re.escape(''.join(_SIGNS))}]", re.ASCII)


def form_of(old: str, new: str) -> Form:
    """The form of the new value, which is the old one written otherwise; both as JSON. Where the type of JSON changed,
    that type. Empty where both have the same form, and where the new one has too many parts or unusual signs."""
    before, now = old.strip('"'), new.strip('"')
    if old.startswith('"') != new.startswith('"'):
        return ("a string",) if new.startswith('"') else (_BARE.get(now, "a number"),)
    numbers = re.findall("[0-9]+", before)
    form = _form(now, numbers)
    return form if form != _form(before, numbers) else ()


def can_be_written(value: str, form: Form) -> bool:
    """Whether a value, as JSON, is not in this form yet, and has digits if the form has some. Whether it stands in a
    list is told by its path."""
    if form in _OF_PATHS:
        return True
    text = value.strip('"')
    needs_digits = any(part == "a number" or part.endswith("digits") for part in form)
    if needs_digits and not any(map(str.isdigit, text)):
        return False
    if form in _OF_TYPES:
        return value.startswith('"') != (form == ("a string",))
    parts = _PART.findall(text)
    return "".join(parts) != text or len(parts) != len(form) or not all(map(_is_part, parts, form))


def written(form: Form) -> str:
    """The form in words; empty without one, or with parts that are none: it may come from another's export."""
    phrases = [_phrase(part) for part in form]
    if not all(phrases) or len(phrases) > MOST_PARTS:
        return ""
    return " and ".join(filter(None, (", ".join(phrases[:-1]), *phrases[-1:])))


def _form(text: str, numbers: list[str]) -> Form:
    """`numbers`: those of the value as it was written before."""
    parts = _PART.findall(text)
    if len(parts) > MOST_PARTS or "".join(parts) != text:
        return ()
    return tuple(_part(part, numbers) for part in parts)


def _part(part: str, numbers: list[str]) -> str:
    if part in _SIGNS:
        return _SIGNS[part]
    if part.isdigit():
        is_filled = part not in numbers and part.lstrip("0") in numbers and len(part) <= _MOST_DIGITS
        return f"{len(part)} digits" if is_filled else "digits"
    if part.isupper() or part.islower():
        return "capitals" if part.isupper() else "small"
    return "capitalised" if part == part.capitalize() else "letters"


def _is_part(part: str, of: str) -> bool:
    filled = _FILLED.match(of)
    return part.isdigit() and len(part) == int(filled[1]) if filled else _part(part, []) == of


def _phrase(part: str) -> str:
    if filled := _FILLED.match(part):
        return f"{filled[1]} digits with zeros in front"
    return _PHRASES.get(part, "")
