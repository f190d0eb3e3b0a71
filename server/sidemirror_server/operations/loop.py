"""Runs the coroutine of a command, on uvloop where it is installed."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# A thread of Python gives way after so long; the loop waits for it at each wake-up. The default is 5 ms, which an
# agent's call would wait several times over beside threads that learn, read spans or search.
GIVE_WAY_S = 0.0005


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs `main` on a new event loop and returns its result."""
    sys.setswitchinterval(GIVE_WAY_S)
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
