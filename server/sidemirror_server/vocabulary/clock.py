"""Clocks are arguments: rooms get a clock, stores get `now_us`. Only this module reads the machine's clocks."""

import time
from pathlib import Path
from typing import Protocol


def cpu_s() -> float:
    """Seconds for which this process has computed so far, in all of its threads."""
    return time.process_time()


def thread_use_s() -> tuple[float, float]:
    """Seconds for which the calling thread has computed so far, and for which it waited for a CPU to compute on, as on
    a full node or at a limit on CPU: 0 where the system does not tell it. Linux does (schedstat)."""
    try:
        computed_ns, waited_ns, _ = Path("/proc/thread-self/schedstat").read_text().split()
    except (OSError, ValueError):
        return time.thread_time(), 0.0
    return int(computed_ns) / 1e9, int(waited_ns) / 1e9


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
