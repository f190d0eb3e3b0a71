"""Ports of the store with a fault before them: what is asked fails, hangs or is slow, on command."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable


class Fault(Enum):
    NONE = "none"
    # The question gets an error at once.
    AWAY = "away"
    # The question gets no answer until the fault is gone.
    HANGS = "hangs"
    # There is no room for writes; reads go on.
    FULL = "full"


class Switch:
    """The fault that the store has now."""

    def __init__(self) -> None:
        self.slow_s = 0.0
        self.writes = 0
        # Questions that are waiting for an answer, those that only look.
        self.readers = 0
        self._fault = Fault.NONE
        self._changed = asyncio.Event()

    def turn(self, fault: Fault) -> None:
        self._fault = fault
        self._changed.set()
        self._changed = asyncio.Event()

    async def reach(self, *, write: bool = False) -> None:
        """Returns when the store may be asked; raises what it answers instead."""
        self.writes += write
        if self.slow_s:
            await asyncio.sleep(self.slow_s)
        self.readers += not write
        try:
            while self._fault is Fault.HANGS:
                await self._changed.wait()
        finally:
            self.readers -= not write
        if self._fault is Fault.AWAY:
            raise StoreUnavailable(store="test", reason="told so")
        if self._fault is Fault.FULL and write:
            raise StoreFull(store="test", reason="told so")


class Faulty:
    """Any port of the store behind a switch: each verb reaches the store only as the switch allows."""

    def __init__(self, port: object, switch: Switch) -> None:
        self._port = port
        self._switch = switch

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        ask = getattr(self._port, verb)

        async def reach_and_ask(*given: Any, **named: Any) -> Any:
            await self._switch.reach(write=verb in _WRITES)
            return await ask(*given, **named)

        return reach_and_ask


# The verbs of the ports that change something.
_WRITES = {"append", "create", "update", "delete", "remember", "forget"}


def behind(switch: Switch, make: Callable[..., object]) -> Callable[..., Any]:
    """A maker of a port's adapter, as assembly calls it, with the switch before what it makes."""
    return lambda *given: Faulty(make(*given), switch)
