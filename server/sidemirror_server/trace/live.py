"""Waits for the log to grow. A follower reads the log and then waits for more, without an event bus (decision 011).

Code that appends in this process rings the bell. One lookout finds the entries of other processes: it asks the store
for each scope with followers, however many wait. It looks when it is woken, and by itself less and less often while
nothing comes (decision 056).
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Protocol

from sidemirror_server.trace.log import TURN_TOPIC, Log
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.scope import Scope

_log = logging.getLogger(__name__)

# How many entries a look reads to find their groups. Chosen here: if there are more, all waiters of the scope wake.
_PAGE = 200
_PAGE_BYTES = 256 * 1024
# The longest pauses between two looks at a quiet log. Chosen here: without wake-ups a person who watches another
# sidecar's agent waits some seconds; with them, a look makes good a wake-up that was lost.
_LONGEST_S = 5.0
_LONGEST_HEARD_S = 300.0


class Bell:
    """Wakes waiters when a scope's log may have grown."""

    def __init__(self) -> None:
        self._waiters: dict[Scope, set[Waiter]] = {}
        self._stirred = asyncio.Event()

    def ring(self, scope: Scope, groups: Collection[str] | None = None) -> None:
        """Wakes the scope's waiters for one of `groups` and its waiters for all groups; None wakes all its waiters."""
        for waiter in self._waiters.get(scope, ()):
            if groups is None or waiter.group is None or waiter.group in groups:
                waiter.ring()

    def waiter(self, scope: Scope, group: str | None) -> "Waiter":
        """A new waiter for one group, or for all groups if None. Close it when done."""
        waiter = Waiter(self, scope, group)
        self._waiters.setdefault(scope, set()).add(waiter)
        self.stir()
        return waiter

    def leave(self, waiter: "Waiter") -> None:
        """Removes a waiter."""
        waiters = self._waiters.get(waiter.scope, set())
        waiters.discard(waiter)
        if not waiters:
            self._waiters.pop(waiter.scope, None)
            self.stir()

    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that have waiters."""
        return tuple(self._waiters)

    def stir(self) -> None:
        """Reports that other processes may have appended something, or that other scopes have waiters."""
        self._stirred.set()

    async def stirred(self, within_s: float | None) -> bool:
        """Returns at the next `stir` since the last call, or after this time; whether there was one."""
        try:
            async with asyncio.timeout(within_s):
                await self._stirred.wait()
        except TimeoutError:
            return False
        self._stirred.clear()
        return True


class Waiter:
    """Use: clear, read the log, wait. A ring between the read and the wait is not missed."""

    def __init__(self, bell: Bell, scope: Scope, group: str | None) -> None:
        self.scope = scope
        self.group = group
        self._bell = bell
        self._rung = True  # the log may have entries before the first read
        self._woken = asyncio.Event()

    def clear(self) -> bool:
        """Resets the waiter. Returns whether the log may have grown since the last `clear`."""
        rung, self._rung = self._rung, False
        self._woken.clear()
        return rung

    def ring(self) -> None:
        """Reports that the log may have grown."""
        self._rung = True
        self._woken.set()

    def wake(self) -> None:
        """Wakes the waiter for a reason other than the log."""
        self._woken.set()

    async def wait(self) -> None:
        """Returns at the first ring or wake since `clear`."""
        await self._woken.wait()

    def close(self) -> None:
        self._bell.leave(self)


class Wakes(Protocol):
    """Wake-ups from other processes that append to the log."""

    @property
    def is_heard(self) -> bool:
        """Whether they arrive now."""
        ...

    def listen(self, heard: Callable[[], None]) -> None:
        """Calls `heard` at each of them, until `mute`. Repeated calls have no effect."""
        ...

    def mute(self) -> None: ...


class Lookout:
    """Rings the bell for entries that other processes append."""

    def __init__(self, log: Log, bell: Bell, every_s: float, wakes: Wakes, longest_s: float = _LONGEST_S) -> None:
        """`every_s`: the shortest pause between two looks. `longest_s`: the longest one while no wake-ups arrive, and
        so about the longest time that an entry goes unnoticed."""
        self._log = log
        self._bell = bell
        self._every_s = every_s
        self._wakes = wakes
        self._longest_s = longest_s
        self._seen: dict[Scope, int] = {}

    async def run(self) -> None:
        """Looks until cancelled, only while there are waiters. A store that does not answer is asked again."""
        pause_s = self._every_s
        while True:
            while not self._bell.scopes():
                self._wakes.mute()
                await self._bell.stirred(None)
            self._wakes.listen(self._bell.stir)
            has_grown = await self._look_at_all()
            await asyncio.sleep(self._every_s)
            longest_s = _LONGEST_HEARD_S if self._wakes.is_heard else self._longest_s
            pause_s = self._every_s if has_grown else min(2 * pause_s, longest_s)
            if await self._bell.stirred(pause_s - self._every_s):
                pause_s = self._every_s

    async def _look_at_all(self) -> bool:
        """Looks at each scope with waiters; whether one has grown, or could not be looked at."""
        scopes = frozenset(self._bell.scopes())
        self._seen = {scope: position for scope, position in self._seen.items() if scope in scopes}
        return any([await self._look(scope) for scope in scopes])

    async def _look(self, scope: Scope) -> bool:
        try:
            position = await self._log.last_position(scope)
            seen = self._seen.get(scope)
            if seen == position:
                return False
            # The first look wakes all waiters, because some may have read the log before its newest entries came.
            self._bell.ring(scope, None if seen is None else await self._grown(scope, seen, position))
            self._seen[scope] = position
        except SidemirrorError as failure:
            _log.debug("look_failed", extra={"reason": type(failure).__name__})
        return True

    async def _grown(self, scope: Scope, seen: int, position: int) -> frozenset[str] | None:
        """The groups of the entries after `seen`; None if these exceed a page, or some do not belong to turns."""
        page = await self._log.tail(scope, TURN_TOPIC, None, seen, _PAGE, _PAGE_BYTES)
        return frozenset(entry.group for entry in page) if page and page[-1].position >= position else None
