"""Time as an argument: rooms are given a clock, stores are given `now_us`, and nothing else reads one."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is recorded, monotonic time for what is waited for."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z."""
        ...

    def monotonic_s(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    # As it is: it is asked several times in each call.
    monotonic_s = staticmethod(time.monotonic)
