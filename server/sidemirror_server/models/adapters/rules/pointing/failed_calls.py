"""Something is said to be done, and the call that should have done it failed."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.adapters.rules.pointing.actions import claims, could_do, has_failed
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading

_ADMITS = re.compile(
    r"\b(?:errors?|fail\w{0,4}|could(?: not|n['’]t)|unable|cannot|can['’]t|unfortunately|denied|rejected|declined|problem|sorry|"
    r"did(?: not|n['’]t)|was(?: not|n['’]t)|timed out|however|retr(?:y|ied)|again|instead)\b",
    re.IGNORECASE,
)


def failed_calls(reading: Reading) -> Iterator[Point]:
    """Claims whose last call failed, in an answer that does not say so."""
    if _ADMITS.search(reading.answer):
        return
    for claim in claims(reading):
        able = [call for call in reading.record.calls if could_do(call, claim)]
        if able and has_failed(able[-1]) and not any(not has_failed(call) for call in able):
            error = telling(able[-1].text) or able[-1].text[:120]
            reason = f"The call that should have done this, {able[-1].spoken}, failed."
            yield Point("wrong_fact", claim.quote, error, reason, "Say what failed, or try again.")
