"""Metrics of what turns record: every new entry is counted here once."""

from sidemirror_server.thinking.record import Directive, Nudge, Recorded, Reflection, TurnSummary
from sidemirror_server.trace.event import Event, TurnStarted
from sidemirror_server.vocabulary.telemetry import EVENTS, NUDGES, REFLECTIONS, TURNS_ENDED, TURNS_STARTED


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
        REFLECTIONS.add(1, {"status": what.status.value, "provider": provider})
    elif isinstance(what, Nudge):
        NUDGES.add(1, {"pattern": what.pattern.value})
    elif isinstance(what, TurnSummary):
        TURNS_ENDED.add(1, {"outcome": "abandoned" if what.abandoned else what.outcome or "none"})
