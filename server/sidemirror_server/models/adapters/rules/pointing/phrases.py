"""Finds the identifier of a sentence whose words beside it are those of a line that has another one.

`The first bad commit is 5be6613`, where a line says `d17f820 is the first bad commit`.
"""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.facts import TypedValue, typed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.texts import STOP

_WORDS = re.compile(r"(?:[a-z'’-]{2,20} ){1,20}[a-z'’-]{2,20}", re.IGNORECASE)
_RUN, _TELLING = 3, 2
_BESIDE_CHARS, _MOST_LINES, _LINE_CHARS = 40, 400, 240
_END = re.compile(r"[.;:(\"“”\n]")
_REASON, _FIX = "The line that says this has another one.", "Take it from the record."


def phrases(reading: Reading) -> Iterator[Point]:
    """Finds identifiers that have three words in a row beside them which the record has in one line alone, beside
    another one of the same form that the answer does not tell."""
    lines = [line.strip() for call in reading.record.worked for line in call.text.splitlines()[:_MOST_LINES]]
    alone = [(line, found[0]) for line in lines if len(line) <= _LINE_CHARS and len(found := _ids(line)) == 1]
    by_run: dict[tuple[str, ...], dict[str, TypedValue]] = {}
    for line, one in alone:
        for run in _runs(line):
            by_run.setdefault(run, {})[line] = one
    for sentence in reading.sentences if alone else ():
        if is_unreal(sentence.text):
            continue
        for value, form, start, end in _ids(sentence.text):
            own = _runs(_beside(sentence.text, start, end))
            like = {line: found for run in own for line, found in by_run.get(run, {}).items()}
            if len(like) != 1 or str(value[1]) not in reading.record.folded:
                continue
            ((line, (other, kind, *_)),) = like.items()
            plain = str(value[1])
            calls = [call.text.casefold() for call in reading.record.calls]
            elsewhere = any(plain in text and line.casefold() not in text for text in calls)
            if kind == form and other not in reading.values and plain not in line.casefold() and not elsewhere:
                yield Point("wrong_fact", sentence.text[start:end], line, _REASON, _FIX)
                return


def _ids(text: str) -> list[TypedValue]:
    return [one for one in typed(text) if one[0][0] == "id"]


def _beside(text: str, start: int, end: int) -> str:
    """What stands beside a place of a sentence, up to a mark."""
    before = _END.split(text[max(0, start - _BESIDE_CHARS) : start])[-1]
    return f"{before}\n{_END.split(text[end : end + _BESIDE_CHARS])[0]}"


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    """Its runs of three words, two of which say something."""
    found = set()
    for match in _WORDS.finditer(text):
        words = match[0].casefold().split()
        runs = (tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1))
        found |= {run for run in runs if sum(word not in STOP for word in run) >= _TELLING}
    return frozenset(found)
