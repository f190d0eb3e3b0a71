"""Waiting for the log to grow. A follower reads the log and then waits for more: there is no second bus (design
section 5).

Whoever appends in this process rings the bell; what other processes append is found by looking again after a while.
"""

import asyncio


class Bell:
    """Tells those who wait that the log may have grown."""

    def __init__(self) -> None:
        self._waiters: set[Waiter] = set()

    def ring(self) -> None:
        """Wakes everyone who waits."""
        for waiter in self._waiters:
            waiter.wake()

    def waiter(self, look_again_s: float) -> "Waiter":
        """Someone who waits for the bell, or for `look_again_s`. Close it when done."""
        waiter = Waiter(self._waiters, look_again_s)
        self._waiters.add(waiter)
        return waiter


class Waiter:
    """Clear, look, wait: a ring between looking and waiting is not missed."""

    def __init__(self, waiters: "set[Waiter]", look_again_s: float) -> None:
        self._waiters = waiters
        self._look_again_s = look_again_s
        self._woken = asyncio.Event()

    def clear(self) -> None:
        """Forgets the rings so far."""
        self._woken.clear()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self) -> None:
        """Returns at the first ring since `clear`, or after a while."""
        timer = asyncio.get_running_loop().call_later(self._look_again_s, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            timer.cancel()

    def close(self) -> None:
        self._waiters.discard(self)
