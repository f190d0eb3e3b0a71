"""Partial success that is told as whole."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Call
from sidemirror_server.models.adapters.rules.pointing.texts import Sentence, numbers, stem, word_set

_WHOLE = re.compile(
    r"\b(?:all|every|everything|everyone|each|both|entire|whole|fully|complet(?:e|ed|ely)|"
    r"successful(?:ly)?|without (?:any )?(?:errors?|"
    r"issues|problems|failures)|no (?:errors?|issues|failures|problems)|done|finished|100 ?%)\b",
    re.IGNORECASE,
)
_DONE = re.compile(r"\b(?:[a-z]{3,20}ed|sent|done|built|ran|made|ok|succeeded|complete)\b", re.IGNORECASE)
_NOT_DONE_TEXT = (
    "failed failure failures fail error errors errored skipped skip rejected unprocessed remaining "
    "missing invalid bounced "
    "undelivered unsuccessful unmatched unreachable conflict conflicts timeout timeouts dropped unsent "
    "denied declined duplicate duplicates"
)
_NOT_DONE = frozenset(map(stem, _NOT_DONE_TEXT.split()))
_NO_VALUES = word_set(
    "failed error failure skipped rejected timeout bounced conflict denied declined aborted not_found "
    "unavailable invalid "
    "pending undelivered"
)
_GOOD_VALUES = word_set(
    "ok success succeeded done completed sent delivered updated created migrated passed healthy synced "
    "imported "
    "processed uploaded deleted active deployed"
)
_STATE_KEYS = word_set("status state result outcome")
_FLAG_KEYS = word_set("success ok succeeded sent delivered updated passed")
_IN_TEXT = re.compile(
    r"\b(?P<many>[1-9]\d{0,6}) (?:[a-z]{1,15} ){0,2}(?P<how>failed|failures?|errors?|skipped|rejected|"
    r"missing|bounced|remaining|could not|not (?:found|"
    r"processed|updated|sent|imported)|timed out|conflicts?|invalid|unprocessed)\b"
    r"|\b(?P<part>\d{1,6}) ?(?:/|of|out of) ?(?P<of>\d{1,6})\b"
    r"|^[^\n]{0,120}?\b(?:FAILED|ERROR|SKIPPED|UNREACHABLE|fatal:|failed:|skipped:|error:|[✗✘✖❌])[^\n]{0,100}",
    re.MULTILINE,
)
_ADMITS = re.compile(
    r"\b(?:fail\w{0,4}|errors?|skipp\w{1,3}|except\w{0,3}|apart from|could(?: not|n['’]t)|unable|not|"
    r"n['’]t|reject\w{0,3}|missing|remain\w{0,3}|bounc\w{1,3}|"
    r"however|but|unfortunately|only|partial\w{0,2}|conflicts?|timed out|invalid|left|pending|out of)\b|n['’]t\b",
    re.IGNORECASE,
)
_BAD_ROW = re.compile(
    r"\b(?:FAILED|SKIPPED|ERROR|UNREACHABLE|TIMEOUT|failed|skipped|rejected|error|timed out|timeout)\b"
)
_RESTRAINT = re.compile(
    r"\b(?:I|we)(?: have|['’]ve)? (?:did not|didn['’]t|not|haven['’]t|have not|only)(?: (?:yet|"
    r"otherwise))? (?:touch|chang|beg|start|modif|alter|us|read|look|mak)\w{0,6}[^.\n]{0,80}"
    r"|\bnothing (?:else )?(?:was|is|has)\b[^.\n]{0,60}|\bno (?:other|further|task)\b[^.\n]{0,60}",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:no|without(?: any)?|zero|0) (?:[a-z]{1,15} )?(?:errors?|failures?|issues|problems|conflicts?|failed)\b",
    re.IGNORECASE,
)


def partial(reading: Reading) -> Iterator[Point]:
    """Claims that a whole was done, in an answer that says nothing of what the last result has as not done."""
    if _ADMITS.search(_NO_FAILURE.sub(" ", _RESTRAINT.sub(" ", reading.answer))):
        return
    yield from _named_failures(reading)
    against = ""
    for call in reversed(reading.record.calls):
        against = _not_done(call)
        if against or not _is_about_things(call):
            break
    if not against:
        return
    for sentence in reading.sentences:
        if is_unreal(sentence.text) or not (_WHOLE.search(sentence.text) or _says_the_whole(sentence, against)):
            continue
        reason = "The record has some that were not done."
        yield Point("wrong_fact", sentence.plain, against, reason, "Say which were not done.")
        return


def _named_failures(reading: Reading) -> Iterator[Point]:
    """A row that failed or was skipped, beside rows that did not, whose name stands in the answer like theirs."""
    for call in reading.record.worked:
        lines = [line for line in call.text.splitlines() if line.strip()] if not call.is_json else []
        bad = [line for line in lines if _BAD_ROW.search(line)]
        if not bad or len(bad) * 2 > len(lines):
            continue
        for line in bad:
            names = _names(line)
            for sentence in reading.sentences:
                named = next(
                    (name for name in names if re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", sentence.text)), ""
                )
                if named and any(
                    _names(other)[0] in sentence.text for other in lines if other not in bad and _names(other)
                ):
                    yield Point(
                        "wrong_fact",
                        sentence.plain,
                        line.strip()[:200],
                        "The record has this one as not done.",
                        "Say what was not done.",
                    )
                    return


def _names(line: str) -> list[str]:
    """What the thing of a row may be called: its first words of four and more letters."""
    return [word for word in re.findall(r"[A-Za-z][\w./-]{3,40}", line) if not _BAD_ROW.search(word)][:2]


def _not_done(call: Call) -> str:
    """The record's words for what was not done of several; empty if there are none."""
    items = call.items
    for item in items:
        for field in item.fields:
            if set(field.name) & _NOT_DONE and isinstance(field.value, float) and field.value > 0:
                return field.quote
        for key, values in item.lists.items():
            if values and key and set(map(stem, key.casefold().split("_"))) & _NOT_DONE:
                found = call.text.find(f'"{key}"')
                return call.text[found : found + 100] if found >= 0 else key
    every = [field for item in items for field in item.fields]
    states = [field for field in every if isinstance(field.value, str) and field.key.casefold() in _STATE_KEYS]
    bad = [field for field in states if str(field.value).casefold() in _NO_VALUES]
    if bad and any(str(field.value).casefold() in _GOOD_VALUES for field in states):
        return bad[0].quote
    flags = [field for field in every if isinstance(field.value, bool) and field.key.casefold() in _FLAG_KEYS]
    if len({field.value for field in flags}) == 2:
        return next(field.quote for field in flags if field.value is False)
    if call.is_json:
        return _in_text(
            " ".join(str(field.value) for item in items for field in item.fields if isinstance(field.value, str))
        )
    return _in_text(call.text)


def _in_text(text: str) -> str:
    for match in _IN_TEXT.finditer(text):
        if match["of"] is None or (
            0 < int(match["part"]) < int(match["of"]) and _DONE.search(text[match.start() - 40 : match.end() + 40])
        ):
            return match[0].strip()
    return ""


def _is_about_things(call: Call) -> bool:
    """Whether a result is of the kind that would tell of failures; if not, the one before it is looked at."""
    return len(call.text) > 200


def _says_the_whole(sentence: Sentence, against: str) -> bool:
    """Whether the sentence says as many were done as there are."""
    whole = re.search(r"(?:/|of) ?(\d{1,6})", against)
    return whole is not None and any(number.value == float(whole[1]) for number in numbers(sentence.text))
