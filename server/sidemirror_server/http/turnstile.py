"""Lets what HTTP connections send through one piece at a time, and only so many a second.

HTTP/1.1 is read in Python, in the loop that serves gRPC. A caller of gRPC waits for one piece at most each time that it
needs the loop, however many connections there are and whether or not they show a token.
"""

import asyncio
from collections import deque
from collections.abc import Callable

# Pieces that may pass at once after a quiet time, each in a turn of the loop of its own. Chosen here: a page with all
# that it loads.
_BURST = 40.0


class Turnstile:
    """One for all connections of a listener."""

    def __init__(self, per_second: float) -> None:
        """`per_second`: how many pieces pass. A piece is a request, or some 64 KiB of a longer one."""
        self._per_second = per_second
        self._left = _BURST
        self._as_of_s = 0.0
        self._waiting: deque[Callable[[], None]] = deque()
        self._turns = False

    def enter(self, read: Callable[[], None]) -> bool:
        """Calls `read`, now if it is its turn, else later in order. Returns whether it was called now."""
        if self._turns or not self._allows():
            self._waiting.append(read)
            if not self._turns:
                self._turn_later()
            return False
        self._turns = True
        asyncio.get_running_loop().call_soon(self._turn)
        read()
        return True

    def _allows(self) -> bool:
        """Takes one from the allowance; False if there is none."""
        now_s = asyncio.get_running_loop().time()
        self._left = min(_BURST, self._left + (now_s - self._as_of_s) * self._per_second)
        self._as_of_s = now_s
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def _turn(self) -> None:
        """Lets the next one through, in a turn of the loop of its own."""
        if not self._waiting:
            self._turns = False
        elif self._allows():
            asyncio.get_running_loop().call_soon(self._turn)
            self._waiting.popleft()()
        else:
            self._turn_later()

    def _turn_later(self) -> None:
        self._turns = True
        asyncio.get_running_loop().call_later((1.0 - self._left) / self._per_second, self._turn)
