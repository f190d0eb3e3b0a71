"""Metrics of what turns record: every new entry is counted here once."""

from sidemirror_server.thinking.record import Directive, Nudge, Recorded, Reflection, TurnSummary
from sidemirror_server.trace.event import Event, TurnStarted
from sidemirror_server.vocabulary.telemetry import EVENTS, NUDGES, REFLECTIONS, TURNS_ENDED, TURNS_STARTED

# How the detail of a reflection begins whose turn, or server, did not wait for it. It is counted apart from failures.
GIVEN_UP = "given up"


def count(recorded: Recorded) -> None:
    """Counts an entry that a turn has recorded."""
    if isinstance(recorded, Event):
        EVENTS.add(1)
        if isinstance(recorded.what, TurnStarted):
            TURNS_STARTED.add(1)
    elif isinstance(recorded, Directive):
        _count_directive(recorded.what)


def _count_directive(what: object) -> None:
    if isinstance(what, Reflection):
        provider = "" if what.usage is None else what.usage.provider
        status = "given_up" if what.detail.startswith(f"{GIVEN_UP}:") else what.status.value
        REFLECTIONS.add(1, {"status": status, "provider": provider})
    elif isinstance(what, Nudge):
        NUDGES.add(1, {"pattern": what.pattern.value})
    elif isinstance(what, TurnSummary):
        TURNS_ENDED.add(1, {"outcome": "abandoned" if what.abandoned else what.outcome or "none"})
