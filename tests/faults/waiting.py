"""Waiting for a condition, with a deadline."""

import asyncio
import time
from collections.abc import Callable


async def until(condition: Callable[[], bool], within_s: float = 60.0, every_s: float = 0.005) -> float:
    """Returns how many seconds it took until `condition` held; fails when it does not hold in time."""
    began_s = time.monotonic()
    while not condition():
        assert time.monotonic() - began_s < within_s, f"not within {within_s} s"
        await asyncio.sleep(every_s)
    return time.monotonic() - began_s
