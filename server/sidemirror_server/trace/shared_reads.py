"""Log reads for watches: few run at once, and watches that read from the same position share one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sidemirror_server.trace.log import Entry, Log
from sidemirror_server.vocabulary.scope import Scope

# Limits of one read, in entries and bytes: they bound the memory that a slow reader takes.
_PAGE = 200
_PAGE_BYTES = 1024 * 1024
# Concurrent reads. Chosen here: half of a sidecar's connections to its store. So thousands of watches that wake
# together all get a connection in time, and other calls do too.
_READERS = 2


class SharedReads:
    """Reads of one topic for its watches. An entry that was in the log when a watch asked is never missing."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._topic = topic
        self._reading = asyncio.Semaphore(_READERS)
        # Reads that have not begun. A read in progress may miss the entry that woke a watch, so no watch joins it.
        self._ahead: dict[object, _Look] = {}

    async def page(self, scope: Scope, group: str | None, after: int) -> tuple[Entry, ...]:
        """The next entries after position `after`, of one group or of all; empty at the end."""
        page: tuple[Entry, ...] = await self.shared(
            (scope, group, after), lambda: self._log.tail(scope, self._topic, group, after, _PAGE, _PAGE_BYTES)
        )
        return page

    async def end(self, scope: Scope) -> int:
        """The position of the last entry."""
        position: int = await self.shared(scope, lambda: self._log.last_position(scope))
        return position

    async def before(self, scope: Scope, at_us: int) -> int:
        """The position before the first entry of `at_us` or later, found by halving: where entries are not in the order
        of their times, one near it."""
        low, high = 0, await self.end(scope)
        while low < high:
            middle = (low + high) // 2
            found = await self._log.tail(scope, self._topic, None, middle, 1, 1)
            if not found or found[0].position > high or found[0].at_us >= at_us:
                high = middle
            else:
                low = found[0].position
        return low

    async def shared(self, place: object, read: Callable[[], Awaitable[object]]) -> Any:
        """The result of `read`; callers with the same `place` share one read."""
        look = self._ahead.get(place)
        if look is None:
            look = self._ahead[place] = _Look()
            look.task = asyncio.create_task(self._look(place, look, read))
        look.waiting += 1
        try:
            return await asyncio.shield(look.task)  # a cancelled caller leaves the read to the others
        finally:
            look.waiting -= 1
            if not look.waiting:
                self._close(place, look)
                look.task.cancel()  # no caller is left; a finished read is not affected

    async def _look(self, place: object, look: "_Look", read: Callable[[], Awaitable[object]]) -> object:
        async with self._reading:
            self._close(place, look)
            return await read()

    def _close(self, place: object, look: "_Look") -> None:
        """Ends the time in which callers can join the read."""
        if self._ahead.get(place) is look:
            del self._ahead[place]


class _Look:
    """A read, and the number of callers that wait for it."""

    task: asyncio.Task[Any]
    waiting = 0
