"""A turn's record as those read it who learn from it when it has ended."""

from collections.abc import Sequence

from sidemirror_server.thinking.record import Recorded, recorded_in
from sidemirror_server.trace.log import TurnHead, TurnLog
from sidemirror_server.vocabulary.scope import Scope

# A long turn's first and last entries are read. Chosen here: more than a prompt shows and a rule needs.
_FIRST_ENTRIES, _LAST_ENTRIES = 100, 1_900
_PAGE_BYTES = 4 * 1024 * 1024


async def recorded_of(log: TurnLog, scope: Scope, head: TurnHead) -> Sequence[Recorded]:
    """The first and the last entries of a turn. Raises what the store raises."""
    found: list[Recorded] = []
    after, last = 0, head.last_sequence
    while entries := await log.read(scope, head.turn_id, after, _FIRST_ENTRIES, _PAGE_BYTES):
        found += map(recorded_in, entries)
        after = entries[-1].sequence
        if after >= _FIRST_ENTRIES:
            after = max(after, last - _LAST_ENTRIES)
    return found
