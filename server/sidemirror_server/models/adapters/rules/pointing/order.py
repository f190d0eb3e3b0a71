"""Finds comparisons, superlatives and trends that are the wrong way round."""

import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.days import days
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import DataField, Item
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken, numbers, stem, words_of

_PRICE = "price cost fare amount total fee charge"
_TIME = "duration time latency ms seconds took elapsed minutes hours runtime p50 p95 p99"
_SIZE = "size bytes mb gb population area length count rows lines"
# Comparative and superlative, whether the least is meant, and the words of the keys it is measured by; none: any key
# that the sentence names. Chosen here.
_WORDS_TEXT = f"""
cheaper cheapest|-|{_PRICE}
pricier priciest costlier costliest|+|{_PRICE}
faster fastest quicker quickest|-|{_TIME}
slower slowest|+|{_TIME}
larger largest bigger biggest|+|{_SIZE}
smaller smallest|-|{_SIZE}
higher highest greater greatest more most|+|
lower lowest fewer fewest less least|-|
more-expensive most-expensive|+|{_PRICE}
less-expensive least-expensive|-|{_PRICE}
heavier heaviest|+|weight kg mass
lighter lightest|-|weight kg mass
taller tallest|+|height
longer longest|+|length duration distance pages runtime
shorter shortest|-|length duration distance height pages runtime
older oldest|-age|age date created built year founded
newer newest younger youngest|+age|age date created built year founded
earlier earliest sooner soonest|-|date time start departure arrival created due at
later latest|+|date time start departure arrival created due at
closer closest nearer nearest|-|distance km miles
farther farthest further furthest|+|distance km miles
"""


class _Word(msgspec.Struct, frozen=True):
    least: bool
    keys: frozenset[str]


_WORDS = {
    word: _Word(sign.startswith("-"), frozenset(map(stem, keys.split())))
    for said, sign, keys in (line.split("|") for line in _WORDS_TEXT.strip().splitlines())
    for word in (part.replace("-", " ") for part in said.split())
}
_SAID = re.compile(
    rf"\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})\b(?P<than>[^.;\n]{{0,60}}? than\b)?", re.IGNORECASE
)
_TREND = re.compile(
    r"\b(?P<way>increased|rose|grew|climbed|went up|gone up|jumped|gained|risen|grown|is up|are up|was up|"
    r"improved|decreased|fell|dropped|declined|went down|gone down|shrank|fallen|"
    r"reduced|sank|is down|are down|was down)\b(?P<between>[^.;\n\d]{0,60}?\bfrom "
    r")[$€£]?(?P<one>\d[\d,]{0,14}(?:\.\d{1,6})?) ?(?P<unit>%|[a-zA-Z]{1,12})? (?:in [A-Za-z0-9 ]{1,20} )?to "
    r"[$€£]?(?P<two>\d[\d,]{0,14}(?:\.\d{1,6})?) ?(?P<unit2>%|[a-zA-Z]{1,12})?",
    re.IGNORECASE,
)
_UP = re.compile(r"increased|rose|grew|climbed|up|jumped|gained|risen|grown", re.IGNORECASE)
_LIMITED = re.compile(
    r"\b(?:that|which|among|within|under|available|one of|second|third|next|nonstop|non-stop|direct|with|"
    r"for|in|so far|excluding|except|per|average|growth|ratio)\b",
    re.IGNORECASE,
)
_STATES = re.compile(r"\b(?:is|are|was|were|has|have|had|comes?|came|leads?)\b", re.IGNORECASE)
_BOTH_CHARS = 400
_FIX = "Compare the values on record again."


# `more gas than before: 1,126 compared with 1,209`: the first number belongs to what is more.
_AGAINST = re.compile(
    r"\b(?P<way>more|larger|bigger|higher|greater|longer|heavier|less|fewer|smaller|lower|shorter|lighter)\b"
    r"[^.;\n\d]{1,60}?[,:(]\s?(?:at |with |by )?(?P<one>[$€£]?\d[\d,]{0,14}(?:\.\d{1,6})?) ?(?P<unit>[^\s,.;]{0,8}) "
    r"(?:compared (?:with|to)|against|versus|vs\.?|instead of|rather than|and not) "
    r"(?P<two>[$€£]?\d[\d,]{0,14}(?:\.\d{1,6})?)",
    re.IGNORECASE,
)
_MORE = re.compile(r"more|larger|bigger|higher|greater|longer|heavier", re.IGNORECASE)
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,5}(?:\.\d{1,5}){1,3})(?![\w.]*\d)")
_NEWER = re.compile(
    r"\b(?:(?P<newer>newer|later|higher|more recent|above|satisf\w{1,3}|meets?|fulfil\w{0,3})|(?P<older>older|"
    r"earlier|lower|below))\b"
    r"(?P<than>[^.;\n]{0,40})",
    re.IGNORECASE,
)
_REQUIRED = re.compile(
    r"\b(?:at least|minimum|requires?|required|needs?|demand\w{0,3}|>=|or (?:later|newer|higher))", re.IGNORECASE
)
_RANKED = re.compile(
    r"\b(?:top|rank\w{0,3}|most|largest|biggest|highest|longest|slowest|costliest|by (?:total|size|time|cost|amount)|"
    r"worst|first|descending)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^[ \t]{0,4}(?P<place>\d{1,2})[.)] (?P<text>[^\n]{3,200})$", re.MULTILINE)


def _against(reading: Reading) -> Iterator[Point]:
    """Finds comparisons whose two numbers, given beside them, stand the other way round."""
    for sentence in reading.sentences:
        for match in _AGAINST.finditer(sentence.text):
            one, two = (float(match[name].lstrip("$€£").replace(",", "")) for name in ("one", "two"))
            if one != two and (one > two) is not bool(_MORE.fullmatch(match["way"])):
                against = reading.quote_of(one) or reading.quote_of(two)
                yield Point("wrong_fact", match[0], against, "The numbers go the other way.", _FIX)


def _versions(reading: Reading) -> Iterator[Point]:
    """Finds `newer than` of two versions, one of which is required, that are the other way round."""
    before = ""
    for sentence in reading.sentences:
        text, before = f"{before} {sentence.text}", sentence.text
        match = _NEWER.search(sentence.text)
        if match is None or is_unreal(sentence.text) or re.search(r"\bnot\b|n['’]t\b", sentence.text):
            continue
        found = [*_VERSION.finditer(text)]
        required = [one for one in found if _REQUIRED.search(text[max(0, one.start() - 30) : one.start()])]
        if len({one[1] for one in required}) != 1 or not re.search(
            r"\bthan|required|minimum|need", match[0], re.IGNORECASE
        ):
            continue
        wanted = required[0][1]
        others = {one[1] for one in found if one[1] != wanted and one[1].split(".")[0] == wanted.split(".")[0]}
        if len(others) != 1:
            continue
        has = others.pop()
        newer = [*map(int, has.split("."))] > [*map(int, wanted.split("."))]
        if newer is not (match["newer"] is not None):
            against = next((line.strip() for line in reading.record.text.splitlines() if wanted in line), "")
            yield Point(
                "wrong_fact",
                sentence.plain,
                against[:_BOTH_CHARS],
                f"{has} is {'newer' if newer else 'older'} than {wanted}.",
                _FIX,
            )


def _ranking(reading: Reading) -> Iterator[Point]:
    """Finds numbered lists from the most to the least whose numbers neither fall nor rise."""
    rows = [*_NUMBERED.finditer(reading.answer)]
    if len(rows) < 3 or [int(row["place"]) for row in rows] != [*range(1, len(rows) + 1)]:
        return
    if not _RANKED.search(reading.answer[max(0, rows[0].start() - 120) : rows[0].start()]):
        return
    firsts = [next(numbers(row["text"]), None) for row in rows]
    if any(one is None or one.unit != firsts[0].unit for one in firsts):  # type: ignore[union-attr]
        return
    values = [one.value for one in firsts if one is not None]
    if values in (sorted(values), sorted(values, reverse=True)):
        return
    at = next(place for place in range(1, len(values)) if values[place] > values[place - 1])
    quote = reading.answer[rows[at - 1].start() : rows[at].end()].strip()
    yield Point("wrong_fact", quote, reading.quote_of(values[at]), "The numbers are not in this order.", _FIX)


def order(reading: Reading) -> Iterator[Point]:
    """Finds comparisons and superlatives that the record's values contradict, and trends that contradict their own
    numbers."""
    yield from _against(reading)
    yield from _versions(reading)
    yield from _ranking(reading)
    for sentence in reading.sentences:
        yield from _trends(sentence)
        if is_unreal(sentence.text) or re.search(r"\bnot\b|n['’]t\b", sentence.text):
            continue
        for match in _SAID.finditer(sentence.text):
            word = _WORDS[match[1].casefold()]
            if match["than"]:
                yield from _compared(reading, sentence, match, word)
            elif match[1].casefold().split()[0].endswith("st"):
                yield from _extreme(reading, sentence, match, word)
            elif re.search(r"\bthe $", sentence.text[: match.start()]):
                yield from _extreme(reading, sentence, match, word, most=2)


def _trends(sentence: Spoken) -> Iterator[Point]:
    for match in _TREND.finditer(sentence.text):
        if match["way"] == "improved" or ((match["unit"] or "") != (match["unit2"] or "") and match["unit"]):
            continue
        one, two = (float(match[name].replace(",", "")) for name in ("one", "two"))
        if one != two and (two > one) is not bool(_UP.search(match["way"])):
            yield Point("wrong_fact", match[0], "", "The numbers go the other way.", _FIX)


def _compared(reading: Reading, sentence: Spoken, match: re.Match[str], word: _Word) -> Iterator[Point]:
    begin = max(sentence.text.rfind(mark, 0, match.start()) for mark in ",;(") + 1
    left, right = (
        sentence.text[begin : match.start()].casefold(),
        re.split(r"[,:;(]", sentence.text[match.end() :])[0].casefold(),
    )
    for group in _groups(reading):
        ones, others = ([item for item in group if _named(item, group, text)] for text in (left, right[:80]))
        if len(ones) != 1 or len(others) != 1 or ones[0] is others[0]:
            continue
        values = _values(
            [*ones, *others], word, _spoken(match[0]) if match[1].casefold() in {"more", "less"} else sentence
        )
        if values is None or values[0][0] == values[1][0]:
            continue
        if (values[0][0] < values[1][0]) is not word.least:
            quote = sentence.text[begin:].strip(" .")
            reason = "The record has it the other way round."
            yield Point("wrong_fact", quote, _both(values[0][1], values[1][1]), reason, _FIX)
            return


def _spoken(text: str) -> Spoken:
    return Spoken(text, 0, frozenset(words_of(text)))


def _both(one: DataField, other: DataField) -> str:
    """The record's words from one field to the other; if they stand in two results, only those of the first."""
    text = one.item.call.text
    places = sorted((text.find(field.quote), len(field.quote)) for field in (one, other))
    if one.item.call is not other.item.call or places[0][0] < 0:
        return one.quote
    return text[places[0][0] : places[1][0] + places[1][1]][:_BOTH_CHARS]


def _extreme(reading: Reading, sentence: Spoken, match: re.Match[str], word: _Word, most: int = 50) -> Iterator[Point]:
    if not _STATES.search(sentence.text):
        return
    if _LIMITED.search(sentence.text[match.end() :][:30]) or _LIMITED.search(
        sentence.text[max(0, match.start() - 16) : match.start()]
    ):
        return
    before = reading.answer[max(0, sentence.start - 200) : sentence.start]
    for group in _groups(reading):
        if most == 2 and len(group) > most and re.search(r"\bof the two\b", sentence.text):
            said = (before + sentence.text).casefold()
            group = [item for item in group if _named(item, group, said)]
        if len(group) > most:
            continue
        named = [item for item in group if _named(item, group, sentence.text.casefold())]
        if len(named) != 1:
            continue
        values = _values([named[0], *(item for item in group if item is not named[0])], word, sentence)
        if values is None:
            continue
        best = (min if word.least else max)(values[1:], key=lambda pair: pair[0])
        if best[0] != values[0][0] and (best[0] < values[0][0]) is word.least:
            reason = "Another one on record comes before it."
            yield Point("wrong_fact", sentence.plain, best[1].quote, reason, _FIX)
            return


def _groups(reading: Reading) -> list[list[Item]]:
    """Items that can be compared: those of one place in one result, two or more."""
    groups: dict[tuple[int, tuple[str, ...]], list[Item]] = {}
    asked: dict[tuple[str, tuple[str, ...]], list[Item]] = {}
    for item in reading.record.items:
        if item.fields:
            groups.setdefault((item.call.place, item.place), []).append(item)
            asked.setdefault((item.call.name, item.place), []).append(item)
    one_a_call = [group for group in asked.values() if len({item.call for item in group}) == len(group) > 1]
    return one_a_call + [group for group in groups.values() if 2 <= len(group) <= 50]


def _named(item: Item, group: list[Item], folded: str) -> bool:
    if any(name in folded and sum(name in other.names for other in group) == 1 for name in item.names):
        return True
    others = {part.casefold() for other in group if other is not item for part in parts_of(other)}
    own = {part.casefold() for part in parts_of(item)} - others
    return any(re.search(rf"\b{re.escape(part)}\b", folded) for part in own)


def _values(items: list[Item], word: _Word, sentence: Spoken) -> list[tuple[float, DataField]] | None:
    """The value by which each item is compared, with its field; None if it is not clear which that is."""
    keys = [
        key
        for key in dict.fromkeys(field.key for field in items[0].fields)
        if all(_value(item.field(key.casefold())) is not None for item in items)
    ]
    names = {key: frozenset(field.name) for item in items[:1] for key in keys if (field := item.field(key.casefold()))}
    fits = [key for key in keys if names[key] & sentence.words and (not word.keys or names[key] & word.keys)]
    fits = fits or [key for key in keys if names[key] & word.keys]
    fits = [key for key in fits if key.casefold() in {"total", "price", "amount"}][:1] or fits
    if len(fits) != 1:
        return None
    found = [item.field(fits[0].casefold()) for item in items]
    return [(_value(field) or 0.0, field) for field in found if field is not None]


def _value(field: DataField | None) -> float | None:
    """The value of a field as a number; a day counts as its ordinal in the calendar."""
    if field is None or isinstance(field.value, bool):
        return None
    if isinstance(field.value, float):
        return field.value
    found = days(str(field.value))
    if len(found) == 1 and found[0].year:
        return found[0].year * 400.0 + found[0].month * 31 + found[0].day
    return None


def parts_of(item: Item, key: str = "") -> set[str]:
    """What an item can be called by: its short texts, and capitalised words and identifiers in them."""
    parts: set[str] = set()
    for field in item.fields:
        if isinstance(field.value, str) and field.key != key and len(field.value) <= 60:
            parts |= set(re.findall(r"[A-Z][\w'’-]{2,}|[\w-]*\d[\w-]{2,}", field.value))
            if field.key.casefold() in {"name", "id", "title", "key", "host", "service", "email"}:
                parts.add(field.value)
    if item.path and not item.listed:
        parts.add(item.path[-1])
    if not item.path and not item.listed:
        parts |= {word for text in item.call.asked for word in re.findall(r"[A-Z][\w'’-]{2,}", text)}
    return parts
