"""Ports of the store with a fault before them: what is asked fails, hangs or is slow, on command."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

from sidemirror_server.assembly.stores import PORTS, Stores
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


def put_before(port: object, switch: Switch) -> None:
    """From now on each verb of the port reaches the store only as the switch allows."""
    for verb, ask in inspect.getmembers(port, inspect.iscoroutinefunction):
        if not verb.startswith("_"):
            setattr(port, verb, _switched(switch, ask, write=writes(type(port), verb)))


def _switched(switch: Switch, ask: Callable[..., Awaitable[Any]], *, write: bool) -> Callable[..., Awaitable[Any]]:
    async def reach_and_ask(*given: Any, **named: Any) -> Any:
        await switch.reach(write=write)
        return await ask(*given, **named)

    return reach_and_ask


def writes(adapter: type, verb: str) -> bool:
    """Whether a verb of an embedded adapter changes something: it, or a method that it calls, asks the database to."""
    names = set(getattr(adapter, verb).__code__.co_names)
    called = {name for name in names if name.startswith("_") and inspect.isfunction(getattr(adapter, name, None))}
    return bool(names & {"write", "write_alike"}) or any(writes(adapter, name) for name in called)


def behind(switch: Switch, opening: Callable[..., Awaitable[Stores]]) -> Callable[..., Awaitable[Stores]]:
    """An opening of stores, as assembly calls it, with the switch before each port of what it opens."""

    async def opened(*given: Any) -> Stores:
        stores = await opening(*given)
        for name in PORTS:
            put_before(getattr(stores, name), switch)
        return stores

    return opened
