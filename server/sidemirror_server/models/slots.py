"""A model's slots, shared fairly: projects that wait are served in turn, however many questions one of them asks."""

import asyncio
from collections import OrderedDict, deque

from sidemirror_server.vocabulary.scope import Scope


class FairSlots:
    """Calls to one model at once. Use it from one event loop."""

    def __init__(self, count: int) -> None:
        self._free = count
        # By project, those that wait, the project whose turn is next first.
        self._waiting: OrderedDict[Scope, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, scope: Scope, within_s: float) -> None:
        """Takes a slot for this project's call, until `give_back`. Raises TimeoutError when none becomes free within so
        many seconds."""
        async with asyncio.timeout(within_s):
            await self._take(scope)

    def give_back(self) -> None:
        """Hands the slot to the next project, or leaves it free."""
        while self._waiting:
            scope, waiting = self._waiting.popitem(last=False)
            given = waiting.popleft()
            if waiting:
                self._waiting[scope] = waiting
            if not given.done():
                given.set_result(None)
                return
        self._free += 1

    async def _take(self, scope: Scope) -> None:
        if self._free:
            self._free -= 1
            return
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(scope, deque()).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self.give_back()  # the slot came together with the cancellation
            raise
