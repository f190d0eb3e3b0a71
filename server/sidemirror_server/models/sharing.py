"""Joins equal calls: callers that ask the same question at the same time share one call and its answer."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from sidemirror_server.vocabulary.clock import Clock

T = TypeVar("T")

# A caller joins a call in flight only if the caller's deadline is at most this much later than the call's.
_SAME_DEADLINE_S = 1.0


class _Flight:
    def __init__(self, task: asyncio.Task[Any], ends_s: float) -> None:
        self.task = task
        self.ends_s = ends_s
        self.waiters = 0


class SharedCalls:
    """Joins equal calls. A cancelled caller ends only its wait; the last waiter to leave also cancels the call."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._flights: dict[Hashable, _Flight] = {}

    async def answer(self, key: Hashable, ends_s: float, call: Callable[[], Awaitable[T]]) -> T:
        """Returns or raises the result of `call`, or of a call in flight with the same key. Raises TimeoutError at
        `ends_s` of the monotonic clock."""
        flight = self._flights.get(key)
        if flight is None or flight.ends_s < ends_s - _SAME_DEADLINE_S:
            flight = _Flight(asyncio.ensure_future(_run(call)), ends_s)
            self._flights[key] = flight
            flight.task.add_done_callback(partial(self._land, key, flight))
        flight.waiters += 1
        try:
            async with asyncio.timeout(max(0.0, ends_s - self._clock.monotonic_s())):
                answered: T = await asyncio.shield(flight.task)
                return answered
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                flight.task.cancel()
                self._land(key, flight)

    async def close(self) -> None:
        """Cancels the calls in flight."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _land(self, key: Hashable, flight: _Flight, _: object = None) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task.done() and not flight.task.cancelled():
            # Reads the exception, so that asyncio does not report it as never retrieved if all callers have left.
            flight.task.exception()


async def _run(call: Callable[[], Awaitable[T]]) -> T:
    return await call()
