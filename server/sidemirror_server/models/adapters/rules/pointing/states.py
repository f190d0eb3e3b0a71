"""Finds things that the answer tells as settled, where the record has them in a state that is not.

`resolved` against `mitigated`, `confirmed` against `provisional`, `delivered` against `out for delivery`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sidemirror_server.models.adapters.rules.pointing.effects import is_out_of_date, last_change
from sidemirror_server.models.adapters.rules.pointing.facts import marks, typed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Item, PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken, name_words, stem, stem_set, tokens_of

# States that are final or good: those of one line say the same. Then stems of words on record that say it too, and how
# the states begin that contradict it. Chosen here.
_WAITS = (
    "pend|process|in progress|in review|under|held|hold|wait|await|queue|progress|review|upgrad|block|fail|error|reject"
)
_SETTLED_TEXT = f"""
delivered handed-over|deliver hand|pend|process|transit|out for|held|hold|delay|label|exam|await|wait|return|lost
out-for-delivery on-its-way|out deliv way transit|held|hold|await|return|lost|incomplet|exception|at depot
completed complete finished gone-through went-through succeeded successful rolled-out|complet finish success succeed \
done ok execut|{_WAITS}|schedul|partial|paus|cancel|run
resolved closed fixed solved|resolv clos fix solv|{_WAITS}|open|active|firing|mitigat|investigat|reopen
confirmed|confirm|{_WAITS}|tentativ|provision|none|request|draft|unconfirm|declin|cancel|option
approved accepted granted authorised authorized|approv accept grant authoris authoriz|{_WAITS}|tentativ|none|request|\
submit|open|draft|declin|denied|deni
issued paid-out refunded|issu paid out refund|{_WAITS}|approved|request|declin
paid settled|paid settl pay|unpaid|held|hold|review|overdue|declin|fail|reject|authori
cleared|clear|active|firing|held|hold|exam|await|wait|inspect|review|block
sent|sent send|{_WAITS}|draft|schedul
restored|restor|{_WAITS}|crew|out|off|down|investigat|partial|degrad
shipped dispatched|ship dispatch|pend|process|hold|held|label|backorder|pick|pack
active running up online live healthy up-and-running|activ run up onlin liv healthy start|inactiv|dead|down|stop|\
suspend|disabl|degrad|offlin|fail|expir|crash|exit|paus|lock|block|cancel
ready mergeable|ready clean|block|draft|{_WAITS}|conflict|behind|transit|order|ship
available in-stock|availabl stock|out of|unavailabl|backorder|sold|discontinu
enabled switched-on turned-on|enabl on true|disabl|off|inactiv
signed|sign|unsign|await|wait|draft|sent|view|pend|declin|open
verified validated|verif valid|unverif|fail|expir
in-sync synced|sync|out of|outofsync|behind|fail
published released|publish releas|draft|embargo|schedul|review|hold|held
merged|merg|open|draft|clos|block
"""
_SETTLED: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
for _line in _SETTLED_TEXT.strip().splitlines():
    _said, _like, *_against = _line.split("|")
    for _word in _said.split():
        _stems = frozenset(_like.split()) | {stem(part) for part in _word.split("-")}
        _SETTLED[_word.replace("-", " ")] = _stems, tuple(_against)
_SAYS = re.compile(
    r"\b(?:is|are|was|were|has|have|had|been|now|already|came|gone|went|['’]s|fully|as)(?: (?:now|already|been|also|"
    r"all|both|fully|just|completely|currently|since|as)){0,3} "
    rf"(?P<state>{'|'.join(sorted(map(re.escape, _SETTLED), key=len, reverse=True))})\b(?! (?:to (?!merge)|from|"
    rf"until)\b)"
    r"(?P<after>[^.;,\n]{0,60})",
    re.IGNORECASE,
)
_STARTS = {one.replace(" ", "[_ -]?") for _, against in _SETTLED.values() for one in against}
_UNSETTLED = re.compile(rf"(?:{'|'.join(sorted(_STARTS, key=len, reverse=True))})\w{{0,10}}", re.IGNORECASE)
STATE_KEYS = stem_set(
    "status state phase stage decision resolution health condition availability response approval confirmation "
    "active disposition progress result"
)
_NOT = re.compile(
    r"\b(?:not|never|no|nothing|cannot|neither|nor|only|once|until|when|if|before|after|unless|partly|partially|"
    r"as soon as|because|since|to be|almost|nearly|yet|will|would)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
# What the user or the agent did is no state of anything.
_YOURS = re.compile(r"\b(?:you|we|I)(?:['’]ve| have| had)\b", re.IGNORECASE)
_ONLY = re.compile(r"\bonly\b[^;:]{0,60}$", re.IGNORECASE)
_STATE_CHARS, _MOST_LINES, _FEW = 60, 200, 2
_TRACKED = re.compile(r"^\W{0,3}\d{1,4}[-/. ](?:\d{1,2}|[A-Za-z]{3})[^\n]{0,160}$")
_FIX = "Tell the state that the record has."


class _State(msgspec.Struct, frozen=True):
    """A state on record. `words`: what it is the state of; `key`: the words of its field's name; `item`: what it
    stands in."""

    value: str
    quote: str
    words: frozenset[str]
    key: frozenset[str]
    item: int = 0


def states(reading: Reading) -> Iterator[Point]:
    """Finds a settled state that no result has, beside one of the record that is not settled and not told. What a later
    call may have changed is no longer known."""
    found: list[_State] | None = None
    for sentence in reading.sentences:
        for match in _SAYS.finditer(sentence.text):
            begin = max(sentence.text.rfind(mark, 0, match.start()) for mark in ",;:(") + 1
            if (
                _ONLY.search(sentence.text[: match.start()])
                or _YOURS.search(sentence.text[begin : match.end("state")])
                or _NOT.search(sentence.text[begin : match.end("state")])
                or is_unreal(sentence.text[begin : match.end("state")])
            ):
                continue
            if found is None:
                found = list(_unsettled(reading))
            if not found:
                return
            said = match["state"].casefold()
            # A letter may be alike only where its case is ignored.
            if said not in _SETTLED or _has_number(reading, said):
                continue
            state = _meant(reading, sentence, found, said, alone=_is_known(reading, said))
            if state is not None:
                reason = "The record has another state for it."
                yield Point("wrong_fact", sentence.plain, state.quote, reason, _FIX)
                return


def _has_number(reading: Reading, said: str) -> bool:
    """Whether the record has how much of it is in this state (`approved_amount`), whatever the state of the rest is."""
    own = frozenset(stem(part) for part in said.split())
    numbers = (field for field in reading.record.fields if isinstance(field.value, float) and field.value > 0)
    return any(field.item.call.is_json and own <= frozenset(field.name) for field in numbers)


def _is_known(reading: Reading, said: str) -> bool:
    """Whether a result says so: in these words, or one of its short values in like words."""
    own = frozenset(stem(part) for part in said.split())
    if any(own <= call.value_words for call in reading.record.calls):
        return True
    values = (field.value for field in reading.record.fields if isinstance(field.value, str) and len(field.value) <= 40)
    return any(_SETTLED[said][0] & frozenset(name_words(value)) for value in values)


def _unsettled(reading: Reading) -> Iterator[_State]:
    change = last_change(reading.record)
    for call in reading.record.worked:
        if is_out_of_date(call, change):
            continue
        beside: dict[int, set[str]] = {}
        for item in call.items:
            if item.parent is not None and not item.listed:
                texts = (str(one.value)[:80] for one in item.fields if isinstance(one.value, str))
                beside.setdefault(_element(item), set()).update(word for text in texts for word in tokens_of(text))
        own = [state for item in call.items for state in _of_item(item, beside)]
        yield from own
        if not call.is_json:
            yield from _of_lines(call)
            if not own:
                yield from _of_columns(call)


def _element(item: Item) -> int:
    """The element of a list that an item is a part of."""
    while not item.listed and item.parent is not None:
        item = item.parent
    return id(item)


def _of_item(item: Item, beside: Mapping[int, set[str]]) -> Iterator[_State]:
    for field in item.fields:
        name = frozenset(field.name)
        if not name & STATE_KEYS:
            continue
        if field.value is not None and not isinstance(field.value, str):
            continue
        value = (field.value or "none")[:_STATE_CHARS]
        if value:
            words = {
                word
                for one in item.fields
                if isinstance(one.value, str | float) and one is not field
                for word in (*tokens_of(str(one.value)[:80]), *_marks(str(one.value)[:80]))
            }
            up = item.parent
            while up is not None:
                words |= {word for one in up.fields if isinstance(one.value, str) for word in tokens_of(one.value[:80])}
                up = up.parent
            words |= {word for key in item.path for word in name_words(key)} | beside.get(_element(item), set())
            yield _State(value, field.quote, frozenset(words), name, id(item))


_ANY_STATE = "|".join(sorted(_STARTS | {re.escape(one) for one in _SETTLED}, key=len, reverse=True))
_WORDS_OF_STATES = re.compile(rf"(?<![\w-])(?P<state>(?:{_ANY_STATE})\w{{0,8}})(?![\w-])", re.IGNORECASE)
_COLUMN = re.compile(r"\s{2,}|\t|\|")


def _of_columns(call: PastCall) -> Iterator[_State]:
    """The columns of lines that are a state and nothing else: of tables without a heading."""
    lines = [line.strip() for line in call.text.splitlines()[:_MOST_LINES] if line.strip()]
    for place, line in enumerate(lines):
        parts = [part.strip(" []") for part in _COLUMN.split(line)]
        if len(parts) < 3:
            continue
        found = [match[0] for part in parts if len(part) <= _STATE_CHARS and (match := _WORDS_OF_STATES.match(part))]
        if len(found) == 1:
            words = tokens_of(line) | _marks(line)
            yield _State(found[0], line, words, frozenset(("line",)), -(place + 1))


def _of_lines(call: PastCall) -> Iterator[_State]:
    """The last line of a text whose lines begin with a time."""
    lines = [line.strip() for line in call.text.splitlines() if line.strip()]
    dated = [line for line in lines if _TRACKED.match(line)]
    if len(dated) >= 2:
        match = _UNSETTLED.search(dated[-1])
        if match is not None:
            yield _State(match[0], dated[-1], tokens_of(call.text[:600]) | call.words, frozenset())


def _meant(reading: Reading, sentence: Spoken, found: Sequence[_State], settled: str, *, alone: bool) -> _State | None:
    """The state that opposes what is said, of the item that the sentence is about. `alone`: other items have the state
    that is said, so that the sentence has to be about this one alone."""
    opposed = _SETTLED[settled][1]
    items = {state.item: state.words for state in found}
    common = frozenset.intersection(*items.values()) if len(items) > 1 else frozenset()
    before = reading.answer[max(0, sentence.start - 200) : sentence.start]
    for text in (sentence.text, before + sentence.text):
        said = tokens_of(text) | _marks(text)
        ranked = sorted(
            ((len((state.words - common | state.key) & said), place) for place, state in enumerate(found)), reverse=True
        )
        first = [found[place] for score, place in ranked if score == ranked[0][0]]
        second = max((score for score, place in ranked if found[place].item != first[0].item), default=0)
        if alone and (ranked[0][0] < 2 or second > ranked[0][0] - 1 or text is not sentence.text):
            return None
        if ranked[0][0] and len({state.item for state in first}) == 1:
            if alone and any(_SETTLED[settled][0] & frozenset(name_words(one.value)) for one in first):
                return None
            against = [
                one for one in first if _plain(one.value).startswith(opposed) or _plain(one.value).endswith(opposed)
            ]
            told = any(_is_told(reading, state, settled, sentence.words) for state in against)
            been = against and _has_been(found, against[0], settled, common)
            return against[0] if against and not told and not been else None
    return None


def _has_been(found: Sequence[_State], state: _State, settled: str, common: frozenset[str]) -> bool:
    """Whether another item of several tells the same thing in the state that is said, at another time."""
    like = [one for one in found if one.item != state.item and _SETTLED[settled][0] & frozenset(name_words(one.value))]
    several = len({one.item for one in found}) > _FEW
    return several and any((one.words & state.words) - common - state.key for one in like)


def _marks(text: str) -> frozenset[str]:
    """The days, times and identifiers of a text, as words."""
    return marks(value for value, *_ in typed(text) if value[0] != "number" or float(value[1]) >= 1000)


_SAME = {"hold": "held", "held": "hold", "dead": "down", "inactiv": "down", "tentativ": "tentatively"}


def _plain(value: str) -> str:
    return " ".join(re.split(r"[_\s-]+", value.casefold()))


def _is_told(reading: Reading, state: _State, settled: str, about: frozenset[str]) -> bool:
    """Whether the answer has a word of the state, in any of its forms. `about`: words of the sentence that tells the
    other state, which admit nothing."""
    said = [word for word in _WORD.findall(reading.folded) if word not in settled.split()]
    words = [word for word in name_words(state.value) if len(word) > 2]
    words = [word for word in words if word not in about] or words
    starts = tuple(word[:6] for word in words) + tuple(_SAME[word] for word in words if word in _SAME)
    if state.value == "none":
        return _NOT.search(reading.answer) is not None
    return any(word.startswith(starts) for word in said)


_WORD = re.compile(r"[a-z]{3,30}")
