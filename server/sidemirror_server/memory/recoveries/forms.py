"""The form in which a value is written: kinds of letters, digits and signs, in their order, or the shape of a date.
Pure.

`changed.py` finds it, where the same value was written otherwise; `sentences.py` tells it. It holds no letter and no
digit of the value. The parts are stored and never change.
"""

import re
from collections.abc import Iterator

from sidemirror_server.memory.recoveries import dates
from sidemirror_server.memory.recoveries.observation import Form

# A form of more parts, such as a UUID's, is told as the kinds that it has, each once. Chosen here: nobody reads on.
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
# What is written for true and for false.
YES = frozenset(("true", "yes", "on", "y", "1"))
NO = frozenset(("false", "no", "off", "n", "0"))
# JSON without quotation marks; else it is a number.
_BARE = {"true": "a boolean", "false": "a boolean", "null": "null"}
_A_BOOLEAN: Form = ("a boolean",)
_NULL: Form = ("null",)
# An argument with a value of these types is a flag.
FORMS_OF_FLAGS: tuple[Form, ...] = (_A_BOOLEAN, _NULL)
_A_STRING: Form = ("a string",)
_A_NUMBER: Form = ("a number",)
_A_WHOLE_NUMBER: Form = ("a whole number",)
A_LIST: Form = ("a list",)
A_SINGLE_VALUE: Form = ("a single value",)
_WHOLE: tuple[Form, ...] = (_A_STRING, _A_NUMBER, _A_WHOLE_NUMBER, *FORMS_OF_FLAGS, A_LIST, A_SINGLE_VALUE)
_LETTERS = {
    "capitals": "capital letters",
    "small": "small letters",
    "capitalised": "a capitalised word",
    "letters": "letters",
}
# The names of signs that may come more than once.
_PLURALS = {name: f"{name}es" if name.endswith("sh") else f"{name}s" for name in _SIGNS.values()}
_PHRASES = {
    **_LETTERS,
    "digits": "digits",
    "trimmed digits": "digits without zeros in front",
    **{kind: kind for (kind,) in _WHOLE},
    **{name: f"an {name}" if name[0] in "aeiou" else f"a {name}" for name in _SIGNS.values()},
    **{name: name for name in _PLURALS.values()},
}
# What a part stands for, as characters of a regular expression.
_CHARACTERS = {
    "capitals": "A-Z",
    "small": "a-z",
    "capitalised": "A-Za-z",
    "letters": "A-Za-z",
    "digits": "0-9",
    **{said: re.escape(sign) for sign, name in _SIGNS.items() for said in (name, _PLURALS[name])},
}
_PATTERNS = {"capitalised": "[A-Z][a-z]++", "trimmed digits": "[1-9][0-9]*+"}
_FILLED = re.compile(r"([1-9]|1[0-9]|20) digits\Z")
_RUN = re.compile("[A-Za-z]+|[0-9]+")
# A word, or a part of one that is written as `inProgress`.
_HUMP = re.compile(r"[^\W\d_A-Z]+|[A-Z]+[^\W\d_A-Z]*")
# Chosen here: letters and digits that change places more often than this are a code, and their order is chance.
_MOST_RUNS = 2
_PART = re.compile(rf"[A-Za-z0-9]+|[{re.escape(''.join(_SIGNS))}]")
_FLOAT = re.compile(r"-?[0-9]{1,18}\.0{1,9}\Z")


def form_of(old: str, new: str) -> Form:
    """The form of the new value, which is the old one written otherwise; both as JSON. Where the type of JSON changed,
    that type. Empty where both have the same form, and where the new one has unusual signs."""
    before, now = old.strip('"'), new.strip('"')
    if old.startswith('"') != new.startswith('"'):
        return _A_STRING if new.startswith('"') else (_BARE.get(now, "a number"),)
    if not new.startswith('"') and now in _BARE:
        return (_BARE[now],)
    if not new.startswith('"'):
        return _A_WHOLE_NUMBER if _FLOAT.match(old) and not _FLOAT.match(new) else ()
    if dates.are_one_day(before, now):
        shape = dates.shape_of(before, now)
        return (shape,) if shape else ()
    numbers = re.findall("[0-9]+", before)
    form = _form(now, numbers)
    return form if form != _form(before, numbers) else ()


def can_be_written(value: str, form: Form) -> bool:
    """Whether a value, as JSON, may be written in this form, and is not yet. Whether it stands in a list is told by its
    path."""
    text = value.strip('"')
    is_string = value.startswith('"')
    if not written(form) or (value in _BARE and form != _A_STRING):
        return False
    if form in (A_LIST, A_SINGLE_VALUE):
        return True
    if form == _A_WHOLE_NUMBER:
        return _FLOAT.match(value) is not None
    if form == _A_BOOLEAN:
        return text.casefold() in YES | NO
    if form in (_A_STRING, _NULL):
        return is_string == (form == _NULL)
    if form == _A_NUMBER:
        return is_string and bool(re.search(r"\d", text))
    if dates.told(form[0]):
        return text != "" and not dates.has_shape(text, form[0])
    return _has_such(text, form) and not re.fullmatch(_pattern(form), text)


def written(form: Form) -> str:
    """The form in words; empty without one, or with parts that are none: it may come from another's export."""
    phrases = [_phrase(one) for part in form for one in part.split(" and ")]
    if not all(phrases) or len(form) > MOST_PARTS:
        return ""
    return " and ".join(filter(None, (", ".join(phrases[:-1]), *phrases[-1:])))


def _has_such(text: str, form: Form) -> bool:
    """Whether a value has what the form is made of: digits, if the form has some and only then. Where their order is no
    chance, it has as many words, or fewer where a number may stand alone; and as many numbers, unless it has nothing
    else and may be parted anew. None is longer than one that is filled with zeros."""
    numbers, words = re.findall(r"\d+", text), _HUMP.findall(text)
    digits = [part for part in form if part.endswith("digits")]
    letters = [part for part in form if part in _LETTERS]
    if bool(numbers) != bool(digits) or not (numbers or words):
        return False
    if _has_plural(form) or any(" and " in part for part in form):
        return True
    if not digits:
        return len(words) == len(letters)
    filled = [int(found[1]) for part in digits if (found := _FILLED.match(part))]
    if not words and not letters and not filled:
        return True
    fits = not filled or max(map(len, numbers)) <= max(filled)
    return fits and len(numbers) == len(digits) and (not letters or len(words) <= len(letters))


def _pattern(form: Form) -> str:
    """What is written in the form, as a regular expression. It never goes back: no part begins as the one before."""
    if _has_plural(form):
        return f"[{''.join(map(_characters, form))}]++"
    return "".join(map(_part_pattern, form))


def _has_plural(form: Form) -> bool:
    return not set(_PLURALS.values()).isdisjoint(form)


def _part_pattern(part: str) -> str:
    if filled := _FILLED.match(part):
        return f"[0-9]{{{filled[1]}}}"
    if part in _PATTERNS:
        return _PATTERNS[part]
    characters = _characters(part)
    if not characters:
        return re.escape(part)  # such as a list beside digits, in another's export
    return f"[{characters}]" + ("" if part in _SIGNS.values() else "++")


def _characters(part: str) -> str:
    return "".join(_CHARACTERS.get(one, "") for one in part.split(" and "))


def _form(text: str, numbers: list[str]) -> Form:
    """`numbers`: those of the value as it was written before."""
    words = _PART.findall(text)
    if "".join(words) != text:
        return ()
    parts = tuple(part for word in words for part in _parts(word, numbers))
    if len(parts) <= MOST_PARTS and not _are_alike(parts):
        return parts
    kinds = {"digits" if one.endswith("digits") else one for part in parts for one in part.split(" and ")}
    letters = kinds & _LETTERS.keys()
    of_letters = ("letters",) if len(letters) > 1 else tuple(letters)
    signs = (plural for name, plural in _PLURALS.items() if name in kinds)
    found = (*of_letters, *sorted(kinds & {"digits"}), *signs)
    return found if len(found) <= MOST_PARTS else ()


def _are_alike(parts: Form) -> bool:
    """Whether these are words of one kind, with one sign between them: how many there are is chance."""
    words, signs = parts[::2], parts[1::2]
    if len(words) < 2 or len({*words}) > 1 or len({*signs}) > 1:
        return False
    return words[0] in ("capitals", "small") and signs[0] in _SIGNS.values()


def _parts(word: str, numbers: list[str]) -> Iterator[str]:
    """The parts of a sign, or of letters and digits without a sign between them; a code such as `ZFA04Y` is one."""
    if word in _SIGNS:
        yield _SIGNS[word]
        return
    runs = _RUN.findall(word)
    of_runs = [_of_run(run, numbers) for run in runs]
    if len(runs) <= _MOST_RUNS or any(one.endswith(" digits") for one in of_runs):
        yield from of_runs
        return
    letters = _of_run("".join(run for run in runs if run.isalpha()), numbers)
    yield f"{'letters' if letters == 'capitalised' else letters} and digits"


def _of_run(run: str, numbers: list[str]) -> str:
    if run.isdigit():
        is_filled = run not in numbers and run.lstrip("0") in numbers and len(run) <= _MOST_DIGITS
        is_trimmed = run not in numbers and any(number.lstrip("0") == run for number in numbers)
        return f"{len(run)} digits" if is_filled else "trimmed digits" if is_trimmed else "digits"
    if run.isupper() or run.islower():
        return "capitals" if run.isupper() else "small"
    return "capitalised" if run == run.capitalize() else "letters"


def _phrase(part: str) -> str:
    if filled := _FILLED.match(part):
        return f"{filled[1]} digits with zeros in front"
    return _PHRASES.get(part, "") or dates.told(part)
