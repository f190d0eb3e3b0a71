"""What state a thing is in: `delivered` against `pending`, enabled against `"enabled": false`."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Field
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Sentence,
    name_words,
    stem,
    stem_set,
    word_set,
    words_of,
)

# One family a line, one state a group of words for it; a thing is in one state of a family. Chosen here.
_FAMILIES_TEXT = """
pending,processing,in progress,awaiting,queued,preparing,waiting|shipped,in transit,dispatched,on its way,out \
for delivery|delivered,arrived|cancelled,canceled|returned|on hold,held
queued,scheduled,waiting,not started,todo,to do,backlog,planned|in \
progress,running,processing|failed,errored,failing,error,failure|succeeded,successful,completed,complete,\
finished,done,success,passed,passing|blocked|paused|aborted
open,reopened,unresolved|closed,resolved,fixed|merged|draft|in progress,in review|blocked|triage
healthy,up,operational,online,available,reachable|unhealthy,down,degraded,offline,unavailable,unreachable
enabled,active,activated,on,activate|disabled,inactive,deactivated,off,suspended,deactivate|paused|expired
paid,settled|unpaid,overdue,outstanding,past due|partially paid|void
in stock,available|out of stock,sold out,unavailable,backordered|discontinued
locked|unlocked
public|private|internal
valid|invalid,expired,revoked
published,live|draft,unpublished|archived
verified|unverified
connected|disconnected
approved,accepted|rejected,declined,denied|pending,awaiting,under review,in review
on time|delayed,late|cancelled,canceled|boarding|departed|landed
deployed,live|rolled back|failed|pending,queued,in progress|not deployed
encrypted|unencrypted
full time,full-time|part time,part-time|contractor
subscribed|unsubscribed
read-only,readonly|read-write,writable
"""
_FAMILIES = [[group.split(",") for group in line.split("|")] for line in _FAMILIES_TEXT.strip().splitlines()]
_STATES: dict[str, list[tuple[int, int]]] = {}
for _family, _groups in enumerate(_FAMILIES):
    for _state, _words in enumerate(_groups):
        for _word in _words:
            _STATES.setdefault(_word, []).append((_family, _state))
_KEYS = word_set("status state stage phase condition result outcome conclusion health availability stock visibility")
_WORDS = "|".join(sorted((re.escape(word) for word in _STATES), key=len, reverse=True))
_SAID = re.compile(
    r"\b(?:is|are|['’]s|has been|have been|was|were|as|status(?: is|:| of)?|state(?: is|:| of)?|shows(?: as)?|"
    r"remains|stands at|got|[a-z]{2,20}:)[ *_`\"'“]{1,4}(?:now |already |currently |still |also |both |all "
    r"|successfully |fully |"
    r"actually |marked (?:as )?|listed as |in |an? ){0,3}[*_`\"'“]{0,3}(?P<state>" + _WORDS + r")\b(?![-/])",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|no longer|never|isn['’]t|aren['’]t|hasn['’]t|haven['’]t|yet to be|wasn['’]t|nor|neither)\b",
    re.IGNORECASE,
)
# What a thing was in the past it still is. Of other states `was` says nothing about now.
_ENDS = word_set("delivered merged cancelled canceled rejected approved declined denied published archived paid failed")
_NONE = re.compile(r"\b(?:no|without)\b", re.IGNORECASE)
_NOT = re.compile(r"n['’]t |\bnot ")
_YES, _NO = frozenset({"yes", "true", "on"}), frozenset({"no", "false", "off"})
_FIX = "Say the state that the record has."


def states(reading: Reading) -> Iterator[Point]:
    """States of the answer that exclude the one on record, of the thing that the sentence names or the only one."""
    for sentence in reading.sentences:
        if is_unreal(sentence.text):
            continue
        for match in _SAID.finditer(sentence.text):
            word = " ".join(match["state"].casefold().split())
            if match[0][:3].casefold() in {"was", "wer"} and word not in _ENDS:
                continue
            if _DENIED.search(sentence.text[: match.start("state")][-40:]) or _was_made(reading, word):
                continue
            field = _other_state(reading, sentence, match, word)
            if field is not None:
                yield Point("wrong_fact", match[0].strip(), field.quote, "The record has another state.", _FIX)
    yield from _flags(reading)


def _other_state(reading: Reading, sentence: Sentence, match: re.Match[str], word: str) -> Field | None:
    """The record's field that excludes a state; None if there is none, or one that has it."""
    said = dict(_STATES[word])
    fields = [
        field
        for field in reading.record.fields
        if isinstance(field.value, str)
        and (set(field.key.casefold().split("_")) & _KEYS or field.key.casefold() in _KEYS)
    ]
    known = [(field, _STATES.get(_plain(str(field.value)), [])) for field in fields]
    fields = reading.about(sentence, [field for field, places in known if any(family in said for family, _ in places)])
    fields = [field for field in fields if _is_its_subject(sentence, match, field, fields)]
    if not fields:
        return None
    last = max(field.item.call.place for field in fields)
    labels = {_plain(str(field.value)) for field in fields}
    if len(labels) != 1:
        fields = [field for field in fields if field.item.call.place == last and _named(field, sentence)]
        labels = {_plain(str(field.value)) for field in fields}
    if len(labels) != 1 or any(_plain(str(field.value)) == word for field in reading.record.fields if field in fields):
        return None
    (label,) = labels
    shared = [(state, said[family]) for family, state in _STATES[label] if family in said]
    return fields[-1] if shared and all(one != other for one, other in shared) else None


def _flags(reading: Reading) -> Iterator[Point]:
    """What the record says yes or no to."""
    flags = [(field, flag) for field in reading.record.fields if (flag := _flag(field)) is not None]
    for sentence in reading.sentences if flags else ():
        if is_unreal(sentence.text):
            continue
        found = []
        for field, flag in flags:
            name = [word for word in field.name if word not in _ASKING]
            if not name or not set(name) <= sentence.words:
                continue
            found.append((field, flag, name))
        fields = reading.about(sentence, [field for field, _, _ in found])
        for field, flag, name in found:
            if field not in fields or len({other[1] for other in found if other[2] == name and other[0] in fields}) > 1:
                continue
            claim = _claim(sentence, name[-1])
            if claim is not None and claim[1] is not flag and len(name) <= 3:
                yield Point("wrong_fact", claim[0], field.quote, "The record says the opposite.", _FIX)


def _claim(sentence: Sentence, word: str) -> tuple[str, bool] | None:
    """Words of the sentence that claim or deny the state that `word` names, and which of the two; None if none do."""
    for match in re.finditer(
        r"\b(?:is|are|['’]s|has been|have been|was|were|has|have|does|supports?|includes?)\b(?P<not> not|n['’]t|no)?"
        r"(?: [a-z]{1,14}){0,2}? (?P<word>[A-Za-z]{2,20})\b",
        sentence.text,
        re.IGNORECASE,
    ):
        if stem(match["word"]) == word:
            before = sentence.text[max(0, match.start() - 12) : match.start()]
            parts = (
                _DENIED.search(before),
                _NOT.search(before[-8:]),
                match["not"],
                _DENIED.search(match[0]),
                _NONE.search(match[0]),
            )
            return match[0], not any(parts)
    return None


_ASKING = frozenset({"is", "ha", "has", "was", "can", "are", "should", "did", "wa"})


def _flag(field: Field) -> bool | None:
    if isinstance(field.value, bool):
        return field.value
    folded = str(field.value).casefold()
    return True if folded in _YES else False if folded in _NO else None


def _is_its_subject(sentence: Sentence, match: re.Match[str], field: Field, fields: list[Field]) -> bool:
    """Whether what the sentence says the state of can be the field's item: a word of its names, its path or its call
    stands before the state, or none at all and there is only one such item."""
    if match[0].casefold().lstrip("*_` ").startswith(("status", "state")):
        return True
    begin = max(sentence.text.rfind(mark, 0, match.start()) for mark in (",", ";", ":", "(", " and ", " but ")) + 1
    subject = set(words_of(sentence.text[begin : match.start()])[-6:])
    item = field.item
    known = {word for name in item.names for word in words_of(name)} | {
        word for key in item.path for word in name_words(key)
    }
    known |= item.call.name_words - _READING
    known |= set(field.name) - {stem(key) for key in _KEYS}
    if subject:
        return bool(subject & known)
    return len({one.item for one in fields}) == 1


_READING = stem_set("get find search list read fetch query lookup check view show details info status all by id")


def _named(field: Field, sentence: Sentence) -> bool:
    return any(name in sentence.text.casefold() for name in field.item.names)


def _was_made(reading: Reading, word: str) -> bool:
    """Whether a call that worked may have brought about the state."""
    wanted = {stem(part) for part in word.split()}
    return any(wanted & call.name_words or wanted & set(words_of(call.arguments)) for call in reading.record.worked)


def _plain(value: str) -> str:
    return " ".join(value.casefold().replace("_", " ").replace("-", " ").split())
