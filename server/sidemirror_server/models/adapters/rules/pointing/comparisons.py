"""Finds comparisons of the answer that its own numbers turn round.

`more than last winter: 1,126 m³ compared with 1,209 m³`; `Pinsel are the cheapest: 4,700 (Farbwerk) and 4,849
(Pinsel)`; `from 48,200 EUR in February to 53,984 EUR in March, which is 10.7 % more`.
"""

import itertools
import re
from collections.abc import Iterator, Sequence

import msgspec

from sidemirror_server.models.adapters.rules.pointing.facts import typed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken, numbers, word_set

# What a comparative says of the number of its subject. Of speed and of warmth either may be meant.
_MORE = (
    "more|higher|larger|bigger|greater|longer|heavier|dearer|pricier|costlier|taller|older(?= than)|newer|later|wider|"
    "deeper"
)
_LESS = "less|fewer|lower|smaller|shorter|lighter|cheaper|cheapest|earlier|narrower"
_SAYS = re.compile(rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS}))\b", re.IGNORECASE)
# What sets one number against another.
_AGAINST = re.compile(
    r"^[^.;:\d]{0,24}?(?:\(?(?:as )?compared (?:with|to)|against|versus|vs\.?|instead of|rather than|as opposed to)"
    r"(?: only| just)? (?:the |a |an )?(?:[a-z]{1,12} )?$",
    re.IGNORECASE,
)
_THAN = re.compile(
    r"\bwhich is (?P<says>[a-z]{3,10}) than (?:the |its |our )?(?:[a-z]{1,12} ){0,3}(?:of |is )?$", re.IGNORECASE
)
# A comparative of the number, and none of the thing that has it.
_OF_NUMBER = re.compile(r"\b(?:is|are|was|were)(?: (?:a bit|a little|much|far|even|slightly|the))? $", re.IGNORECASE)
_THAN_AFTER = re.compile(r"[^.;:,]{0,30}? than\b", re.IGNORECASE)
_NEXT_CLAUSE = re.compile(r" (?:and|but|while|so) |;")
# How far a comparative stands from the numbers that it is about, and what is in the way. In code points.
_BETWEEN_CHARS, _BEFORE_CHARS, _OTHER_CHARS = 80, 120, 12
_UNREAL = re.compile(r"\b(?:if|would|could|should|might|unless|whether|expected|estimated)\b", re.IGNORECASE)
_MOST_QUOTED = 4
_REASON, _FIX = "The numbers beside it say the opposite.", "Turn the comparison round, or check the numbers."


class _Compared(msgspec.Struct, frozen=True):
    """A number or version of a sentence. `value`: what it is compared by; `kind`: its unit, or `version`."""

    value: tuple[float, ...]
    kind: str
    start: int
    end: int


def comparisons(reading: Reading) -> Iterator[Point]:
    """Finds a comparative, a superlative or a change in percent that numbers of the same sentence contradict."""
    for sentence in reading.sentences:
        if _UNREAL.search(sentence.text):
            continue
        amounts = _amounts_of(sentence.text)
        for found in (_beside, _superlative, _changed):
            if quote := found(sentence.text, amounts):
                against = _recorded(reading, sentence, amounts) or reading.line_named(quote)
                yield Point("wrong_fact", quote, against, _REASON, _FIX)
                break


def _amounts_of(text: str) -> list[_Compared]:
    """The numbers and versions of a text."""
    figures = {one.start: one for one in numbers(text)}
    found = []
    for value, kind, start, end in typed(text):
        if value[0] == "number":
            figure = figures[start]
            found.append(_Compared((figure.value,), figure.money or figure.unit, start, end))
        elif kind == "idversion":
            found.append(_Compared(tuple(map(float, str(value[1]).split("."))), "version", start, end))
    return found


def _beside(text: str, amounts: Sequence[_Compared]) -> str:
    """`the larger file, 214.9 MB against 201.4 MB`: the first number is the subject's."""
    for one, other in itertools.pairwise(amounts):
        between = text[one.end : other.start]
        than = _THAN.search(between) if len(between) < _BETWEEN_CHARS else None
        if than is not None:
            says, begin = _SAYS.fullmatch(than["says"]), one.end + than.start()
        elif _AGAINST.search(between[_unit_chars(text, one) :]):
            says = _before(text, one, amounts)
            begin = says.start() if says is not None else 0
        else:
            continue
        if says is None or not _alike(one, other) or one.value == other.value:
            continue
        if (says["more"] is not None) is (one.value < other.value):
            return text[begin : other.end]
    return ""


def _before(text: str, one: _Compared, amounts: Sequence[_Compared]) -> re.Match[str] | None:
    """The only comparative before a number, if no other number is in the way."""
    said = _SAYS.finditer(text[: one.start])
    like = [found for found in said if not _NEXT_CLAUSE.search(text[found.end() : one.start])]
    like = [found for found in like if _OF_NUMBER.search(text[: found.start()]) or _THAN_AFTER.match(text, found.end())]
    if len(like) != 1 or one.start - like[0].end() > _BEFORE_CHARS:
        return None
    is_other = any(like[0].start() - _OTHER_CHARS < found.end < one.start for found in amounts)
    return None if is_other else like[0]


_SUPERLATIVE = re.compile(
    r"(?P<subject>[^,;:.]{2,60}?) (?:is|are|was|were) (?:also |clearly |by far )?the (?:"
    r"(?P<least>cheapest|lowest|shortest|smallest|lightest|earliest|least|coldest|cheaper|smaller|lower|shorter|"
    r"lighter|colder|cooler)|(?:highest|largest|longest|biggest|heaviest|warmest|dearest|most expensive|hottest|warmer|"
    r"larger|bigger|higher|longer|heavier|dearer|hotter))\b",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"^[^\d,;.(]{0,8}\((?P<name>[^()\d]{2,40})\)")
_PART = re.compile(r"[,;:(]|\band\b")
_NAME = re.compile(r"[a-zà-ÿ][\wà-ÿ'-]{3,30}|\b[\w.-]{0,20}[a-z][\w.-]{0,4}\d[\w.-]{0,20}\b")
# Words of such a sentence that name nothing.
_NO_NAMES = word_set(
    "since after both with from this that these those they there here which have been cost costs price total each only "
    "just also about than over into your their ours yours three four five other others room though right gross"
)


def _superlative(text: str, amounts: Sequence[_Compared]) -> str:
    """`Pinsel are the cheapest: 4,998 (Maler), 4,700.50 (Farbwerk) and 4,849.25 (Pinsel)`: each number has a name
    beside it, and that of the subject is not the least."""
    match = _SUPERLATIVE.search(text)
    like = [one for one in amounts if len(one.value) == 1]
    if match is None or len(like) < 2 or len({one.kind for one in like} - {""}) > 1:
        return ""
    subject = _names(match["subject"])
    mine: list[tuple[float, ...]] = []
    others: list[tuple[float, ...]] = []
    for place, one in enumerate(like):
        if match.start() + len(match["subject"]) < one.start < match.end():
            return ""
        named = _IN_BRACKETS.match(text[one.end :])
        before = text[like[place - 1].end if place else 0 : one.start]
        names = _names(named["name"] if named else _PART.split(before)[-1])
        if not names:
            return ""
        (mine if names & subject else others).append(one.value)
    if len(mine) != 1:
        return ""
    wrong = any(value < mine[0] if match["least"] else value > mine[0] for value in others)
    return match[0].strip(" -*•") if wrong else ""


def _names(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text.casefold())) - _NO_NAMES


_CHANGED = re.compile(
    r"\bfrom (?:about )?[$€£]? ?(?P<one>\d[\d,]*(?:\.\d+)?)(?P<percent> ?%)?[^.;]{0,30}? (?:up |down )?to (?:about )?"
    r"[$€£]? ?(?P<two>\d[\d,]*(?:\.\d+)?)(?: ?%)?(?P<between>[^;\n%]{0,70}?)"
    r"(?<![\d.,])(?P<by>\d[\d,]*(?:\.\d+)?) ?(?:(?P<points>(?:percentage )?points?)|%|per ?cent(?!age))",
    re.IGNORECASE,
)
_BY_HOW_MUCH = re.compile(
    r"(?:\(|\b(?:which is|that is|or|by|i\.e\.|a (?:gain|rise|drop|fall|increase|decrease|reduction) of))"
    r"[^,(]{0,30}$",
    re.IGNORECASE,
)
_A_YEAR = re.compile(
    r" ?(?:\w{1,12} )?(?:per|a|each|every) \w|,? (?:yearly|annual|off|vat|tax|discount|of|faster|quicker|slower)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\b(?:about|around|roughly|nearly|almost|over|more than|some|approximately)[ (]*$", re.IGNORECASE)


def _changed(text: str, _amounts: Sequence[_Compared]) -> str:
    """`from 48,200 EUR in February to 53,984 EUR in March, which is 10.7 % more`; `a gain of 3.7 points`."""
    for match in _CHANGED.finditer(text):
        if not _BY_HOW_MUCH.search(f"{match['between']} ") or _A_YEAR.match(text, match.end()):
            continue
        one, two, by = (float(match[name].replace(",", "")) for name in ("one", "two", "by"))
        made = [abs(two - one)] if match["points"] or match["percent"] else []
        if not match["points"] and one:
            made += [100 * abs(two - one) / one, 100 * two / one]
        least = 10.0 ** -len(match["by"].partition(".")[2])
        if all(abs(value - by) > least + 1e-9 for value in made) and not _ABOUT.search(text[: match.start("by")]):
            return text[match.start("by") : match.end()]
    return ""


def _recorded(reading: Reading, sentence: Spoken, amounts: Sequence[_Compared]) -> str:
    """The record's words for the amounts, the last one first; for two that stand near each other, those of both."""
    quotes = []
    for one in reversed(amounts[-_MOST_QUOTED:]):
        plain = sentence.text[one.start : one.end]
        if quote := reading.quote_like(one.value[0]) if len(one.value) == 1 else reading.line_of(plain):
            quotes.append(quote)
    return reading.span_of(quotes[0], quotes[1]) if len(quotes) > 1 else next(iter(quotes), "")


def _unit_chars(text: str, one: _Compared) -> int:
    """How long the unit after a number is, with the space before it."""
    found = re.match(r" ?[^\s\d,.;:()]{1,12}", text[one.end :])
    return found.end() if found and one.kind and one.kind in found[0].casefold() else 0


def _alike(one: _Compared, other: _Compared) -> bool:
    """Whether two numbers have the same unit, or one has none."""
    return one.kind == other.kind or "" in {one.kind, other.kind}
