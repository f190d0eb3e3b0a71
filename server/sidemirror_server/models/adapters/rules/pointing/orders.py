"""Finds comparisons and directions that are turned round.

`A is cheaper than B` beside totals that say the opposite; `rose from 12 to 9`; `the most urban` where another is.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from sidemirror_server.models.adapters.rules.pointing.facts import Cell, FactRow, RowGroup, aligned
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.texts import Figure, numbers, stem, word_set, words_of

# Comparatives with their direction, and the stems of the columns that they compare; without any the sentence names it.
_WORDS_TEXT = """
-|cheaper cheapest|price cost total fee fare amount
+|dearer dearest pricier priciest costlier costliest|price cost total fee fare amount
-|faster fastest quicker quickest shorter shortest|duration min minute time day hour transit second ms
+|slower slowest longer longest|duration min minute time day hour transit second ms
+|larger largest bigger biggest|size byte mb gb kb area amount
-|smaller smallest|size byte mb gb kb area amount
+|older oldest|age
-|younger youngest|age
+|heavier heaviest|weight kg
-|lighter lightest|weight kg
+|higher highest more most greater greatest|
-|lower lowest less least fewer fewest|
"""


class _Scale(msgspec.Struct, frozen=True):
    """`sign`: 1 where more of it is said, -1 where less."""

    sign: int
    columns: frozenset[str]


_SCALES: dict[str, _Scale] = {}
for _line in _WORDS_TEXT.strip().splitlines():
    _sign, _said, _names = _line.split("|")
    _scale = _Scale(1 if _sign == "+" else -1, frozenset(map(stem, word_set(_names))))
    _SCALES.update(dict.fromkeys(_said.split(), _scale))
_DEGREES = "|".join(sorted(_SCALES, key=len, reverse=True))
_MORE = rf"(?P<more>(?!most\b|least\b)(?:{_DEGREES})(?<!est))"
_THAN = re.compile(
    rf"(?P<one>[^.;:\n]{{2,40}}?)\b{_MORE}\b(?P<what>[^.;:\n]{{0,20}}?)\bthan\b(?P<two>[^.;:,\n]{{2,80}})", re.I
)
_OF_TWO = re.compile(
    rf"(?P<one>[^.;:\n]{{2,40}}?)\b(?:is|was|are) (?:clearly |also )?the {_MORE}\b(?P<what>[^.;:,\n]{{0,40}})",
    re.I,
)
_NOT = re.compile(r"\b(?:not|no|never|neither|nor|only|twice|times)\b|n['’]t\b", re.I)
_UP = r"(?P<up>rose|risen|rises|increased?s?|grew|grown|climbed|went up|gone up|up|jumped|gained)"
_DOWN = r"(?P<down>fell|fallen|falls|decreased?s?|dropped|declined|shrank|shrunk|went down|gone down|down|sank)"
_FROM_TO = re.compile(
    rf"\b(?:{_UP}|{_DOWN})\b[^.;,\n\d]{{0,30}}?\bfrom (?P<one>[^;\n]{{1,30}}?) to (?P<two>[^;\n]{{1,24}})", re.I
)
_BESIDE = re.compile(
    r"\b(?P<more>more|less|fewer|higher|lower)\b[^.;:\n\d]{0,60}[:(,] ?"
    r"(?P<one>[^.;:\n]{0,4}\d[\d,.]{0,12}[^.;:\n\d]{0,12}) "
    r"(?:compared (?:with|to)|against|versus|vs\.?|instead of|rather than) (?P<two>[^.;:\n]{1,24})",
    re.IGNORECASE,
)
_SPAN_CHARS = 300
_REASON, _FIX = "By the record it is the other way round.", "Turn the comparison round."


def orders(reading: Reading) -> Iterator[Point]:
    """Finds comparisons of two things on record, and of two numbers of a sentence, that their numbers contradict."""
    for sentence, before in zip(reading.sentences, ["", *(one.text for one in reading.sentences)], strict=False):
        if is_unreal(sentence.text):
            continue
        yield from _directions(reading, sentence.text)
        for pattern in (_THAN, _OF_TWO):
            for match in pattern.finditer(sentence.text):
                if _NOT.search(match["one"][-40:] + match["what"]):
                    continue
                point = _compared(reading, match, before)
                if point is not None:
                    yield point
                    return


def _directions(reading: Reading, text: str) -> Iterator[Point]:
    """Finds `rose from 12 to 9`, and `more than before: 9 compared with 12`."""
    for match in (*_FROM_TO.finditer(text), *_BESIDE.finditer(text)):
        one, two = _alone(match["one"]), _alone(match["two"])
        if one is None or two is None or (one.unit == "%") is not (two.unit == "%") or one.value == two.value:
            continue
        named = match.groupdict()
        if named.get("more"):
            wrong = (named["more"].casefold() in {"more", "higher"}) is (one.value < two.value)
        else:
            wrong = bool(named["up"]) is (two.value < one.value)
        if wrong and min(one.value, two.value) >= 0:
            against = reading.quote_of_all([two.value, one.value])
            yield Point("wrong_fact", match[0].strip(" .,"), against, _REASON, _FIX)


def _alone(text: str) -> Figure | None:
    found = list(numbers(text))
    return found[0] if found else None


def _compared(reading: Reading, match: re.Match[str], before: str) -> Point | None:
    said = match.groupdict()
    scale = _SCALES[said["more"].casefold()]
    for group in reading.facts.groups:
        one = _row(group, said["one"])
        two = _row(group, said["two"]) if said.get("two") else _other(group, one, before)
        if one is None or two is None or one is two:
            continue
        columns = _columns(
            reading, one, two, scale, frozenset(words_of(said["what"])) | frozenset(words_of(said["one"][-40:]))
        )
        if columns and all((a - b) * scale.sign < 0 for _, _, a, b in columns):
            quote = match[0].strip(" ,")
            return Point("wrong_fact", quote, _span(columns[0][0], columns[0][1], one, two), _REASON, _FIX)
    return None


def _row(group: RowGroup, text: str) -> FactRow | None:
    """The one row that a text names."""
    found = group.weights(aligned(text))
    best = max(found.values(), default=0.0)
    named = [place for place, weight in found.items() if weight == best]
    return group.rows[named[0]] if best >= 1 and len(named) == 1 else None


def _other(group: RowGroup, one: FactRow | None, before: str) -> FactRow | None:
    """The other row of two: of the group, or of the two that stand right before."""
    found = group.weights(aligned(before)) if len(group.rows) > 2 else {}
    rows = [group.rows[place] for place, weight in found.items() if weight >= 1] or group.rows
    others = [row for row in rows if row is not one]
    return others[0] if one is not None and len(rows) == 2 and len(others) == 1 else None


def _columns(
    reading: Reading, one: FactRow, two: FactRow, scale: _Scale, words: frozenset[str]
) -> Sequence[tuple[Cell, Cell, float, float]]:
    """The cells of two rows that are compared, with their numbers: those whose names the sentence has, else those that
    the comparative is about; of several those whose both numbers the answer tells."""
    pairs = []
    for cell in one.cells:
        other = next((two_cell for two_cell in two.cells if two_cell.key == cell.key), None)
        if other is not None and (a := _number(cell)) is not None and (b := _number(other)) is not None and a != b:
            pairs.append((cell, other, a, b))
    named = [pair for pair in pairs if pair[0].name & words]
    like = [pair for pair in pairs if pair[0].name & scale.columns]
    found = named or like
    told = [pair for pair in found if {pair[2], pair[3]} <= reading.said]
    return told or found


def _number(cell: Cell) -> float | None:
    values = [value for kind, value in cell.values if isinstance(value, float)]
    return values[0] if len(values) == 1 and len(cell.values) == 1 else None


def _span(cell: Cell, other: Cell, one: FactRow, two: FactRow) -> str:
    """The record's words from one cell to the other, if they stand near each other; else those of the first."""
    if one.item is None or two.item is None or one.item.call is not two.item.call:
        return cell.quote
    text = one.item.call.text
    places = sorted((text.find(one.quote), one.quote) for one in (cell, other))
    begin, end = places[0][0], places[1][0] + len(places[1][1])
    return text[begin:end] if 0 <= begin < end < begin + _SPAN_CHARS else cell.quote
