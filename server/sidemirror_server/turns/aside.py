"""Work beside agents' calls: one piece at a time, with rests between them. Used by `learning.py`.

Jobs of ended turns come in groups, while the next turns go on. On one event loop each step of a call waits for a step
of every job, so that eight jobs at once make a call many times as slow (decision 090).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.giving_way import Awaited, GivesWay

# A rest takes this many times as long as the piece of work before it, but not longer than the seconds below. Chosen
# here: calls have three quarters of the time, and eight slow pieces wait for two seconds in all.
_REST = 3
_LONGEST_REST_S = 0.25


class Aside:
    """Lets one piece of work in at a time. Use it from one event loop only."""

    def __init__(self, clock: Clock, awaited: Awaited | None = None) -> None:
        """`awaited`: whom the work makes way for before it begins."""
        self._clock = clock
        self._gives_way = GivesWay(awaited)
        self._taken = asyncio.Lock()
        self._rested_s = 0.0

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """The context of a piece of work, entered once the one before has ended and the rest is over. Nothing in it
        waits for a model."""
        async with self._taken:
            await asyncio.sleep(max(0.0, self._rested_s - self._clock.monotonic_s()))
            await self._gives_way()
            began_s = self._clock.monotonic_s()
            try:
                yield
            finally:
                ended_s = self._clock.monotonic_s()
                self._rested_s = ended_s + min(_REST * (ended_s - began_s), _LONGEST_REST_S)
