"""Finds recorded numbers that the answer gives with another unit, another period or another magnitude."""

import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Figure,
    Spoken,
    name_words,
    numbers,
    tokens_of,
    words_of,
)

# What can be mistaken for each other: one dimension a line, one unit a group of spellings, each with how many of the
# first unit it is; 0 if it is not known.
_UNITS_TEXT = """
1 ns nanosecond nanoseconds|1e3 us µs microsecond microseconds|1e6 ms msec millisecond milliseconds|1e9 s sec secs \
second seconds|6e10 min mins minute minutes|3.6e12 h hr hrs hour hours|8.64e13 day days d|6.048e14 week weeks|\
0 month months|0 year years yr
1 b byte bytes|1e3 kb kib kilobyte kilobytes|1e6 mb mib megabyte megabytes|1e9 gb gib gigabyte gigabytes|\
1e12 tb tib terabyte terabytes|0.125 bit bits
0 $ us$ usd dollar dollars|0 € eur euro euros|0 £ gbp pound pounds|0 ¥ jpy yen|0 chf|0 cent cents|0 inr rupee rupees|\
0 pln zloty|0 czk|0 sek|0 nok|0 dkk|0 cad|0 aud|0 cny rmb yuan|0 krw|0 brl|0 mxn|0 zar|0 try|0 huf|0 sgd|0 hkd|0 nzd
0.001 µg ug mcg microgram micrograms|1 mg milligram milligrams|1e3 g gram grams|1e6 kg kilogram kilograms kilo \
kilos|453592 lb lbs pounds-weight|\
1e9 t ton tons tonne tonnes|28350 oz ounce ounces
1 mm millimeter millimetre millimeters millimetres|10 cm centimeter centimetre centimeters centimetres|1e3 m meter \
metre meters metres|1e6 km kilometer kilometre kilometers kilometres|1609344 mi mile miles|304.8 ft foot feet|\
25.4 in inch inches
0 °c celsius degc c|0 °f fahrenheit degf f|0 kelvin k°
1 ml milliliter millilitre|1e3 l liter litre liters litres|3785 gallon gallons
1 w watt watts|1e3 kw kilowatt kilowatts|1e6 mw megawatt megawatts
1 kwh|1e3 mwh|1e6 gwh|1e9 twh
1 kbps|1e3 mbps|1e6 gbps
1e3 thousand k|1e6 million mn|1e9 billion bn|1e12 trillion
1 km/h kmh kph|1.609 mph
"""


class _Unit(msgspec.Struct, frozen=True):
    dimension: int
    place: int
    factor: float


UNITS: dict[str, _Unit] = {}
_OF_DIMENSION: dict[int, list[_Unit]] = {}
for _dimension, _line in enumerate(_UNITS_TEXT.strip().splitlines()):
    for _place, _group in enumerate(_line.split("|")):
        _factor, *_spellings = _group.split()
        _one = _Unit(_dimension, _place, float(_factor))
        _OF_DIMENSION.setdefault(_dimension, []).append(_one)
        UNITS.update(dict.fromkeys(_spellings, _one))
# What a sign may stand for.
_OF_SIGN = {
    sign: frozenset(UNITS[code] for code in codes.split())
    for sign, codes in (("$", "usd cad aud mxn sgd hkd nzd brl"), ("¥", "jpy cny"))
}
_KEY = re.compile(r"[\"']?([A-Za-z_]\w{0,40})[\"']?\s{0,2}[:=]\s{0,2}[\"']?$")
# Of the answer, and of the record.
_MOST_SAID, _MOST_QUANTITIES = 300, 2_000
_WITHIN_KEYS = frozenset(
    ["ms", "sec", "seconds", "minutes", "hours", "mb", "gb", "kb", "bytes", "kg", "km", "eur", "usd", "gbp"]
)
_WITHIN = re.compile(r"\b(?:within|under|up to|at most|at least) $", re.IGNORECASE)
_NUMERIC = re.compile(r"\d{1,12}(?:\.\d{1,6})?")
_BESIDE = ("currency", "unit", "units", "currency_code", "uom", "weight_unit", "unit_of_measure")
# What begins no word of these is told by its first letter: all words at each place took three times as long.
_PERIOD = re.compile(
    r"[^.;\n\d]{0,24}?(?:/|(?=[pae])\b(?:per:?|an?|every|each))[ \t\"':]{0,4}"
    r"(?P<period>second|minute|hour|night|day|week|month|quarter|year)s?\b",
    re.IGNORECASE,
)
_PERIOD_ON_RECORD = re.compile(
    r"[^.;\d]{0,20}?(?:/|(?=[paeif])\b(?:per(?:iod)?|an?|every|each|interval|frequency))[ \t\"':=]{0,5}"
    r"(?P<period>second|minute|hour|night|day|week|month|quarter|year|daily|weekly|monthly|yearly|annual)",
    re.IGNORECASE,
)
_PERIOD_IN_KEY = re.compile(
    r"(?:_per_|_a_|per)(?P<period>second|minute|hour|night|day|week|month|quarter|year)s?[\"']?\s?[:=]\s?$",
    re.IGNORECASE,
)
# How many of one period are in another.
_PERIODS = (12, 52, 4, 7, 30, 365, 24)
_ADVERBS = {"daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annual": "year"}
_MAGNITUDE = re.compile(
    r"(?:\b(?:amounts|figures|values|all|prices) [a-z ]{0,16})?(?:\bin|\(|,|:) ?(?:(?:[A-Z]{3}|[$€£¥]) "
    r"?(?P<one>thousands?|millions?|billions?|mn|bn|m|k)\b"
    r"|(?P<two>thousands|millions|billions) (?:of )?(?:[A-Z]{3}|[$€£¥]|\w{4,8}))[^\n]{0,40}"
)
_MAGNITUDES = {"t": 1e3, "k": 1e3, "m": 1e6, "b": 1e9}
_REASON, _FIX = "The record has this number in another unit.", "Take the unit from the record."
# With fewer digits two quantities are the same by chance.
_TELLING_DIGITS = 3
# A line that names its own currency is not told in the heading's thousands: earnings a share, below them.
_OWN_CURRENCY = re.compile(r"\((?:EUR|USD|GBP|CHF|JPY|[€$£])\)")


class _Quantity(msgspec.Struct, frozen=True):
    value: float
    unit: _Unit
    quote: str
    words: frozenset[str]


def units(reading: Reading) -> Iterator[Point]:
    """Finds numbers that the record has with one unit only, and the answer with another unit of the same dimension."""
    said = [(sentence, number) for sentence in reading.sentences for number in numbers(sentence.text)][:_MOST_SAID]
    if not said:
        return
    recorded, quantities = _recorded(reading)
    told = {(number.digits, _unit(number)) for _, number in said}
    for sentence, number in said:
        # What is told in its own unit as well is another thing here.
        units_of = [unit for unit in recorded.get(number.digits, ()) if unit != _unit(number)]
        if (
            _is_between(reading, number)
            or _WITHIN.search(sentence.text[: number.start])
            or any((number.digits, unit) in told for unit in units_of)
        ):
            continue
        point = _other_unit(sentence, number, recorded) or _converted(sentence, number, recorded, quantities)
        if point is not None:
            yield point
    yield from _currencies(reading)
    yield from _compounds(reading)
    yield from _minors(reading)
    yield from _periods(reading)
    yield from _magnitudes(reading)


def _recorded(reading: Reading) -> tuple[dict[float, dict[_Unit | None, str]], list[_Quantity]]:
    recorded: dict[float, dict[_Unit | None, str]] = {}
    quantities = []
    for text, figures in reading.record.figures:
        for number in figures:
            unit, quote = _recorded_unit(text, number)
            if unit is not None or not number.unit:
                recorded.setdefault(number.digits, {}).setdefault(unit, quote)
            if unit is not None:
                begin = max(text.rfind("\n", 0, number.start) + 1, number.start - 80)
                words = frozenset(name_words(text[begin : number.end]))
                quantities.append(_Quantity(number.digits, unit, quote, words))
    for field in reading.record.fields:
        beside = field.item.field(*_BESIDE) or (
            field.item.parent.field(*_BESIDE) if field.item.parent is not None else None
        )
        beside = field.item.field(f"{field.key.casefold()}_unit", f"{field.key.casefold()}_currency") or beside
        digits = str(field.value).replace(",", "").removesuffix(".0")
        if beside is not None and _NUMERIC.fullmatch(digits) and str(beside.value).casefold() in UNITS:
            unit = UNITS[str(beside.value).casefold()]
            quote = _from_to(field.item.call.text, field.quote, beside.quote)
            recorded.setdefault(float(digits), {}).setdefault(unit, quote)
            recorded[float(digits)].pop(None, None)
            named = (one.value for one in field.item.fields if isinstance(one.value, str))
            words = frozenset(word for text in (field.key, *named) for word in words_of(text.replace("_", " ")))
            quantities.append(_Quantity(float(digits), unit, quote, words))
    return recorded, quantities[:_MOST_QUANTITIES]


def _is_between(reading: Reading, number: Figure) -> bool:
    """Whether a duration lies between two days or times that are told or on record."""
    unit = _unit(number)
    return unit is not None and not unit.dimension and round(number.value * unit.factor / 1e9) in reading.gaps_s


def _other_unit(sentence: Spoken, number: Figure, recorded: dict[float, dict[_Unit | None, str]]) -> Point | None:
    said = _unit(number) or _code_before(sentence.text, number)
    if said is None or _MORE_TIME.match(sentence.text, number.end):
        return None
    by_unit = recorded.get(number.digits, {})
    if any(unit in _OF_SIGN.get(number.money, ()) for unit in by_unit):
        return None
    known = {unit: quote for unit, quote in by_unit.items() if unit is not None and unit.dimension == said.dimension}
    if len(known) != 1 or said in known:
        return None
    ((_, quote),) = known.items()
    return Point("wrong_fact", _with_unit(sentence, number), quote, _REASON, _FIX)


def _converted(
    sentence: Spoken,
    number: Figure,
    recorded: dict[float, dict[_Unit | None, str]],
    quantities: list[_Quantity],
) -> Point | None:
    """A number that is a recorded quantity in a unit other than the one said, while no quantity is it in that one."""
    said = _unit(number)
    if said is None or not said.factor or None in recorded.get(number.digits, {}):
        return None
    alike = [one for one in quantities if one.unit.dimension == said.dimension and one.unit.factor]
    value = number.digits
    if any(_is(one.value * one.unit.factor / said.factor, value, number.places) for one in alike):
        return None
    words = tokens_of(sentence.text)
    for one in alike:
        for unit in _OF_DIMENSION[said.dimension]:
            if not unit.factor or unit == said:
                continue
            inside = one.value * one.unit.factor / unit.factor
            if _is(inside, value, number.places) and one.words & words and 0.5 <= inside < 2_000:
                return Point("wrong_fact", _with_unit(sentence, number), one.quote, _REASON, _FIX)
    return None


def _is(exact: float, said: float, places: int) -> bool:
    if said == int(said) and not places and said < 10 ** (_TELLING_DIGITS - 1):
        return abs(exact - said) < 1e-6 * max(1.0, said)
    return abs(exact - said) <= 0.51 * 10.0**-places


# Sizes as df and Kubernetes write them.
_SIZE = re.compile(r"([KMGT])i?(?![\w/])")
_ALL_IN = re.compile(
    r"\b(?:(?:all )?(?:amounts|prices|figures|sums|values) (?:are |is )?(?:given |stated |quoted )?in |"
    r"currency\"?\s?[:=]\s?\"?)(?P<code>[A-Z]{3}\b|[$€£])",
    re.IGNORECASE,
)


def _currencies(reading: Reading) -> Iterator[Point]:
    """Finds amounts that a text has in the currency of its heading, told in another one."""
    codes = {match["code"].casefold() for call in reading.record.worked for match in _ALL_IN.finditer(call.text)}
    if len(codes) != 1:
        return
    for call in reading.record.worked:
        heading = _ALL_IN.search(call.text)
        unit = UNITS.get(heading["code"].casefold()) if heading else None
        if heading is None or unit is None or unit.dimension != 2:
            continue
        listed = {
            number.value
            for text, figures in reading.record.figures
            if text is call.text
            for number in figures
            if not number.money
        }
        for sentence in reading.sentences:
            for number in numbers(sentence.text):
                said = _unit(number) or _code_before(sentence.text, number)
                if (
                    said is not None
                    and said.dimension == 2
                    and said != unit
                    and unit not in _OF_SIGN.get(number.money, ())
                    and number.value in listed
                    and number.value >= 10
                ):
                    yield Point("wrong_fact", _with_unit(sentence, number), heading[0], _REASON, _FIX)
                    return


_COMPOUND = re.compile(r" ?(?P<unit>[A-Za-zµμ]{1,6}/[A-Za-z]{1,4}[23²³]?)(?![\w/])")


def _compounds(reading: Reading) -> Iterator[Point]:
    """Finds numbers in a unit such as mg/dL that the record has in another one of that form."""
    for sentence in reading.sentences:
        for number in numbers(sentence.text):
            match = _COMPOUND.match(sentence.text, number.end)
            if match is None:
                continue
            said = _spelled(match["unit"])
            same = [field for field in reading.record.fields if field.value == number.value]
            beside = [
                unit
                for field in same
                if (unit := field.item.field(f"{field.key.casefold()}_unit", *_BESIDE)) is not None
            ]
            units_of = {_spelled(str(unit.value)): unit.quote for unit in beside if "/" in str(unit.value)}
            if len(units_of) == 1 and said not in units_of and len(beside) == len(same):
                quote = sentence.text[number.start : match.end()]
                yield Point("wrong_fact", quote, next(iter(units_of.values())), _REASON, _FIX)


def _spelled(unit: str) -> str:
    return unit.casefold().replace("µ", "u").replace("μ", "u")


_MINOR = frozenset({"minor", "cent", "penc", "penny"})


def _minors(reading: Reading) -> Iterator[Point]:
    """Finds amounts of money that the record has in cents, told as if they were whole."""
    minors = {
        field.value: field.quote
        for field in reading.record.fields
        if isinstance(field.value, float) and _MINOR & frozenset(field.name) and abs(field.value) >= 100
    }
    for sentence in reading.sentences:
        for number in numbers(sentence.text) if minors else ():
            as_money = any(
                one.money and one.value == number.value for _, every in reading.record.figures for one in every
            )
            is_money = (not as_money and bool(number.money)) or _is_currency(sentence.text, number)
            if is_money and number.value in minors and number.unit not in {"cents", "cent", "pence", "minor"}:
                quote = sentence.text[number.start : number.end]
                yield Point("wrong_fact", quote, minors[number.value], _REASON, _FIX)


def _periods(reading: Reading) -> Iterator[Point]:
    """Finds numbers `a month` that the record has `per week`."""
    for sentence in reading.sentences:
        for number in numbers(sentence.text):
            match = _PERIOD.match(sentence.text, number.end)
            if match is None or (number.value < 10 and not number.places):
                continue
            if any(round(number.value / by, 2) in reading.record.numbers for by in _PERIODS):
                continue
            found: dict[str, str] = {}
            for text, figures in reading.record.figures:
                for other in figures:
                    if other.value == number.value:
                        beside = _PERIOD_ON_RECORD.match(text, other.end)
                        named = _PERIOD_IN_KEY.search(text[max(0, other.start - 60) : other.start])
                        period = beside["period"].casefold() if beside else named["period"].casefold() if named else ""
                        begin = text.rfind("\n", 0, other.start) + 1
                        quote = text[max(begin, other.start - 40) : beside.end() if beside else other.end].strip()
                        found.setdefault(_ADVERBS.get(period, period), quote)
            # What is told with its own period as well is another thing here.
            also = any(
                other.value == number.value
                and (beside := _PERIOD.match(one.text, other.end)) is not None
                and beside["period"].casefold() in found
                for one in reading.sentences
                for other in numbers(one.text)
            )
            if len(found) == 1 and "" not in found and match["period"].casefold() not in found and not also:
                quote = sentence.text[number.start : match.end()]
                yield Point("wrong_fact", quote, next(iter(found.values())), _REASON, _FIX)


def _magnitudes(reading: Reading) -> Iterator[Point]:
    """Finds numbers of a table whose heading says thousands or millions, and the answer something else."""
    for call in reading.record.worked:
        heading = _MAGNITUDE.search(call.text)
        if heading is None:
            continue
        scale = _MAGNITUDES[(heading["one"] or heading["two"])[0].casefold()]
        listed = {
            number.digits
            for text, figures in reading.record.figures
            if text is call.text
            for number in figures
            if not _OWN_CURRENCY.search(text, text.rfind("\n", 0, number.start) + 1, number.start)
        }
        for sentence in reading.sentences:
            for number in numbers(sentence.text):
                plain = re.sub(r"[^\d]", "", number.text)
                if len(plain.strip("0")) < 2 or not (number.money or _is_currency(sentence.text, number)):
                    continue
                off = [one for one in listed if one and _thousands(number.value / (one * scale))]
                exact = any(abs(number.value - one * scale) < 1e-6 * number.value for one in listed)
                if len(off) == 1 and not exact and len(f"{off[0]:g}".replace(".", "").strip("0")) >= 2:
                    yield Point(
                        "wrong_fact",
                        number.text,
                        heading[0].strip(),
                        "The record has this number in another magnitude.",
                        _FIX,
                    )


def _is_currency(text: str, number: Figure) -> bool:
    unit = UNITS.get(number.unit) or UNITS.get(text[max(0, number.start - 4) : number.start].strip().casefold())
    return unit is not None and unit.dimension == 2


def _thousands(ratio: float) -> bool:
    return any(abs(ratio / by - 1) < 1e-9 for by in (1e-6, 1e-3, 1e3, 1e6))


def _with_unit(sentence: Spoken, number: Figure) -> str:
    end = sentence.text.find(number.unit, number.end) if number.unit else -1
    named = number.unit in UNITS or not number.money
    stop = end + len(number.unit) if 0 <= end - number.end <= 1 and named else number.end
    if _code_before(sentence.text, number) is not None:
        return sentence.text[max(0, number.start - 4) : stop].strip()
    begin = number.start - 2 if sentence.text[max(0, number.start - 2) : number.start] == "US" else number.start
    return sentence.text[begin:stop]


def _from_to(text: str, one: str, other: str) -> str:
    """The record's words from one quote to the other that stands next to it."""
    begin = text.find(one)
    end = text.find(other, begin)
    return text[begin : end + len(other)] if 0 <= begin < end < begin + 300 else other


def _unit(number: Figure) -> _Unit | None:
    return UNITS.get(number.unit) or UNITS.get(number.money.casefold())


# `6 hours 55 minutes` is one duration.
_MORE_TIME = re.compile(
    r" ?(?:h|hours?|min|minutes?),? (?:and )?\d{1,2} ?(?:m|min|minutes?|s|sec|seconds?)\b", re.IGNORECASE
)


def _code_before(text: str, number: Figure) -> _Unit | None:
    """The currency whose code stands before a number."""
    unit = UNITS.get(text[max(0, number.start - 4) : number.start].strip().casefold())
    return unit if unit is not None and unit.dimension == 2 and not number.money else None


def _recorded_unit(text: str, number: Figure) -> tuple[_Unit | None, str]:
    """The unit after the number, before it, or at the end of its key."""
    size = _SIZE.match(text, number.end)
    if size is not None:
        return UNITS[f"{size[1].casefold()}b"], text[number.start : size.end()]
    if (unit := _unit(number)) is not None:
        return unit, text[number.start : min(len(text), number.end + 1 + len(number.unit))].strip()
    before = text[max(0, number.start - 60) : number.start]
    key = _KEY.search(before)
    if key is not None:
        parts = [part for part in key[1].casefold().split("_") if part in UNITS]
        if len(parts) > 1:
            return None, number.text
        unit = (
            UNITS.get(key[1].rpartition("_")[2].casefold())
            or UNITS.get(parts[0] if parts and parts[0] in _WITHIN_KEYS else "")
            or UNITS.get(re.sub(r".*(?=[A-Z][a-z]*$)", "", key[1]).casefold())
        )
        return unit, (key[0] + number.text).strip()
    code = UNITS.get(before[-4:].strip().casefold()) if before[-1:] == " " else None
    if code is not None and code.dimension == 2:
        return code, text[max(0, number.start - 4) : number.end].strip()
    return None, number.text
