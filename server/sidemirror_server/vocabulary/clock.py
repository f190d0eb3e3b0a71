"""Clocks are arguments: rooms get a clock, stores get `now_us`. Only this module reads the machine's clocks."""

import time
from typing import Protocol


def cpu_s() -> float:
    """Seconds for which this process has computed so far, in all of its threads."""
    return time.process_time()


def thread_cpu_s() -> float:
    """Seconds for which the calling thread has computed so far."""
    return time.thread_time()


class Clock(Protocol):
    """Wall time for records, monotonic time for waits."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z."""
        ...

    def monotonic_s(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    # Not wrapped in a method, because each call reads this clock several times.
    monotonic_s = staticmethod(time.monotonic)
