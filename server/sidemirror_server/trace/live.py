"""Waits for the log to grow. A follower reads the log and then waits for more, without an event bus (decision 011).

Code that appends in this process rings the bell. One lookout finds the entries of other processes: it asks the store
once per interval and scope, however many followers wait.
"""

import asyncio
import logging
from collections.abc import Collection

from sidemirror_server.trace.log import TURN_TOPIC, Log
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.scope import Scope

_log = logging.getLogger(__name__)

# How many entries a look reads to find their groups. Chosen here: if there are more, all waiters of the scope wake.
_PAGE = 200
_PAGE_BYTES = 256 * 1024


class Bell:
    """Wakes waiters when a scope's log may have grown."""

    def __init__(self) -> None:
        self._waiters: dict[Scope, set[Waiter]] = {}
        self._anyone = asyncio.Event()

    def ring(self, scope: Scope, groups: Collection[str] | None = None) -> None:
        """Wakes the scope's waiters for one of `groups` and its waiters for all groups; None wakes all its waiters."""
        for waiter in self._waiters.get(scope, ()):
            if groups is None or waiter.group is None or waiter.group in groups:
                waiter.ring()

    def waiter(self, scope: Scope, group: str | None) -> "Waiter":
        """A new waiter for one group, or for all groups if None. Close it when done."""
        waiter = Waiter(self, scope, group)
        self._waiters.setdefault(scope, set()).add(waiter)
        self._anyone.set()
        return waiter

    def leave(self, waiter: "Waiter") -> None:
        """Removes a waiter."""
        waiters = self._waiters.get(waiter.scope, set())
        waiters.discard(waiter)
        if not waiters:
            self._waiters.pop(waiter.scope, None)

    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that have waiters."""
        return tuple(self._waiters)

    async def anyone(self) -> None:
        """Returns when there is a waiter."""
        while not self._waiters:
            self._anyone.clear()
            await self._anyone.wait()


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


class Lookout:
    """Rings the bell for entries that other processes append."""

    def __init__(self, log: Log, bell: Bell, every_s: float) -> None:
        """`every_s`: the pause between two looks, and so about the longest time that an entry goes unnoticed."""
        self._log = log
        self._bell = bell
        self._every_s = every_s
        self._seen: dict[Scope, int] = {}

    async def run(self) -> None:
        """Looks until cancelled, only while there are waiters. A store that does not answer is asked again."""
        while True:
            await self._bell.anyone()
            scopes = frozenset(self._bell.scopes())
            self._seen = {scope: position for scope, position in self._seen.items() if scope in scopes}
            for scope in scopes:
                await self._look(scope)
            await asyncio.sleep(self._every_s)

    async def _look(self, scope: Scope) -> None:
        try:
            position = await self._log.last_position(scope)
            seen = self._seen.get(scope)
            if seen == position:
                return
            # The first look wakes all waiters, because some may have read the log before its newest entries came.
            self._bell.ring(scope, None if seen is None else await self._grown(scope, seen, position))
            self._seen[scope] = position
        except SidemirrorError as failure:
            _log.debug("look_failed", extra={"reason": type(failure).__name__})

    async def _grown(self, scope: Scope, seen: int, position: int) -> frozenset[str] | None:
        """The groups of the entries after `seen`; None if these exceed a page, or some do not belong to turns."""
        page = await self._log.tail(scope, TURN_TOPIC, None, seen, _PAGE, _PAGE_BYTES)
        return frozenset(entry.group for entry in page) if page and page[-1].position >= position else None
