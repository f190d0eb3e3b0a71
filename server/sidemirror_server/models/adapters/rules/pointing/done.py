"""Something is said to be done, and no call did it."""

from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.actions import Claim, claims, could_do, is_generic, only_reads
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.texts import word_set

# What a command that does it is called like.
_LEAVES_A_TRACE = word_set(
    "saved stored sent emailed deployed merged pushed committed uploaded exported deleted dumped copied"
)
_FIX = "Do it, or say that it is not done."


def done(reading: Reading) -> Iterator[Point]:
    """Claims of the answer's own doing that no call on record could have done. Without any call on record nothing is
    said: whoever asks may not have told what was called."""
    if not reading.record.calls or not any(call.name for call in reading.record.calls):
        return
    for claim in claims(reading):
        if any(could_do(call, claim) for call in reading.record.calls) or _is_recorded(reading, claim):
            continue
        acts = [call for call in reading.record.calls if not only_reads(call)]
        if (
            not claim.own
            and acts
            and not (claim.verb in _LEAVES_A_TRACE and all(is_generic(call) and call.arguments for call in acts))
        ):
            continue
        yield Point("wrong_fact", claim.quote, "", "No call on record did this.", _FIX)


def _is_recorded(reading: Reading, claim: Claim) -> bool:
    """Whether the record itself says so, in any result or in the request."""
    if claim.verb in reading.record.request.casefold():
        return not claim.own
    return any(claim.verb in call.text.casefold() for call in reading.record.worked)
