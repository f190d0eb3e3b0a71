"""An answer beside its record, read once: what mechanisms share."""

import bisect
import datetime
import itertools
import re
from collections.abc import Sequence
from functools import cached_property

from sidemirror_server.models.adapters.rules.pointing.days import Day, Instant, days, moments_in
from sidemirror_server.models.adapters.rules.pointing.facts import CLOCK, Facts, Value, aligned, clock, typed
from sidemirror_server.models.adapters.rules.pointing.record import Record
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Figure,
    Spoken,
    numbers,
    same,
    sentences,
)
from sidemirror_server.models.evidence import Evidence

# In code points.
_LINE_CHARS, _RECORD_CHARS, _AROUND_CHARS = 300, 60_000, 60
# Of an answer this much is read, and so many of its sentences: a rule looks at each sentence beside each field.
_READ_CHARS, _MOST_SENTENCES, _MOST_MOMENTS, _MOST_GAPS = 16_000, 60, 200, 40
# A longer one is a list or a listing, and no sentence. In code points.
_SENTENCE_CHARS = 2_000
_DAY_S, _ANY_YEAR = 86_400, 2026
# What the record may have a number in, beside its own unit: percent, magnitudes, sizes, minutes and hours.
_SCALED = (1.0, 100.0, 0.01, 1e3, 1e-3, 1e6, 1e-6, 1024.0, 1 / 1024, 1024.0**2, 1024.0**-2, 60.0, 1 / 60, 3600.0)
# What makes a sentence say something else than that it is so. Chosen here.
_ABOUT = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|nearly|almost|over|more than|at least|at most|"
    r"(?<!add )(?<!adds )(?<!added )(?<!adding )(?<!sum )(?<!sums )(?<!come )(?<!comes )up to|less than|fewer "
    r"than|under|below|above|between|within|or so|some|\d to|than|every|ending in|ending with|ext\.?|extension|#|~|≈|"
    r"≥|≤|>|<|[-–—])[ \t]*(?:(?-i:[A-Z]{3}) |[$€£] ?)?$",
    re.IGNORECASE,
)
# Longer than any of these words, and as short as a search before each value of a long sentence has to be.
_ABOUT_CHARS = 32
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'-]{2,30}|\b[\w.-]{0,20}[A-Za-z][\w.-]{0,4}\d[\w.-]{0,20}\b|`([^`]{2,40})`")
_UNREAL = re.compile(
    r"\b(?:if|would|could|should|might|(?-i:may)|can|cannot|can['’]t|unless|once|before|when|whether|instead|rather|"
    r"expected|"
    r"estimated|assum\w{1,6}|planned|hypothetical\w{0,2}|suppose|e\.g|for example|such as|target|goal|limit|let me|"
    r"please|would you|do you|shall)\b",
    re.IGNORECASE,
)


# What others have said: quotations, quoted lines, blocks of code.
_QUOTED = re.compile(
    r"\"[^\"\n]{2,600}\"|“[^”\n]{2,600}”|«[^»\n]{2,600}»|„[^“”\n]{2,600}[“”]|^[ \t]*>[^\n]*|```.{0,8000}?(?:```|\Z)",
    re.MULTILINE | re.DOTALL,
)
# A request for a text that another person signs: what it says was done is no claim of the agent.
_DRAFT_ASKED = re.compile(
    r"\b(?:draft|compose|phrase|word|write|suggest|prepare)\b[^.?!\n]{0,60}\b(?:reply|answer|response|e-?mail|mail|message|"
    r"letter|text|note|post|comment|announcement|update|summary|report|changelog|(?:release|meeting) notes|minutes)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\n[ \t]*(?:Subject:|Betreff:|Dear |Hi |Hello |Hey |Hallo |Liebe)")


class Reading:
    """One answer and its record."""

    def __init__(self, evidence: Evidence, answer: str) -> None:
        # Some agents write the two signs of an escaped line break: as long as one that is written with a space.
        self.answer = answer[:_READ_CHARS].replace("\\n", " \n")
        self.record = Record(evidence)

    @cached_property
    def folded(self) -> str:
        return self.answer.casefold()

    @cached_property
    def own(self) -> str:
        """The answer with spaces in the place of what it quotes, of code, and of a letter that was asked for."""
        text = _QUOTED.sub(lambda found: " " * len(found[0]), self.answer)
        letter = _LETTER.search(text) if _DRAFT_ASKED.search(self.record.request) else None
        return text if letter is None else text[: letter.start()] + " " * (len(text) - letter.start())

    @cached_property
    def sentences(self) -> list[Spoken]:
        told = (one for one in sentences(self.answer) if "?" not in one.text and len(one.text) <= _SENTENCE_CHARS)
        return list(itertools.islice(told, _MOST_SENTENCES))

    @cached_property
    def said(self) -> frozenset[float]:
        """Every number that the answer has."""
        return frozenset(number.value for number in numbers(self.answer, spelled=True))

    @cached_property
    def values(self) -> frozenset[Value]:
        """Every day, time, identifier and quantity that the answer has."""
        return frozenset(value for value, *_ in typed(self.answer))

    @cached_property
    def asked(self) -> frozenset[Value]:
        """Those of the request."""
        return frozenset(value for value, *_ in typed(self.record.request))

    @cached_property
    def record_values(self) -> frozenset[Value]:
        """Those of the request and of all calls."""
        return frozenset(value for value, *_ in typed(self.record.text[:_RECORD_CHARS]))

    @cached_property
    def days(self) -> list[Day]:
        """The days that the record has."""
        return days(self.record.text[:_RECORD_CHARS])

    @cached_property
    def moments(self) -> list[Instant]:
        """The days with a time that the record has."""
        return moments_in(self.record.text[:_RECORD_CHARS])[:_MOST_MOMENTS]

    @cached_property
    def clocks(self) -> list[tuple[int, int]]:
        """The times of the record, with a day and without."""
        return [clock(match) for match in CLOCK.finditer(self.record.text[:_RECORD_CHARS])]

    @cached_property
    def gaps_s(self) -> frozenset[int]:
        """The times between any two days, moments or times of a day that the record or the answer has, in seconds."""
        told = [*self.days, *days(self.answer)][:_MOST_GAPS]
        years = {day.year for day in told if day.year} or {_ANY_YEAR}
        dates = {date for day in told for year in ({day.year} if day.year else years) if (date := _date(day, year))}
        at = {moment.utc for moment in self.moments[:_MOST_GAPS]}
        clocks = {hour * 60 + minute for hour, minute in self.clocks[:_MOST_GAPS]}
        found = {abs(one - two).days * _DAY_S for one, two in itertools.combinations(dates, 2)}
        found |= {round(abs(one - two).total_seconds()) for one, two in itertools.combinations(at, 2)}
        return frozenset(found | {abs(one - two) * 60 for one, two in itertools.combinations(clocks, 2)})

    @cached_property
    def said_in_order(self) -> list[float]:
        """The numbers of the answer, as they stand."""
        return [number.value for number in numbers(self.answer)]

    @cached_property
    def facts(self) -> Facts:
        """What is on record, as rows."""
        return Facts(self.record)

    def quote_of(self, value: float) -> str:
        """The record's words for a number: its field, else its line; empty if it is not there."""
        for field in self.record.fields:
            if field.value == value:
                return field.quote
        for text, figures in self.record.figures[1:]:
            for number in figures:
                if number.value == value:
                    begin = text.rfind("\n", 0, number.start) + 1
                    end = text.find("\n", number.end)
                    line = text[begin : end if end > 0 else len(text)].strip()
                    return line if len(line) < _LINE_CHARS else number.text
        return ""

    def quote_like(self, value: float) -> str:
        """The record's words for a number, or for one that is told rounded or in another magnitude as this."""
        if quote := self.quote_of(value):
            return quote
        digits = len(f"{value:.12g}".replace(".", "").strip("0-")) or 1
        for by in (1.0, 1e3, 1e-3, 1e6, 1e-6, 1e9, 100.0, 0.01):
            for other in self._unlike:
                if other and f"{other * by:.{digits}g}" == f"{value:.{digits}g}" and (quote := self.quote_of(other)):
                    return quote
        return ""

    def span_of(self, one: str, other: str) -> str:
        """The record's words from one quote to the other, where they stand near each other in one text; else one."""
        for call in self.record.calls:
            begin, end = sorted((call.text.find(one), call.text.find(other)))
            last = one if call.text.find(one) == end else other
            if begin >= 0 and end + len(last) - begin < _LINE_CHARS:
                return call.text[begin : end + len(last)]
        return one

    def line_named(self, quote: str) -> str:
        """The record's line that has the first name of a quote which is on record; empty if none is."""
        names = (match[1] or match[0] for match in _NAME.finditer(quote))
        return next((line for name in names if (line := self.line_of(name))), "")

    def line_of(self, text: str) -> str:
        """The record's line that has this text; empty if none has."""
        for whole in (*(call.text for call in self.record.calls), self.record.text):
            place = whole.find(text)
            if place >= 0:
                return _line_at(whole, place)
        return ""

    def quote_of_all(self, values: Sequence[float]) -> str:
        """The record's lines from the first of these values that it has to the last; the line of one if they stand far
        from each other, and nothing if it has none."""
        best: tuple[int, str] = (0, "")
        for text, figures in self.record.figures[1:]:
            found = [one for one in figures if abs(one.value) in values and abs(one.value) > 1]
            if "\n" in text.strip() and found:
                begin = text.rfind("\n", 0, found[0].start) + 1
                end = text.find("\n", found[-1].end)
                block = text[begin : end if end > 0 else len(text)].strip()
                if len(block) < _LINE_CHARS:
                    best = max(best, (len({one.value for one in found}), block), key=lambda one: one[0])
        if best[1]:
            return best[1]
        return next((quote for value in values if (quote := self.quote_of(value) or self.quote_of(-value))), "")

    def knows(self, number: Figure) -> bool:
        """Whether the number stands on record: as it is, rounded, or in another unit."""
        found = self.record.numbers
        if number.value in found or -number.value in found:
            return True
        places = 0 if number.value >= 1000 and not number.places and number.value % 10 == 0 else number.places
        most = 0.5 * 10.0**-places + 1e-9
        for by in _SCALED:
            at = bisect.bisect_left(self._unlike, (number.value - most) / by)
            if at < len(self._unlike) and self._unlike[at] <= (number.value + most) / by:
                return True
        return False

    @cached_property
    def _unlike(self) -> list[float]:
        return sorted(self.record.numbers)[:3_000]

    def works_out(self, number: Figure) -> bool:
        """Whether the number is the sum, the difference, the product or the share of two that the record or the answer
        has, or the sum of one field over all items."""
        known = [one for one in {*self.record.numbers, *self.said} if one != number.value and 0 < one < 1e9][:400]
        value, have = number.value, frozenset(round(one, 2) for one in known)
        if any(round(value - one, 2) in have or round(value + one, 2) in have for one in known):
            return True
        for one in known:
            if one > 1 and round(value / one, 4) in have:
                return True
            if number.unit == "%" and any(same(one / two * 100, value, number.places) for two in known[:60]):
                return True
        return any(
            same(total / scale, value / scale, number.places) for total in self._sums for scale in _scales(number)
        )

    def can_be(self, number: Figure) -> bool:
        """Whether the number stands on record, or two numbers come to it."""
        return self.knows(number) or self.works_out(number)

    @cached_property
    def _sums(self) -> list[float]:
        """Of each column of the record its sum, its mean and how far it reaches, and how many rows it has."""
        columns: dict[tuple[object, str], list[float]] = {}
        for row in self.facts.rows:
            for cell in row.cells:
                for _, value in cell.values:
                    if isinstance(value, float):
                        columns.setdefault((row.group, cell.key), []).append(value)
                        for word in row.words & self.words:
                            columns.setdefault((row.group, f"{cell.key}\0{word}"), []).append(value)
        found = []
        for values in columns.values():
            found += [sum(values), sum(values) / len(values), max(values) - min(values), float(len(values))]
            found += [one + two for one, two in itertools.pairwise(values)]
            found += [*itertools.accumulate(values), *itertools.accumulate(reversed(values))]
        return found

    @cached_property
    def words(self) -> frozenset[str]:
        """What the answer can be aligned by."""
        return aligned(self.answer)


def _date(day: Day, year: int | None) -> datetime.date | None:
    try:
        return datetime.date(year or _ANY_YEAR, day.month, day.day)
    except ValueError:
        return None


def _line_at(text: str, place: int) -> str:
    begin, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    return text[max(begin, place - _AROUND_CHARS) : min(end if end >= 0 else len(text), place + _AROUND_CHARS)].strip()


def _scales(number: Figure) -> tuple[float, ...]:
    """What the number is told in: `4.40M` in millions. `4880 m` are metres: a number of millions is at least one."""
    by = {"m": 1e6, "million": 1e6, "mn": 1e6, "k": 1e3, "thousand": 1e3, "bn": 1e9, "billion": 1e9}.get(
        number.unit, 1.0
    )
    return (1.0, by) if 1.0 < by <= number.value else (1.0,)


def is_hedged(sentence: Spoken, start: int) -> bool:
    """Whether what stands at this place of the sentence is rounded, a bound or a part of a range."""
    return _ABOUT.search(sentence.text[max(0, start - _ABOUT_CHARS) : start]) is not None


def is_unreal(text: str) -> bool:
    """Whether a text speaks of what could be, or asks, rather than of what is."""
    return _UNREAL.search(text) is not None
