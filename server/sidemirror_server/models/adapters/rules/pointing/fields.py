"""Finds a value that is told with the name of a field which has another one.

`The MRI starts at 9:20`, where `start` is 9:40 and 9:20 is `check_in`; `Tess Boyle signed for it`, where `signed_by` is
somebody else.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from sidemirror_server.models.adapters.rules.pointing.actions import only_reads
from sidemirror_server.models.adapters.rules.pointing.facts import DIGITS, Cell, Value, aligned, typed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_hedged
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken, name_words, stem, word_set, words_of

_CLAUSE = re.compile(r"[,;:()\n](?!\d)|\s[-–—]\s|\b(?:and|but|while|whereas|with|which|who|whose|so)\b", re.IGNORECASE)
_UNREAL = re.compile(
    r"\b(?:if|would|could|should|might|unless|than|instead|not|never|no|or|earlier|previous\w{0,2}|before|was to|new|"
    r"old|former\w{0,2}|original\w{0,2})\b|n['’]t\b",
    re.IGNORECASE,
)
# Names of fields that say nothing of what is in them.
_PLAIN = frozenset(
    map(
        stem,
        word_set(
            "id name date time at on value number no type kind code ref reference amount total count key title text "
            "label from to of in by item line row data result info details status state url email currency unit ts "
            "day year month hour minute"
        ),
    )
)
# What a field may be called whose value is told with these words.
_LIKE = {
    stem(one): tuple(map(stem, others.split()))
    for one, others in {
        "working": "assignee owner handler",
        "handles": "assignee owner handler",
        "handled": "assignee handler agent",
        "looked": "owner assignee manager",
        "responsible": "owner assignee manager",
        "assigned": "assignee",
        "wrote": "author",
        "written": "author",
        "reported": "reporter",
        "owns": "owner",
        "approved": "approver",
        "reviewed": "reviewer",
        "lands": "arrival arr arrives",
        "arrives": "arrival arr eta",
        "leaves": "departure dep departs",
        "departs": "departure dep",
        "starts": "begin begins",
        "begins": "start starts",
        "ends": "end until",
        "due": "deadline",
        "expires": "expiry expiration",
    }.items()
}
_PLACE = re.compile(r"\b(?:at|in|on) (?:the )?$", re.IGNORECASE)
_KINDS = frozenset({"day", "time", "text", "number"})
# By how much two numbers differ in size, at most, so that one can be taken for the other.
_TIMES = 10
_ARGUMENT_CHARS = 2_000
# In the name of a field: what is told in another unit is not taken from it.
_UNITS = frozenset(map(stem, word_set("seconds minutes hours days weeks months years")))
# In the name of a field that an amount of money can be in.
_MONEY = frozenset(
    map(
        stem,
        word_set("price amount total subtotal cost fee rate balance sum tax fare premium pay payment charge refund"),
    )
)
_REASON, _FIX = "The field of that name has another value.", "Take it from the field that is meant."


class _Named(msgspec.Struct, frozen=True):
    """A field with one value. `words`: the telling ones of its name; `row`: those of its row."""

    cell: Cell
    words: frozenset[str]
    row: frozenset[str]

    @property
    def value(self) -> Value:
        return next(iter(self.cell.values))


def fields(reading: Reading) -> Iterator[Point]:
    """Finds a value in whose clause a field is named that has another value of the same kind."""
    named = list(_named(reading))
    given = frozenset(
        value
        for call in reading.record.calls
        if not only_reads(call)
        for value, *_ in typed(call.arguments[:_ARGUMENT_CHARS])
    )
    for sentence in reading.sentences if named else ():
        for begin, end in _clauses(sentence.text):
            clause = sentence.text[begin:end]
            for value, start, stop in () if _UNREAL.search(clause) else _values(reading, clause):
                if value[0] not in _KINDS or value in given or _is_told(value, reading.asked, reading.record.request):
                    continue
                if is_hedged(sentence, begin + start) or (value[0] == "text" and _PLACE.search(clause[:start])):
                    continue
                words = frozenset(words_of(f"{clause[:start]} {clause[stop:]}"))
                words |= frozenset(other for word in words for other in _LIKE.get(word, ()))
                meant = _meant(named, value, words, sentence)
                is_money = _is_money(clause, start, stop)
                if meant is not None and _is_another(reading, meant, value, words, is_money=is_money):
                    yield Point("wrong_fact", clause[start:stop], meant.cell.quote, _REASON, _FIX)
                    return


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in (*_CLAUSE.finditer(text), None):
        end = match.start() if match else len(text)
        if text[begin:end].strip():
            yield begin, end
        begin = match.end() if match else end


def _values(reading: Reading, clause: str) -> list[tuple[Value, int, int]]:
    """The values of a clause, and the names of the record in it, with their places."""
    found = {value: (start, end) for value, _, start, end in typed(clause) if value[1] not in DIGITS}
    for value in reading.facts.names:
        if (at := clause.find(str(value[1]))) >= 0:
            found.setdefault(value, (at, at + len(str(value[1]))))
    return [(value, start, end) for value, (start, end) in found.items()]


def _named(reading: Reading) -> Iterator[_Named]:
    for row in reading.facts.rows:
        for cell in row.cells:
            words = cell.name - _PLAIN
            if not words and row.item is not None and row.item.path and not row.item.listed:
                words = frozenset(name_words(row.item.path[-1])) - _PLAIN
            if not cell.inherited and words and len(cell.values) == 1:
                yield _Named(cell, words, row.words)


def _is_money(clause: str, start: int, stop: int) -> bool:
    return re.search(r"(?:[$€£¥]|\b[A-Z]{3}) ?$", clause[:start]) is not None or clause[start:stop].startswith(
        ("$", "€", "£")
    )


def _meant(named: Sequence[_Named], value: Value, words: frozenset[str], sentence: Spoken) -> _Named | None:
    """The field that most of the words name; of several with one key that of the row which the sentence speaks of."""
    like = [one for one in named if one.words & words and one.value[0] == value[0]]
    most = max((len(one.words & words) for one in like), default=0)
    best = [one for one in like if len(one.words & words) == most]
    if len(best) > 1 and len({one.cell.key for one in best}) == 1:
        said = sentence.words | aligned(sentence.text)
        common = frozenset.intersection(*(one.row for one in best))
        beside = [len((one.row - common) & said) for one in best]
        best = [one for one, count in zip(best, beside, strict=True) if count == max(beside) > 0]
    return best[0] if len(best) == 1 else None


def _is_another(reading: Reading, meant: _Named, value: Value, words: frozenset[str], *, is_money: bool) -> bool:
    """Whether a value stands in fields of other names alone, and that of the one which is meant is not told."""
    if value == meant.value or _is_told(meant.value, reading.values, reading.answer):
        return False
    holders = [cell for row in reading.facts.rows for cell in row.cells if value in cell.values]
    holders = [cell for cell in holders if not (cell.name & _UNITS and not cell.name & _UNITS & words)]
    if not holders or any(cell.name & words or cell.key == meant.cell.key for cell in holders):
        return False
    if not isinstance(value[1], float):
        return True
    beside = (row.cells for row in reading.facts.rows if meant.cell in row.cells)
    if is_money and not meant.cell.name & _MONEY:
        return False
    low, high = sorted((value[1], float(meant.value[1])))
    return low > 0 and high < _TIMES * low and any(cell in cells for cells in beside for cell in holders)


def _is_told(value: Value, values: frozenset[Value], text: str) -> bool:
    return value in values or str(value[1]).casefold() in text.casefold()
