"""Reads a turn's events from the log, for calls that need not load the turn into memory."""

from sidemirror_server.thinking.record import recorded_in
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope

# Entries and bytes of one read of the log.
_PAGE = 500
_PAGE_BYTES = 4 * 1024 * 1024


async def events_of(log: TurnLog, scope: Scope, turn_id: TurnId) -> tuple[Event, ...] | None:
    """The turn's durable events, oldest first; None when the scope has no such turn. Raises StoreUnavailable."""
    if await log.head(scope, turn_id) is None:
        return None
    events: list[Event] = []
    after = 0
    while entries := await log.read(scope, turn_id, after, _PAGE, _PAGE_BYTES):
        events += (recorded for entry in entries if isinstance(recorded := recorded_in(entry), Event))
        after = entries[-1].sequence
    return tuple(events)
