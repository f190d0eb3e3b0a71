"""Waiting for the log to grow. A follower reads the log and then waits for more: there is no second bus (design
section 5).

Whoever appends in this process rings the bell. What other processes append is found by one lookout for all followers of
a scope, so that a store which many processes share is asked once in a while, however many wait.
"""

import asyncio
import logging
from collections.abc import Collection

from sidemirror_server.trace.log import TURN_TOPIC, Log
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.scope import Scope

_log = logging.getLogger(__name__)

# What a look reads to find out for whom it is. Chosen here: more than that is worth waking everyone.
_PAGE = 200
_PAGE_BYTES = 256 * 1024


class Bell:
    """Tells those who wait that a scope's log may have grown."""

    def __init__(self) -> None:
        self._waiters: dict[Scope, set[Waiter]] = {}
        self._anyone = asyncio.Event()

    def ring(self, scope: Scope, groups: Collection[str] | None = None) -> None:
        """Wakes those who wait for this scope as a whole, and those who wait for one of these groups; None: for any."""
        for waiter in self._waiters.get(scope, ()):
            if groups is None or waiter.group is None or waiter.group in groups:
                waiter.ring()

    def waiter(self, scope: Scope, group: str | None) -> "Waiter":
        """Someone who waits for the bell, for one group or for all. Close it when done."""
        waiter = Waiter(self, scope, group)
        self._waiters.setdefault(scope, set()).add(waiter)
        self._anyone.set()
        return waiter

    def leave(self, waiter: "Waiter") -> None:
        """Nobody waits there any more."""
        waiters = self._waiters.get(waiter.scope, set())
        waiters.discard(waiter)
        if not waiters:
            self._waiters.pop(waiter.scope, None)

    def scopes(self) -> tuple[Scope, ...]:
        """Those that somebody waits for."""
        return tuple(self._waiters)

    async def anyone(self) -> None:
        """Returns when somebody waits."""
        while not self._waiters:
            self._anyone.clear()
            await self._anyone.wait()


class Waiter:
    """Clear, look, wait: a ring between looking and waiting is not missed."""

    def __init__(self, bell: Bell, scope: Scope, group: str | None) -> None:
        self.scope = scope
        self.group = group
        self._bell = bell
        self._rung = True  # before the first look nobody knows
        self._woken = asyncio.Event()

    def clear(self) -> bool:
        """Forgets what has woken it so far; whether the log may have grown since the last time."""
        rung, self._rung = self._rung, False
        self._woken.clear()
        return rung

    def ring(self) -> None:
        """The log may have grown."""
        self._rung = True
        self._woken.set()

    def wake(self) -> None:
        """There is something to do, and it is not in the log."""
        self._woken.set()

    async def wait(self) -> None:
        """Returns at the first ring or wake since `clear`."""
        await self._woken.wait()

    def close(self) -> None:
        self._bell.leave(self)


class Lookout:
    """Rings for what other processes append."""

    def __init__(self, log: Log, bell: Bell, every_s: float) -> None:
        """`every_s`: how long an entry may go unnoticed, besides the time a look takes."""
        self._log = log
        self._bell = bell
        self._every_s = every_s
        self._seen: dict[Scope, int] = {}

    async def run(self) -> None:
        """Looks until cancelled; not at all while nobody waits. A store that does not answer is asked again."""
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
            # At the first look nobody knows who has looked before what it finds.
            self._bell.ring(scope, None if seen is None else await self._grown(scope, seen, position))
            self._seen[scope] = position
        except SidemirrorError as failure:
            _log.debug("look_failed", extra={"reason": type(failure).__name__})

    async def _grown(self, scope: Scope, seen: int, position: int) -> frozenset[str] | None:
        """The groups of what came after `seen`; None when that is more than a page, or not all of turns."""
        page = await self._log.tail(scope, TURN_TOPIC, None, seen, _PAGE, _PAGE_BYTES)
        return frozenset(entry.group for entry in page) if page and page[-1].position >= position else None
