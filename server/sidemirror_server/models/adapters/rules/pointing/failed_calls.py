"""A call failed, nothing made it good, and the answer speaks of its thing as if it had not."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.adapters.rules.pointing.actions import claims, could_do, has_failed, only_reads
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, thing_of
from sidemirror_server.models.adapters.rules.pointing.record import Call
from sidemirror_server.models.adapters.rules.pointing.texts import sentences, tokens_of

_ADMITS = re.compile(
    r"\b(?:errors?|fail\w{0,4}|could(?: not|n['’]t)|unable|cannot|can['’]t|unfortunately|den(?:ied|ies)|"
    r"reject\w{0,3}|refus\w{1,3}|declin\w{1,3}|problem|"
    r"issues?|trouble|not|time[d]? ?out|timeouts?|however|though|except|retr(?:y|ied)|unavailable|"
    r"unreachable|locked|conflict|skipped|invalid|blocked|no longer|"
    r"neither|nor|forbidden|stuck|broken?)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_FIX = "Say what failed, or try again."
_WHOLE = re.compile(r"\b(?:all|every|each|both)\b", re.IGNORECASE)


def failed_calls(reading: Reading) -> Iterator[Point]:
    """The sentence that has the most in common with a call that failed for good, in an answer that says of nothing
    that it failed."""
    if _ADMITS.search(reading.answer):
        return
    for call in _standing(reading.record.calls):
        error = telling(call.text) or call.text[:120]
        reason = f"The call of {call.spoken} failed."
        claim = next((claim for claim in claims(reading) if could_do(call, claim)), None)
        quote = claim.quote if claim is not None else _sentence_about(reading, call)
        if quote:
            yield Point("wrong_fact", quote, error, reason, _FIX)
            return


def _standing(calls: list[Call]) -> Iterator[Call]:
    """The calls that failed, after which none by that name worked for the same thing; the last first."""
    for place in range(len(calls) - 1, -1, -1):
        call = calls[place]
        if not has_failed(call):
            continue
        others = [other for other in calls if _kind(other) == _kind(call) and not has_failed(other)]
        later = [other for other in calls[place + 1 :] if other in others]
        thing = thing_of(call)
        one_of_several = bool(thing) and any(thing_of(other) not in {"", thing} for other in others)
        if one_of_several:
            stands = not any(thing_of(other) == thing for other in others)
        else:
            about = _marks(call)
            after = [one for one in calls[place + 1 :] if not has_failed(one) and not only_reads(one)]
            stands = not only_reads(call) and not later and not any(about & _marks(one) for one in after)
        if stands:
            yield call


def _kind(call: Call) -> tuple[str, ...]:
    """The tool, and of a command its first two words."""
    return call.name, *call.command.split()[:2]


def _marks(call: Call) -> set[str]:
    """The identifiers and paths among a call's arguments."""
    return {word for word in tokens_of(call.arguments) if any(map(str.isdigit, word)) or "/" in word}


def _sentence_about(reading: Reading, call: Call) -> str:
    about = tokens_of(f"{call.arguments} {call.text[:400]}") - reading.record.request_words
    named = {
        word for word in tokens_of(f"{call.arguments} {call.text[:400]}") if any(map(str.isdigit, word)) or "/" in word
    }
    best = max(
        sentences(reading.answer),
        key=lambda one: 3 * len(named & tokens_of(one.text)) + len(about & tokens_of(one.text)),
        default=None,
    )
    if best is not None and named & tokens_of(best.text):
        return best.plain
    whole = (
        next((one for one in reading.sentences if _WHOLE.search(one.text)), None)
        if thing_of(call) and not only_reads(call)
        else None
    )
    return whole.plain if whole is not None else ""
