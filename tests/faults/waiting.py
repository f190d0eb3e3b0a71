"""Waiting for a condition, with a deadline."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(condition: Callable[[], bool], within_s: float = 60.0, every_s: float = 0.005) -> float:
    """Returns how many seconds it took until `condition` held; fails when it does not hold in time."""
    began_s = time.monotonic()
    while not condition():
        assert time.monotonic() - began_s < within_s, f"not within {within_s} s"
        await asyncio.sleep(every_s)
    return time.monotonic() - began_s


async def until_found(look: Callable[[], Awaitable[T]], holds: Callable[[T], object] = bool) -> T:
    """What `look` finds once `holds` is true of it; fails after a minute."""
    async with asyncio.timeout(60):
        while True:
            found = await look()
            if holds(found):
                return found
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def step(what: str, within_s: float) -> AsyncIterator[None]:
    """One step of a long test: it fails with its name when it takes longer, instead of with the whole test's limit."""
    try:
        async with asyncio.timeout(within_s):
            yield
    except TimeoutError as error:
        raise AssertionError(f"{what}: not within {within_s:g} s") from error
