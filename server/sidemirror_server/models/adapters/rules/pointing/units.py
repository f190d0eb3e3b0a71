"""Finds recorded numbers that the answer gives with another unit."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.texts import Figure, numbers

# What can be mistaken for each other: one dimension a line, one unit a group of spellings.
_UNITS_TEXT = """
ns nanosecond nanoseconds|us µs microsecond microseconds|ms msec millisecond milliseconds|s sec secs second \
seconds|min mins minute minutes|h hr hrs hour hours|day days d|week weeks|month months|year years yr
b byte bytes|kb kib kilobyte kilobytes|mb mib megabyte megabytes|gb gib gigabyte gigabytes|tb tib terabyte \
terabytes|bit bits
$ usd dollar dollars|€ eur euro euros|£ gbp pound pounds|¥ jpy yen|chf|cent cents|inr rupee rupees|pln \
zloty|czk|sek|nok|dkk|cad|aud|cny rmb yuan|krw|brl|mxn|zar|try|huf|sgd|hkd|nzd
mg milligram milligrams|g gram grams|kg kilogram kilograms kilo kilos|lb lbs pounds-weight|t ton tons tonne \
tonnes|oz ounce ounces
mm millimeter millimetre millimeters millimetres|cm centimeter centimetre centimeters centimetres|m meter metre \
meters metres|km kilometer kilometre kilometers kilometres|mi mile miles|ft foot feet|in inch inches
°c celsius|°f fahrenheit|kelvin
ml milliliter millilitre|l liter litre liters litres|gallon gallons
kw kilowatt kilowatts|mw megawatt megawatts|w watt watts|kwh|mwh
mbps|gbps|kbps
thousand k|million mn|billion bn|trillion
km/h kmh kph|mph
"""
_UNITS: dict[str, tuple[int, int]] = {
    spelling: (dimension, unit)
    for dimension, line in enumerate(_UNITS_TEXT.strip().splitlines())
    for unit, group in enumerate(line.split("|"))
    for spelling in group.split()
}
_KEY = re.compile(r"[\"']?([A-Za-z_]\w{0,40})[\"']?\s{0,2}[:=]\s{0,2}[\"']?$")
_NUMERIC = re.compile(r"\d{1,12}(?:\.\d{1,6})?")


def units(reading: Reading) -> Iterator[Point]:
    """Finds numbers that the record has with one unit only, and the answer with another unit of the same dimension."""
    if not any(_unit(number) for sentence in reading.sentences for number in numbers(sentence.text)):
        return
    recorded: dict[float, dict[tuple[int, int], str]] = {}
    for text in (reading.record.request, *(call.text for call in reading.record.calls)):
        for number in numbers(text):
            unit, quote = _recorded_unit(text, number)
            recorded.setdefault(_unscaled(number), {}).setdefault(unit or (-1, -1), quote)
    for field in reading.record.fields:
        beside = field.item.field("currency", "unit", "units", "currency_code", "uom") or (
            field.item.parent.field("currency", "unit", "units", "currency_code", "uom")
            if field.item.parent is not None
            else None
        )
        digits = str(field.value).replace(",", "").removesuffix(".0")
        if beside is not None and _NUMERIC.fullmatch(digits) and str(beside.value).casefold() in _UNITS:
            unit = _UNITS[str(beside.value).casefold()]
            recorded.setdefault(float(digits), {}).setdefault(
                unit, _from_to(field.item.call.text, field.quote, beside.quote)
            )
            recorded[float(digits)].pop((-1, -1), None)
    for sentence in reading.sentences:
        for number in numbers(sentence.text):
            said = _unit(number)
            if said is None:
                continue
            by_unit = recorded.get(_unscaled(number), {})
            known = {unit: quote for unit, quote in by_unit.items() if unit[0] == said[0]}
            if len(known) != 1 or said in known:
                continue
            ((_, quote),) = known.items()
            end = sentence.text.find(number.unit, number.end) if number.unit else -1
            stop = end + len(number.unit) if 0 <= end - number.end <= 1 else number.end
            reason = "The record has this number in another unit."
            yield Point(
                "wrong_fact", sentence.text[number.start : stop], quote, reason, "Take the unit from the record."
            )


def _from_to(text: str, one: str, other: str) -> str:
    """The record's words from one quote to the other that stands next to it."""
    begin = text.find(one)
    end = text.find(other, begin)
    return text[begin : end + len(other)] if 0 <= begin < end < begin + 300 else one


def _unit(number: Figure) -> tuple[int, int] | None:
    return _UNITS.get(number.unit) or _UNITS.get(number.money)


def _unscaled(number: Figure) -> float:
    return float(re.sub(r"[^\d.]", "", number.text) or 0)


def _recorded_unit(text: str, number: Figure) -> tuple[tuple[int, int] | None, str]:
    """The unit after the number, before it, or at the end of its key."""
    if (unit := _unit(number)) is not None:
        return unit, text[number.start : min(len(text), number.end + 1 + len(number.unit))].strip()
    before = text[max(0, number.start - 60) : number.start]
    key = _KEY.search(before)
    if key is not None:
        unit = _UNITS.get(key[1].rpartition("_")[2].casefold()) or _UNITS.get(
            re.sub(r".*(?=[A-Z][a-z]*$)", "", key[1]).casefold()
        )
        return unit, (key[0] + number.text).strip()
    return None, number.text
