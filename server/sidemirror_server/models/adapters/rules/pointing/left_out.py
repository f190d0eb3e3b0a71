"""Parts of the request that the answer leaves out, and members of a list that was asked for."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_alike
from sidemirror_server.models.adapters.rules.pointing.texts import name_words, words_of

_PART = re.compile(r"[^.?!;\n]+[.?!]?")
_ASKS = re.compile(
    r"\b(?:what(?:['’]s| is| are| was| were)|who(?:['’]s| is| are)|when|where|why|how|tell me|give me|list|"
    r"show|include|explain|"
    r"report|say|name|let me know|state|summari[sz]e|calculate|provide|need|want)\b",
    re.IGNORECASE,
)
# A question asks for what comes after `and` only if that is a thing of its own.
_QUESTION = re.compile(r"\b(?:what|who|when|where|why|how)\b", re.IGNORECASE)
_NOUN = re.compile(r"\s{0,3}(?:the|my|your|its|their|our|his|her|any|all|how|what)\b", re.IGNORECASE)
_JOINED = re.compile(r",? (?:and|as well as|plus|along with)(?: also| then)? |, |: | & ")
_OPENS = re.compile(
    r"\s{0,3}(?:what|which|how|who|when|where|why|is there|are there|does|do|can|whose)\b", re.IGNORECASE
)
_ORDERS = re.compile(
    r"\s{0,3}(?:also |then |and |please |finally ){0,3}(?:add|put|send|tell|give|include|note|email|e-mail|"
    r"write|update|attach|save|open|create|log|record|set|"
    r"remove|delete|notify|let|list|say|check|run|mention|ask|book|file|post)\b",
    re.IGNORECASE,
)
_FILE = re.compile(r"\b[\w-]{1,40}\.[a-z]{2,5}\b")
_VERB = re.compile(r"\b(?:is|are|was|were|do|does|did|has|have|can|could|will|would|should|need|want)\b", re.IGNORECASE)
_EVERY = re.compile(
    r"\b(?:list|all|every|each|which|what|names? of|who|enumerate)\b(?: (?:of|the|my|our|are|is|all|me|"
    r"open|current|other)){0,4} (?P<things>[a-z]{3,20}(?: [a-z]{3,20})?)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\b(?:list|all|every|each|enumerate)\b", re.IGNORECASE)
_SOME = re.compile(
    r"\b(?:including|such as|for example|e\.g|among|some of|at least|first|top|and more|others?|more|rest|"
    r"except|excluding|main|"
    r"only|matching|recommend|best|option|would|could|please|apolog\w{2,5}|cannot|unable|not)\b|\?|n['’]t\b",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:unable|cannot|can['’]t|could(?: not|n['’]t)|not (?:able|available|found|sure|known)|sorry|"
    r"unfortunately|first|next|before|once|please|need|let me|"
    r"would you|do you|neither|both|none|no)\b|\?",
    re.IGNORECASE,
)
# What begins with one of these belongs to the part before it.
_ATTACHED = re.compile(
    r"\s{0,3}(?:in|on|at|for|with|by|from|to|of|after|before|since|until|because|so|but|if|when|while|"
    r"which|that|who|where|as|using|based|only|not|i|we|"
    r"my|our|it|they|he|she|please|thanks|today|now|or|including|excluding|sorted|ordered|per|without|instead)\b",
    re.IGNORECASE,
)
_ONE_QUESTION = re.compile(
    r"^\s{0,3}(?:is|are|was|were|do|does|did|has|have|had|which|in what|in which)\b|\b(?:both|either|between|same)\b",
    re.IGNORECASE,
)
_FILLER_TEXT = (
    "please tell give list show me find check explain report say name state include provide want need "
    "know like would can could what "
    "which who when where why how much many does do did get look up help thank hi hello hey exact also "
    "then quick quickly short brief "
    "briefly come out go went left there exactly currently each whole full overall one two three thing "
    "question answer today right new latest just make sure let"
)
_FILLER = frozenset(words_of(_FILLER_TEXT)) | frozenset(_FILLER_TEXT.split())


def left_out(reading: Reading) -> Iterator[Point]:
    """A part of the request of which no word is in the answer, where other parts are answered; and what is missing of
    a list that was asked for as a whole."""
    yield from _members(reading)
    if _DECLINES.search(reading.answer) or len(reading.record.request) > 1_500:
        return
    said = frozenset(words_of(reading.answer))
    parts = [part for part in _parts(reading.record.request) if _content(part)]
    if not parts or len(parts) > 8 or (len(parts) == 1 and not _FILE.search(parts[0])):
        return
    own = {
        part: [
            word
            for word in _content(part)
            if not any(is_alike(word, frozenset(_content(other))) for other in parts if other is not part)
        ]
        for part in parts
    }
    missed = [part for part, words in own.items() if words and not any(is_alike(word, said) for word in words)]
    if len(missed) == 1 and len(own[missed[0]]) <= 8 and not _is_answered(reading, missed[0]):
        part = missed[0].strip(" ,.;")
        yield Point("missing_critical_information", "", part, "The answer leaves this out.", "Answer this too.")


def _parts(request: str) -> Iterator[str]:
    """What the request asks for, each by itself."""
    for match in _PART.finditer(request):
        sentence = match[0]
        if _ONE_QUESTION.search(sentence):
            continue
        joined = [part for part in _JOINED.split(sentence) if part and part.strip()]
        elliptic = sentence.rstrip().endswith("?") and len(joined) > 2 and not _VERB.search(sentence)
        asks, things = elliptic, elliptic or _QUESTION.search(sentence) is not None
        for place, part in enumerate(joined):
            opens = _OPENS.match(part) is not None
            orders = _ORDERS.match(part) is not None and (place > 0 or match.start() > 0)
            asks = asks or _ASKS.search(part) is not None
            if (place > 0 and _ATTACHED.match(part)) or not (opens or orders or asks):
                continue
            is_noun = _NOUN.match(part) is not None or not things
            if opens or orders or place == 0 or (is_noun and (len(_content(part)) > 1 or ":" not in sentence)):
                yield part


def _content(part: str) -> list[str]:
    return [word for word in words_of(part) if word not in _FILLER and len(word) > 2]


def _is_answered(reading: Reading, part: str) -> bool:
    """Whether the answer has the kind of thing that the part asks for, in other words."""
    folded = part.casefold()
    if re.search(r"\b(?:why|reason|cause|explain)\b", folded):
        return True
    if re.search(
        r"\b(?:how (?:many|much|long|old|far|big)|when|what time|date|price|cost|number|total|amount|percent\w{0,4})\b",
        folded,
    ):
        return False
    return any(
        str(field.value).casefold() in reading.folded
        for field in reading.record.fields
        if isinstance(field.value, str) and len(field.value) > 3 and set(field.name) & set(_content(part))
    )


def _members(reading: Reading) -> Iterator[Point]:
    """Short texts of a list on record of which the answer names at least half, or one, and leaves out the others."""
    asked = {word for match in _EVERY.finditer(reading.record.request) for word in words_of(match["things"])}
    if not asked or _SOME.search(reading.answer):
        return
    for call in reading.record.worked[-2:]:
        lists = [
            values
            for item in call.items
            for key, values in item.lists.items()
            if asked & {*name_words(key), *call.name_words}
        ]
        if not call.is_json and (asked & call.name_words or call.name_words & _LISTS):
            lines = [line.strip(" -*•\t") for line in call.text.splitlines() if line.strip()]
            lists.append([line for line in lines if " " not in line])
        for values in lists:
            names = [_name(value) for value in values]
            if not 2 <= len(names) <= 12 or not all(names) or len(set(names)) != len(names):
                continue
            there = [name for name in names if name and name.casefold() in reading.folded]
            missing = [name for name in names if name and name.casefold() not in reading.folded]
            if missing and len(there) >= (1 if _WHOLE.search(reading.record.request) else 2):
                reason = "The record lists it, and the answer leaves it out."
                yield Point("missing_critical_information", "", str(missing[0]), reason, "Name them all.")
                return


_LISTS = frozenset({"ls", "bash", "shell", "list", "find", "glob", "grep", "run", "exec", "command", "search"})


def _name(value: object) -> str | None:
    if isinstance(value, str) and 2 < len(value) <= 60:
        return value
    if isinstance(value, dict):
        for key in ("name", "title", "path", "file", "filename", "email", "id", "key", "username"):
            if isinstance(value.get(key), str) and len(value[key]) > 2:
                return str(value[key])
    return None
