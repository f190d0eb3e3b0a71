"""A clock that stands still until it is moved, and one that is wrong."""

from sidemirror_server.models.ledger import US_PER_DAY
from sidemirror_server.vocabulary.clock import SystemClock


class SetClock:
    """Wall and monotonic time, moved together or apart."""

    def __init__(self, us: int = 1_800_000_000_000_000) -> None:
        self.us = us
        self.s = 1_000.0

    def now_us(self) -> int:
        return self.us

    def monotonic_s(self) -> float:
        return self.s

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self.us += int(seconds * 1e6)
        self.s += seconds


class Shifted(SystemClock):
    """A machine whose clock is wrong."""

    def __init__(self, days: int) -> None:
        self._us = days * US_PER_DAY

    def now_us(self) -> int:
        return super().now_us() + self._us


class Moved(SystemClock):
    """The machine's clock, which can be set forward."""

    def __init__(self) -> None:
        self._us = 0

    def now_us(self) -> int:
        return super().now_us() + self._us

    def advance(self, seconds: float) -> None:
        self._us += int(seconds * 1e6)
