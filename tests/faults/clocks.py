"""A clock that stands still until it is moved."""


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
