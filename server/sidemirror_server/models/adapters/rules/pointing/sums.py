"""Finds calculations of the answer that are wrong."""

import datetime
import re
from collections.abc import Iterator, Sequence

from sidemirror_server.models.adapters.rules.arithmetic import worked_out
from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Figure,
    distance_at_most_one,
    numbers,
    same,
    sentences,
    stem,
)
from sidemirror_server.models.adapters.rules.pointing.units import UNITS

_FIX = "Work it out again."
_ABOVE = "The amounts above do not add up to this."
_CHAIN = re.compile(
    r"(?<![\w.,/*+-])[$€£]?\d[\d,]{0,12}(?:\.\d{1,6})?(?: ?[+×x*−-] ?[$€£]?\d[\d,]{0,12}(?:\.\d{1,6})?){1,12} ?= ?"
    r"[$€£]?\d[\d,]{0,14}(?:\.\d{1,6})?(?![\d%])"
)
_TERM = re.compile(r"([+×x*−-]?) ?[$€£]?(\d[\d,]*(?:\.\d+)?)")
_TOTAL = re.compile(
    r"^[ \t*•|_#>-]{0,8}(?:grand |overall |sub|combined )?(?:total|sum)(?: (?:cost|price|amount|due|spend|spent|paid|"
    r"expenses|of all))?\b",
    re.IGNORECASE,
)
_OTHER_TOTAL = re.compile(r"\b(?:difference|additional|savings?|refund)\b", re.IGNORECASE)
_SHARE = re.compile(
    r"(?P<share>\d{1,3}(?:\.\d{1,4})?) ?(?:%|percent) of [$€£]?(?P<whole>\d[\d,]{0,14}(?:\.\d{1,4})?) (?:is|=|equals|"
    r"comes to|gives) [$€£]?(?P<part>\d[\d,]{0,14}(?:\.\d{1,4})?)",
    re.IGNORECASE,
)
_OUT_OF = re.compile(
    r"(?P<part>\d[\d,]{0,9}) (?:out )?of (?:the |all )?(?P<whole>\d[\d,]{0,9})(?: [a-z]{1,20}){0,3},? ?(?:\(|"
    r"which is |that is "
    r"|i\.e\. |or |= ?|≈ ?)(?:about |roughly |around )?(?P<share>\d{1,3}(?:\.\d{1,4})?) ?(?:%|percent)",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"(?P<many>\d{1,4})(?: [a-z]{1,15}){0,3} (?:at|for|@|×|x) [$€£]?(?P<each>\d[\d,]{0,9}(?:\.\d{1,4})?) (?:each|"
    r"apiece|per "
    r"[a-z]{1,12}),? (?:is|=|for a total of|comes to|totals?|makes|costs?|that is|or) "
    r"?[$€£]?(?P<all>\d[\d,]{0,12}(?:\.\d{1,4})?)",
    re.IGNORECASE,
)
_REDUCED = re.compile(r"%|\b(?:discount|off|fees?|tax|vat|deposit|credit|voucher)\b", re.IGNORECASE)
_RATE = re.compile(
    r"[$€£] ?(?P<each>\d[\d,]{0,9}(?:\.\d{1,4})?) (?:a|an|per|each|for each|for every) (?P<unit>[a-z]{3,12})",
    re.IGNORECASE,
)
_SUMS_UP = re.compile(
    r"\b(?:(?P<left>leaves?|left|remain\w{0,4}|still to)|in all|altogether|in total|a total of|totals?|sum|combined|"
    r"together|adds? up to)\b",
    re.IGNORECASE,
)
_NEXT_CHARS = 6
_COMES_TO = re.compile(
    r"\b(?:comes? to|totals?|totall?ing|in all|altogether|makes|get|gets|pay|owe|costs?|is|are|sum)\b", re.IGNORECASE
)
_CHANGE = re.compile(
    r"from [$€£]?(?P<one>\d[\d,]{0,14}(?:\.\d{1,4})?)(?: [a-z]{1,12})? to "
    r"[$€£]?(?P<two>\d[\d,]{0,14}(?:\.\d{1,4})?)(?!\d)(?: [a-z]{1,12})?,? ?\(?(?:an? |by |which is an? |that is an? )?"
    r"(?:(?!with |and |at |plus )[a-z]{1,12} (?:of |by )?)?(?P<share>\d{1,4}(?:\.\d{1,4})?) ?(?:%|percent)"
    r"(?! ?(?:of|off|vat|tax|discount|faster|quicker|slower)\b)",
    re.IGNORECASE,
)


def sums(reading: Reading) -> Iterator[Point]:
    """Finds wrong sums, products, shares and changes whose numbers the answer gives, and wrong totals under lists."""
    told: set[str] = set()
    for quote in (*_chains(reading.answer), *_shares(reading.answer)):
        if quote not in told:
            told.add(quote)
            yield Point("wrong_fact", quote, _recorded(reading, quote), "This does not add up.", _FIX)
    for work in worked_out(
        _CHAIN.sub(lambda found: " " * len(found[0]) if len(_TERM.findall(found[0])) > 3 else found[0], reading.answer)
    ):
        if not work.holds and not any(work.quote in quote for quote in told):
            yield Point("wrong_fact", work.quote, _recorded(reading, work.quote), "This does not add up.", _FIX)
    yield from _totals(reading)
    yield from _rates(reading)
    yield from _lists(reading)


def _recorded(reading: Reading, quote: str) -> str:
    """The record's words for the first number of a calculation that is on record; empty if none is."""
    return next((found for number in numbers(quote) if (found := reading.quote_of(number.value))), "")


def _chains(text: str) -> Iterator[str]:
    for match in _CHAIN.finditer(text):
        left, _, right = match[0].rpartition("=")
        terms = [(sign, float(digits.replace(",", ""))) for sign, digits in _TERM.findall(left)]
        if len(terms) < 3 or any(sign == "" for sign, _ in terms[1:]):
            continue
        said = right.strip().lstrip("$€£").replace(",", "")
        total, product = 0.0, terms[0][1]
        for sign, value in terms[1:]:
            if sign in "×x*":
                product *= value
            else:
                total, product = total + product, value if sign == "+" else -value
        places = len(said.partition(".")[2])
        if not same(total + product, float(said), places):
            yield match[0]


def _shares(text: str) -> Iterator[str]:
    for match in _SHARE.finditer(text):
        if not _near(_of(match, "whole") * _of(match, "share") / 100, match["part"]):
            yield match[0]
    for match in _OUT_OF.finditer(text):
        if _of(match, "whole") and not _near(_of(match, "part") / _of(match, "whole") * 100, match["share"]):
            yield match[0]
    for match in _EACH.finditer(text):
        goes_on = text[: match.start()].rstrip().endswith(("+", "-", "−", "plus", "minus"))
        if not goes_on and not _near(_of(match, "many") * _of(match, "each"), match["all"]):
            yield match[0]
    for match in _CHANGE.finditer(text):
        one, two = _of(match, "one"), _of(match, "two")
        if one and not _near(abs(two - one) / one * 100, match["share"]):
            yield match[0]


def _totals(reading: Reading) -> Iterator[Point]:
    """Finds wrong totals in the line after lines with one amount each."""
    amounts: list[Figure] = []
    for sentence in reading.sentences:
        every = list(numbers(sentence.text))
        found = [one for one in every if one.money] or (
            [one for one in every if one.places == 2] if len(every) < 4 else []
        )
        found = found[-1:] if len(found) > 1 and "=" in sentence.text else found
        if (told := _TOTAL.search(sentence.text)) and not _OTHER_TOTAL.search(sentence.text[:60]):
            total = next((one for one in found if one.start > told.start()), None)
            if total is not None and len(found) == 1 and len(amounts) >= 2 and not _reaches(amounts, total):
                yield Point("wrong_fact", sentence.plain, reading.quote_of(amounts[0].value), _ABOVE, _FIX)
            amounts = []
        elif len(found) == 1 and sentence.text.lstrip()[:1] in "-*•0123456789|":
            amounts.append(found[0])
        else:
            amounts = []


def _rates(reading: Reading) -> Iterator[Point]:
    """Finds a total that is not the price of each times their number. Nights are counted from the two days in a call's
    arguments."""
    rates = [*_RATE.finditer(reading.answer)]
    for match in rates if len({rate["each"] for rate in rates}) == 1 else ():
        each, unit = _of(match, "each"), stem(match["unit"])
        begin = max(0, match.start() - 160)
        near = reading.answer[begin : match.end() + 160]
        if _REDUCED.search(near):
            continue
        many = {one.value for one in numbers(near, spelled=True) if stem(one.unit) == unit and not one.money}
        if not many and unit in {"night", "day"}:
            many = set(_spans(reading))
        for total in numbers(reading.answer[match.end() : match.end() + 120]):
            if (
                len(many) != 1
                or not total.money
                or reading.knows(total)
                or not _COMES_TO.search(reading.answer[match.end() : match.end() + total.start])
            ):
                continue
            (count,) = many
            if (
                each
                and not same(each * count, total.value)
                and each * count not in reading.said
                and 0.3 < total.value / (each * count or 1) < 3
            ):
                against = _operand(reading, [each, *(one.value for one in numbers(near)), *reading.said_in_order])
                yield Point(
                    "wrong_fact", total.text, against, f"{match['each']} times {count:g} is {each * count:g}.", _FIX
                )
            break


def _lists(reading: Reading) -> Iterator[Point]:
    """Finds a wrong sum or difference of the numbers with that unit in the same sentence, or in the one before."""
    before: list[Figure] = []
    for sentence in sentences(reading.answer):
        found = list(numbers(sentence.text))
        match = _SUMS_UP.search(sentence.text) if "of which" not in reading.folded else None
        if match is not None:
            result = next((one for one in found if one.start >= match.start()), None)
            ahead = [one for one in found if one.start < match.start()]
            is_next = bool(ahead) and match.start() - ahead[-1].end < _NEXT_CHARS
            if is_next and (result is None or match["left"] is None):
                result, found = ahead[-1], ahead[:-1]
            parts = [*before, *(one for one in found if one.start < match.start())]
            if result is not None and _is_off(result, parts, match["left"] is not None) and not reading.can_be(result):
                like = [one.value for one in parts if _kind(one) == _kind(result)]
                against = _operand(reading, [*like, *(one.value for one in parts)])
                reason = f"The numbers before it come to {_total(result, parts, match['left'] is not None)}."
                yield Point("wrong_fact", sentence.text[result.start : result.end], against, reason, _FIX)
        before = (before + found)[-8:]


def _total(result: Figure, parts: Sequence[Figure], is_left: bool) -> str:
    """The sum of the numbers before a result, where it is meant to be that."""
    total = sum(one.value for one in parts if _kind(one) in {_kind(result), ("", "")})
    if is_left or not 0.8 < result.value / (total or 1) < 1.25:
        return "another"
    return f"{total:,.2f}".removesuffix(".00")


def _operand(reading: Reading, values: Sequence[float]) -> str:
    """The record's words for the first of these values that it has, or whose factors stand in one of its rows."""
    if found := reading.quote_of_all(values):
        return found
    for row in reading.facts.rows:
        have = [number for cell in row.cells for _, number in cell.values if isinstance(number, float)]
        if any(one * two == value for one in have for two in have for value in values if one is not two) and row.cells:
            return row.cells[0].quote
    return ""


def _is_off(result: Figure, parts: list[Figure], is_left: bool) -> bool:
    """Whether the numbers before a result come to nearly it, and not to it: as a sum within a fifth, or as what is
    left in all digits but one."""
    if is_left:
        like = [one.value for one in parts if _kind(one) in {_kind(result), ("", "")}]
        rests = _leftovers(like)
        near = any(distance_at_most_one(f"{rest:g}", f"{result.value:g}") for rest in rests)
        return len(like) >= 2 and near and not any(same(rest, result.value) for rest in rests)
    values = [one.value for one in parts if _kind(one) in {_kind(result), ("", "")}]
    if len(values) < 2 or any(same(one, result.value, result.places) for one in _subset_sums(values)):
        return False
    near = 0.8 < result.value / (sum(values) or 1) < 1.25
    return near or any(distance_at_most_one(f"{one:g}", f"{result.value:g}") for one in _subset_sums(values))


def _kind(number: Figure) -> tuple[str, str]:
    """The unit and the currency; any word that is no unit is none."""
    return number.unit if number.unit in UNITS else "", number.money


def _leftovers(values: list[float]) -> set[float]:
    """The differences between one of the values and some of those after it."""
    return {round(values[at] - taken, 4) for at in range(len(values)) for taken in _subset_sums(values[at + 1 :])}


def _subset_sums(values: list[float]) -> set[float]:
    sums = {0.0}
    for value in values[-8:]:
        sums |= {round(total + value, 4) for total in sums}
    return sums - {0.0}


def _spans(reading: Reading) -> Iterator[float]:
    """How many nights there are between the two days of a call's arguments."""
    for call in reading.record.worked:
        found = [day for day in days(call.arguments) if day.year]
        if len(found) == 2:
            one, two = (datetime.date(day.year or 1, day.month, day.day) for day in found)
            yield float(abs((two - one).days))


def _reaches(amounts: list[Figure], total: Figure) -> bool:
    values = [amount.value for amount in amounts]
    signed = sum(-value if "-" in amount.text else value for amount, value in zip(amounts, values, strict=True))
    return (
        same(sum(values), total.value)
        or same(signed, total.value)
        or any(
            same(sum(values) - 2 * one, total.value) or same(sum(values) - one, total.value) or same(one, total.value)
            for one in values
        )
    )


def _of(match: re.Match[str], name: str) -> float:
    return float(match[name].replace(",", ""))


def _near(value: float, said: str) -> bool:
    """Whether `said` is the value, rounded down or up to the places it has."""
    digits = said.replace(",", "")
    places = len(digits.partition(".")[2])
    return abs(value - float(digits)) < 10.0**-places + 1e-9
