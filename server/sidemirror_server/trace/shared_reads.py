"""How watches look into a log: a few looks at once, and those who look from the same place share one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sidemirror_server.trace.log import Entry, Log
from sidemirror_server.vocabulary.scope import Scope

# How much one look takes: bounds what a slow reader makes the server hold.
_PAGE = 200
_PAGE_BYTES = 1024 * 1024
# How many look at once. Chosen here: half of the connections that a sidecar has to its store, so that thousands which
# come or are woken together neither wait there in vain nor keep others from it.
_READERS = 2


class SharedReads:
    """What the watches of one topic read. What was in the log when they asked is never missing."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._topic = topic
        self._reading = asyncio.Semaphore(_READERS)
        # Looks that have not begun. One that has begun may miss what a watch was just woken for, so nobody joins it.
        self._ahead: dict[object, _Look] = {}

    async def page(self, scope: Scope, group: str | None, after: int) -> tuple[Entry, ...]:
        """The next entries after a position, of one group or of all; empty at the end."""
        page: tuple[Entry, ...] = await self.shared(
            (scope, group, after), lambda: self._log.tail(scope, self._topic, group, after, _PAGE, _PAGE_BYTES)
        )
        return page

    async def end(self, scope: Scope) -> int:
        """The position of the last entry."""
        position: int = await self.shared(scope, lambda: self._log.last_position(scope))
        return position

    async def shared(self, place: object, read: Callable[[], Awaitable[object]]) -> Any:
        """What `read` finds; those who ask for the same `place` share one."""
        look = self._ahead.get(place)
        if look is None:
            look = self._ahead[place] = _Look()
            look.task = asyncio.create_task(self._look(place, look, read))
        look.waiting += 1
        try:
            return await asyncio.shield(look.task)  # who leaves takes nothing from the others
        finally:
            look.waiting -= 1
            if not look.waiting:
                self._close(place, look)
                look.task.cancel()  # a look that everybody has left; one that has ended stays as it is

    async def _look(self, place: object, look: "_Look", read: Callable[[], Awaitable[object]]) -> object:
        async with self._reading:
            self._close(place, look)
            return await read()

    def _close(self, place: object, look: "_Look") -> None:
        """Nobody joins this look any more."""
        if self._ahead.get(place) is look:
            del self._ahead[place]


class _Look:
    """A look, and how many wait for it."""

    task: asyncio.Task[Any]
    waiting = 0
