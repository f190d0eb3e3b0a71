"""Finds claims that something was done, where no recorded call can have done it."""

import re
from collections.abc import Callable, Iterator, Sequence

from sidemirror_server.models.adapters.rules.pointing.deeds import ClaimedDeed, claims, could_do
from sidemirror_server.models.adapters.rules.pointing.effects import may_do_anything, only_reads
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.record import ARGUMENT_CHARS, PastCall
from sidemirror_server.models.adapters.rules.pointing.states import STATE_KEYS
from sidemirror_server.models.adapters.rules.pointing.texts import (
    Spoken,
    name_words,
    sentences,
    stem,
    stem_set,
    word_set,
    words_of,
)

_RAN = word_set("ran executed tested benchmarked")
# What these say leaves a call of its own: beside a call that does something else they are doubted too.
_OWN_CALL = word_set(
    "sent written emailed mailed messaged notified texted alerted informed told forwarded pushed committed deployed "
    "booked reserved ordered purchased bought uploaded dumped exported saved stored archived paid phoned contacted "
    "opened filed escalated restarted reloaded locked printed published posted rebased installed scheduled invited"
) | {"gone out", "went out"}
_NOT = re.compile(r"\b(?:not|never|no|should|would|will|if|once|when|need|please|after|before)\b|n['’]t\b|\?", re.I)
# In the answer itself.
_HERE = re.compile(r"\b(?:below|above|here)\b", re.IGNORECASE)
_PART = re.compile(r"[,;:?!]|\band\b")
# Of a result, and of a state, so much is searched. In code points.
_RESULT_CHARS, _STATE_CHARS = 20_000, 40
_REASON, _FIX = "No call on record did this.", "Do it, or say that it is not done."


def done(reading: Reading) -> Iterator[Point]:
    """Finds claims of the answer about its own work that no recorded call can have done. Beside a call that changes
    something only a deed of a kind that has calls of its own is doubted. Without any call on record the caller may not
    have reported them."""
    calls = reading.record.calls
    if not calls:
        return
    reads = all(only_reads(call) for call in calls)
    for claim in claims(reading):
        if claim.verb in _RAN and any(call.words & frozenset(words_of(claim.quote)) for call in calls):
            continue
        able = any(could_do(call, claim) for call in calls)
        doubted = reads or (claim.verb in _OWN_CALL and not able)
        if doubted and not _HERE.search(claim.quote) and not _is_recorded(reading, claim):
            yield Point("wrong_fact", claim.quote, _asked(reading, claim), _REASON, _FIX)
            return
    yield from _consulted(reading)
    for says, by in _DEEDS:
        for sentence in reading.sentences:
            match = says.search(sentence.text)
            if match is None or any(by(call) for call in calls) or not _is_own(reading, sentence, match):
                continue
            whole = says is _TESTED
            if not _NOT.search(sentence.text if whole else sentence.text[: match.end("what")]):
                quote = sentence.plain if whole else match[0].strip()
                yield Point("wrong_fact", quote, _request_of(reading, match["what"]), _REASON, _FIX)
                return


def _is_own(reading: Reading, sentence: Spoken, match: re.Match[str]) -> bool:
    """Whether the answer says it in its own words, and quotes nobody."""
    return reading.own[sentence.start : sentence.start + len(sentence.text)][match.start() : match.end()] == match[0]


def _is_recorded(reading: Reading, claim: ClaimedDeed) -> bool:
    """Whether the request or a result itself says so. What the agent has done itself no look at something tells. `We`
    may be the company whose record has it as a state."""
    if claim.verb in reading.record.request.casefold():
        return not claim.own
    if claim.quote[:2].casefold() == "we" and any(
        isinstance(field.value, str) and stem(claim.verb) in name_words(field.value[:_STATE_CHARS])
        for field in reading.record.fields
        if STATE_KEYS & frozenset(field.name)
    ):
        return True
    calls = (call for call in reading.record.worked if not (claim.own and only_reads(call)))
    return any(claim.verb in call.text.casefold() for call in calls)


def _asked(reading: Reading, claim: ClaimedDeed) -> str:
    """The part of the request that asks for it; empty if none does."""
    for sentence in sentences(reading.record.request):
        for part in _PART.split(sentence.text):
            if claim.does & frozenset(words_of(part)):
                return part.strip()
    return ""


def _request_of(reading: Reading, text: str) -> str:
    """The sentence of the request that shares a word with a text; empty if none does."""
    words = frozenset(words_of(text))
    return next((one.plain for one in sentences(reading.record.request) if words & one.words), "")


_CONSULTED = re.compile(
    r"\bI(?:['’]ve| have)?(?: (?:also|then|just))? (?P<verb>compared|checked|verified|cross-checked|reconciled|"
    r"looked at|looked up|reviewed|read|went through|consulted)\b(?P<object>[^.;:\n]{6,90})",
    re.IGNORECASE,
)
_OBJECT = r"(?:the |your |our |their )?(?P<thing>[a-z][a-z-]{3,18}(?: [a-z][a-z-]{3,18}){%s})"
_AGAINST = re.compile(r"\b(?:against|with|through) " + _OBJECT % "0,3", re.IGNORECASE)
_DIRECT = re.compile(" " + _OBJECT % "1,3", re.IGNORECASE)
_PLAIN_THINGS = stem_set("other same file files data record records result results system which only them")
# What an agent has been told beside the record.
_UNSEEN = tuple(stem_set("policy terms guidelines rules conditions"))
_STARTS, _LEAST_WORDS = 6, 2


def _consulted(reading: Reading) -> Iterator[Point]:
    """Finds `I compared it with the bank statement`, where no call has anything of one."""
    read = (word for call in reading.record.calls for word in (*call.words, *name_words(call.text[:_RESULT_CHARS])))
    known = {word[:_STARTS] for word in (*read, *words_of(reading.record.request[:_RESULT_CHARS]), *_UNSEEN)}
    for sentence in reading.sentences:
        match = _CONSULTED.search(sentence.text)
        if match is None or _NOT.search(sentence.text[: match.end("verb")]):
            continue
        direct = match["verb"].casefold() in {"looked up", "consulted"} and _DIRECT.match(match["object"])
        for thing in (*([direct] if direct else ()), *_AGAINST.finditer(match["object"])):
            words = [word for word in words_of(thing["thing"]) if word not in _PLAIN_THINGS]
            if len(words) >= _LEAST_WORDS and not any(word[:_STARTS] in known for word in words):
                yield Point("wrong_fact", match[0].strip(), _request_of(reading, thing["thing"]), _REASON, _FIX)
                return


_TESTED = re.compile(
    r"\b(?P<what>test suite|tests|suite|specs)\b[^.;\n]{0,40}\b(?:pass(?:es|ed)?|green|ran|succeed(?:s|ed)?)\b",
    re.IGNORECASE,
)
_RUNS = re.compile(
    r"test|suite|spec|check|\bci\b|build|pipeline|pass|workflow|jest|make\b|verif|validat|smoke|run_", re.IGNORECASE
)
_EDITS = stem_set("read edit write replace view open create")
_TOLD = re.compile(
    r"\bI(?:['’]ve| have)?(?: (?:also|already|just))? let (?P<what>(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][\w'-]{1,20}"
    r"(?: [A-Z][\w'-]{1,20})?|them|him|her|everyone|the [a-z]{3,15}) know\b"
)
_MESSAGES = stem_set(
    "send email mail message notify notification sms slack post reply alert text chat invite tell "
    "inform call phone"
)  # fmt: skip
_INVITES = stem_set("notify attendees")
_COPIED = re.compile(
    r"\bI(?:['’]ve| have)?(?: (?:also|first|just|then))? (?:took|taken|made|created) (?:a|an|the) (?:[a-z]{3,12} ){0,2}"
    r"(?P<what>dump|backup|snapshot|copy|screenshot|export)\b[^.;,\n]{0,60}",
    re.IGNORECASE,
)
_COPIES = re.compile(
    r"dump|backup|back_up|snapshot|copy|\bcp\b|export|save|archive|screenshot|tar\b|rsync|\.bak", re.IGNORECASE
)


def _ran_tests(call: PastCall) -> bool:
    """Whether a call may have run tests. What only read or edited ran none, whatever it was about."""
    if set(name_words(call.name)) & _EDITS or (call.command and only_reads(call)):
        return False
    given = call.command or f"{call.arguments} {call.text}"
    return _RUNS.search(f"{call.name} {given}") is not None


def _told_somebody(call: PastCall) -> bool:
    words = call.words | frozenset(words_of(call.arguments[:ARGUMENT_CHARS]))
    if call.name_words & _MESSAGES or words & _INVITES:
        return True
    return may_do_anything(call) and (not call.arguments or bool(words & _MESSAGES))


def _copied(call: PastCall) -> bool:
    return _COPIES.search(f"{call.name} {call.arguments}") is not None


# What an answer may say that has no verb of `actions`, and what may have done it.
_DEEDS: Sequence[tuple[re.Pattern[str], Callable[[PastCall], bool]]] = (
    (_TOLD, _told_somebody),
    (_COPIED, _copied),
    (_TESTED, _ran_tests),
)
