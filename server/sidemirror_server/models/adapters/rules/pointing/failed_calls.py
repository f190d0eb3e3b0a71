"""Finds claims that something was done, where the only call that could have done it failed."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.adapters.rules.pointing.actions import claims, could_do, has_failed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading

_ADMITS = re.compile(
    r"\b(?:errors?|fail\w{0,4}|could(?: not|n['’]t)|unable|cannot|can['’]t|unfortunately|den(?:ied|ies)|"
    r"reject\w{0,3}|refus\w{1,3}|declin\w{1,3}|problem|"
    r"issues?|trouble|not|time[d]? ?out|timeouts?|however|though|except|retr(?:y|ied)|unavailable|"
    r"unreachable|locked|conflict|skipped|invalid|blocked|no longer|"
    r"neither|nor|forbidden|stuck|broken?)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_FIX = "Say what failed, or try again."


def failed_calls(reading: Reading) -> Iterator[Point]:
    """Finds the first claim that only a failed call could have made true. Finds nothing in an answer that admits a
    failure."""
    if _ADMITS.search(reading.answer):
        return
    failed = [call for call in reading.record.calls if has_failed(call)]
    worked = [call for call in reading.record.calls if not has_failed(call)]
    for claim in claims(reading) if failed else ():
        call = next((call for call in reversed(failed) if could_do(call, claim)), None)
        if call is not None and not any(could_do(other, claim) for other in worked):
            error = telling(call.text) or call.text[:120]
            yield Point("wrong_fact", claim.quote, error, f"The call of {call.spoken} failed.", _FIX)
            return
