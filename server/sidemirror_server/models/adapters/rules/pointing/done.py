"""Finds claims that something was done, where no recorded call can have done it."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.actions import ClaimedDeed, claims, could_do, only_reads
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.record import PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import name_words, stem, word_set

_FIX = "Do it, or say that it is not done."
# What these say leaves a call of its own: beside a call that does something else they are doubted too.
_OWN_CALL = word_set(
    "sent emailed mailed messaged notified texted alerted informed told forwarded pushed committed deployed "
    "booked reserved ordered purchased bought uploaded dumped exported saved stored archived paid phoned "
    "contacted opened filed "
    "escalated restarted printed published posted rebased installed scheduled invited"
) | {"gone out", "went out"}
_TESTED = re.compile(
    r"\b(?:test suite|tests?|suite|specs)\b[^.;\n]{0,40}\b(?:pass(?:es|ed)?|green|ran|succeed(?:s|ed)?)\b",
    re.IGNORECASE,
)
_NOT_TESTED = re.compile(
    r"\b(?:not|never|no|should|would|will|if|once|when|need|please|after|before)\b|n['’]t\b|\?", re.IGNORECASE
)
_RUN = re.compile(
    r"test|suite|spec|check|\bci\b|build|pipeline|pass|workflow|jest|make\b|verif|validat|smoke|run_", re.IGNORECASE
)


def done(reading: Reading) -> Iterator[Point]:
    """Finds claims of the answer about its own work that no recorded call can have done. Beside a call that changes
    something only a deed of a kind that has calls of its own is doubted. Without any call on record the caller may not
    have reported them."""
    calls = reading.record.calls
    if not calls:
        return
    reads = all(only_reads(call) for call in calls)
    for claim in claims(reading):
        doubted = reads or (claim.verb in _OWN_CALL and not any(could_do(call, claim) for call in calls))
        if doubted and not _is_recorded(reading, claim):
            yield Point("wrong_fact", claim.quote, "", "No call on record did this.", _FIX)
            return
    if not any(_RUN.search(_run(call)) for call in calls):
        for sentence in reading.sentences:
            match = _TESTED.search(sentence.text)
            if match is not None and not _NOT_TESTED.search(sentence.text):
                yield Point("wrong_fact", sentence.plain, "", "No call on record ran any test.", _FIX)
                return


def _run(call: PastCall) -> str:
    """What a call ran. What it read or edited ran nothing, whatever it is about."""
    if name_words(call.name) and set(name_words(call.name)) & _EDITS:
        return ""
    return f"{call.name} {call.arguments} {call.text}"


_EDITS = frozenset(map(stem, word_set("read edit write replace view open create")))


def _is_recorded(reading: Reading, claim: ClaimedDeed) -> bool:
    """Whether the record itself says so, in any result or in the request."""
    if claim.verb in reading.record.request.casefold():
        return not claim.own
    return any(claim.verb in call.text.casefold() for call in reading.record.worked)
