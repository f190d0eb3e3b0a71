"""Finds parts of the request of which the answer says nothing, though the record has something on them."""

import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.record import DataField
from sidemirror_server.models.adapters.rules.pointing.texts import name_words, stem, word_set, words_of

_FIX = "Answer this part too."
_REASON = "The answer leaves out this part of the request, and the record has something on it."
_REQUEST_CHARS = 1_200
_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n+")
_SPLIT = re.compile(r"(?:,? and(?: then| also)?|[,;:(]|,? plus|,? but|- )\s", re.IGNORECASE)
_SAID_ASIDE = re.compile(
    r"\b(?:because|since (?!when)|I['’](?:m|ve|d|ll)|I (?:am|was|have|had|think|guess|already|changed|sold|"
    r"promised|don)|"
    r"we(?:['’]ve| have|['’]re| are| were)|don['’]t|do not|no need|only|just|thanks?|hi|hello|hey|sorry|today is|"
    r"the (?:customer|driver|client) (?:is|says)|if|otherwise|yes|no|price|under|over|below|less|more|at (?:least|"
    r"most)|with(?:out)?)\b",
    re.IGNORECASE,
)
# A sentence that asks: the words before it and what it tells of the user are no parts.
_ASKS = re.compile(
    r"\?|^\W{0,3}(?:(?:also|then|and|please|now|so|finally),? ){0,2}(?:tell|give|show|list|compare|summari[sz]e|"
    r"describe|say|explain|"
    r"include|what|which|who|whose|when|where|how|why|rank)\b|\b(?:tell|give|show|send) me\b|\bI need\b",
    re.IGNORECASE,
)
_ABOUT_ME = re.compile(
    r"\b(?:my|I|we|our|it|he|she|they) (?:\w+ ){0,3}(?:is|am|are|was|were|has|have|had|says?|said|lost)\b",
    re.IGNORECASE,
)
# More than one word, or a name that is made up.
_THING = re.compile(r"\S \S|^[^@\s]{0,30}[\w][-_.][\w][^@\s]{0,30}$|^[A-Z][a-z]{3,20}$")
_EMPTY = frozenset(
    map(
        stem,
        word_set(
            "tell give show want know please need check also what which when where who whose how why many much long me "
            "us "
            "can could would do does did is are get got find look let make sure say see like thing things two three "
            "one "
            "both them it there here any some each every then than still right now really exactly exact quick quickly "
            "today tomorrow yesterday list name names number numbers detail details info information answer question "
            "have has had use used way time last latest next new old first good best okay work works going go put take "
            "come back anything something everything else more less before after since until once about help thank "
            "over too myself everywhere overall compare summary summarise summarize date day week month year report"
        ),
    )
)
_PREFIX = 5
# Of two parts one is often answered in other words. Chosen here.
_LEAST_PARTS = 3
_NAME_CHARS, _LINE_CHARS, _MOST_LINES = 40, 300, 200
_NUMERIC = re.compile(r"\d[\d.,:]{0,20}\d|\d")


class _Part(msgspec.Struct, frozen=True):
    text: str
    words: frozenset[str]


def left_out(reading: Reading) -> Iterator[Point]:
    """Finds the parts of a request whose words the answer has none of, while it speaks of the other parts. The record
    has a value under that part's words, or the thing that the part names, and the answer does not give it."""
    request = reading.record.request[:_REQUEST_CHARS]
    if not reading.record.calls or "?" in reading.answer or len(reading.record.request) > _REQUEST_CHARS:
        return
    parts = list(_parts(request))
    if len(parts) < _LEAST_PARTS:
        return
    said = frozenset(name_words(reading.answer))
    missing = []
    for part in parts:
        own = part.words - {word for other in parts if other is not part for word in other.words}
        if own and not any(_in(word, said) for word in own):
            missing.append((part, own))
    if len(missing) > len(parts) / 2:
        return
    for part, own in missing:
        found = _on_record(reading, own)
        if found:
            yield Point("missing_critical_information", "", found if found in part.text else part.text, _REASON, _FIX)
            return


def _parts(request: str) -> Iterator[_Part]:
    for sentence in _SENTENCE.split(request):
        if not _ASKS.search(sentence):
            continue
        for piece in _SPLIT.split(sentence):
            text = piece.strip(" .?!,;:()-")
            words = frozenset(word for word in words_of(text.replace("_", " ")) if word not in _EMPTY and len(word) > 2)
            if words and _THING.search(text) and not _SAID_ASIDE.match(text) and not _ABOUT_ME.match(text):
                yield _Part(text, words)


def _in(word: str, said: frozenset[str]) -> bool:
    if word in said:
        return True
    begin = word[:_PREFIX]
    return len(word) >= 4 and any(
        other.startswith(begin) or (len(other) >= 4 and word.startswith(other)) for other in said
    )


def _on_record(reading: Reading, words: frozenset[str]) -> str:
    """What the record has under these words and the answer does not give; empty if there is nothing."""
    return _field(reading, words) or _item(reading, words) or _result(reading, words) or _line(reading, words)


def _field(reading: Reading, words: frozenset[str]) -> str:
    for field in reading.record.fields:
        if field.value is None or isinstance(field.value, bool):
            continue
        if any(_in(word, frozenset(field.name)) for word in words) and not _is_given(field, reading.folded):
            return field.quote
    return ""


def _item(reading: Reading, words: frozenset[str]) -> str:
    for item in reading.record.items:
        texts = [field for field in item.fields if isinstance(field.value, str) and len(field.value) <= _NAME_CHARS]
        named = next((field for field in texts if words <= frozenset(name_words(str(field.value)))), None)
        given = any(_is_given(field, reading.folded) for field in item.fields if field.value is not None)
        if named is not None and not given:
            return named.quote
    return ""


def _result(reading: Reading, words: frozenset[str]) -> str:
    for call in reading.record.worked:
        if not words & call.name_words or not call.is_json:
            continue
        fields = [field for item in call.items for field in item.fields if isinstance(field.value, str | float)]
        if fields and not any(_is_given(one, reading.folded) for one in fields):
            return fields[0].quote
    return ""


def _line(reading: Reading, words: frozenset[str]) -> str:
    for call in reading.record.calls:
        for line in call.text.splitlines()[:_MOST_LINES] if not call.is_json else ():
            has = frozenset(words_of(line)) if len(line) < _LINE_CHARS else frozenset[str]()
            if sum(_in(word, has) for word in words) < min(2, len(words)):
                continue
            values = _NUMERIC.findall(line)
            if values and not any(one in reading.folded for one in values):
                return line.strip()
    return ""


def _is_given(field: DataField, folded: str) -> bool:
    """Whether the answer has a word or a number of the value."""
    value = f"{field.value:g}" if isinstance(field.value, float) else str(field.value)
    if isinstance(field.value, float):
        spelled = _SPELLED.get(value, "\0")
        return value in folded or f"{field.value:,.0f}" in folded or spelled in folded
    found = [word for word in re.findall(r"\w{2,}", value.casefold()) if len(word) > 2 or word.isdigit()]
    return not found or any(word in folded for word in found)


_SPELLED = dict(
    zip(
        map(str, range(13)),
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        strict=True,
    )
)
