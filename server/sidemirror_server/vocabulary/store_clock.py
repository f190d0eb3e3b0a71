"""The clock that a store's records go by. Made by the store, handed to whoever decides something that others see too.

Several sidecars that share a database must agree on what is due, over or old, whatever their machines' clocks say: so
they all go by the database's. An embedded store has nobody to agree with, and goes by this machine's.
"""

import logging

from sidemirror_server.vocabulary.clock import Clock

_log = logging.getLogger(__name__)

# How often the database is asked for its time, while it is used. Chosen here: two clocks that are not kept in step
# drift apart by some milliseconds in that time.
_MEASURE_EVERY_S = 60.0
# An answer that took longer says too little about the time; the next one comes soon. Chosen here: half of what is told.
_LONGEST_S = 0.5
# A difference is told when it has changed by so much. Chosen here: less decides nothing.
_TOLD_US = 1_000_000
_DAY_US = 24 * 3600 * 1_000_000


class StoreClock:
    """A `Clock` that goes by a store's time: by what it was when it was measured last, and what has passed since on the
    monotonic clock. Until it was measured once, and where it never is, its time is this machine's.

    A database's time that has moved a day more, or less, than the time that passed is not followed, unless this
    machine's clock has moved with it, as it does when a machine was suspended. Either way `doubt` says so until the
    process ends: a person has to look, and to restart it.
    """

    def __init__(self, own: Clock) -> None:
        self._own = own
        # The store's time, and this process's monotonic time at that moment: as measured first, and last.
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] | None = None
        self._leapt_us = 0
        # How far this machine's clock is ahead: now, and when the store's time was followed last.
        self._ahead_us = 0
        self._followed_ahead_us = 0
        self._told_us = 0

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z, by the store."""
        return self._own.now_us() if self._last is None else self._since(self._last, self._own.monotonic_s())

    def monotonic_s(self) -> float:
        """This machine's: seconds from an arbitrary start; never goes back."""
        return self._own.monotonic_s()

    @property
    def is_due(self) -> bool:
        """Whether the store's time should be measured now."""
        return self._last is None or self._own.monotonic_s() - self._last[1] >= _MEASURE_EVERY_S

    def measured(self, theirs_us: int, asked_s: float) -> None:
        """The store says that it is `theirs_us` now; it was asked at `asked_s` on the monotonic clock."""
        answered_s = self._own.monotonic_s()
        if self._last is not None and answered_s - asked_s > _LONGEST_S:
            return
        at_s = (asked_s + answered_s) / 2
        self._ahead_us = self._own.now_us() - round((answered_s - at_s) * 1e6) - theirs_us
        if self._first is None or self._last is None:
            self._first = self._last = (theirs_us, at_s)
            self._followed_ahead_us = self._ahead_us
        leapt_us = theirs_us - self._since(self._first, at_s)
        if abs(leapt_us) >= _DAY_US and not self._leapt_us:
            self._leapt_us = leapt_us
            _log.error("database_clock_leapt", extra={"leapt_s": round(leapt_us / 1e6, 1)})
        is_followed = abs(leapt_us) < _DAY_US or abs(self._ahead_us - self._followed_ahead_us) < _DAY_US
        if is_followed:
            self._followed_ahead_us = self._ahead_us
        self._last = (theirs_us if is_followed else self._since(self._last, at_s), at_s)
        if abs(self._ahead_us - self._told_us) >= _TOLD_US:
            self._told_us = self._ahead_us
            level = logging.WARNING if abs(self._ahead_us) >= _TOLD_US else logging.INFO
            _log.log(level, "clock_differs_from_database", extra={"ahead_s": round(self._ahead_us / 1e6, 1)})

    @property
    def is_measured(self) -> bool:
        """Whether the store has said what time it is."""
        return self._last is not None

    @property
    def ahead_us(self) -> int:
        """How far this machine's clock is ahead of the store's; negative when it is behind."""
        return self._ahead_us

    @property
    def doubt(self) -> str:
        """Why nothing may be removed by this clock; empty when it may."""
        if self._leapt_us:
            days = self._leapt_us / _DAY_US
            return (
                f"the database's clock has moved by {days:+,.1f} days beside the time that passed: set it, and restart"
            )
        if abs(self._ahead_us) >= _DAY_US:
            days = self._ahead_us / _DAY_US
            return f"this machine's clock is {days:+,.1f} days from the database's: set the one that is wrong"
        return ""

    @staticmethod
    def _since(measured: tuple[int, float], at_s: float) -> int:
        return measured[0] + round((at_s - measured[1]) * 1e6)
