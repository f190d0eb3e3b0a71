"""Finds claims that something was done, where every recorded call only reads."""

from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.actions import ClaimedDeed, claims, only_reads
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading

_FIX = "Do it, or say that it is not done."


def done(reading: Reading) -> Iterator[Point]:
    """Finds claims of the answer about its own work, where every recorded call only reads. If one call changes
    something, it may have done more than its name says. If there is no call, the caller may not have reported any."""
    if not reading.record.calls or not all(only_reads(call) for call in reading.record.calls):
        return
    for claim in claims(reading):
        if not _is_recorded(reading, claim):
            yield Point("wrong_fact", claim.quote, "", "No call on record did this.", _FIX)


def _is_recorded(reading: Reading, claim: ClaimedDeed) -> bool:
    """Whether the record itself says so, in any result or in the request."""
    if claim.verb in reading.record.request.casefold():
        return not claim.own
    return any(claim.verb in call.text.casefold() for call in reading.record.worked)
