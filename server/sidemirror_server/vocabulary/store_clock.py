"""The clock for a store's records, made by the store. It is for decisions that several sidecars share.

Sidecars that share a database must agree on which records are due, expired or old, even if their machines' clocks
differ. They therefore use the database's clock. An embedded store uses this machine's clock.
"""

import logging

from sidemirror_server.vocabulary.clock import Clock

_log = logging.getLogger(__name__)

# Seconds between two measurements of the database's time, while it is used. Chosen here: unsynchronised clocks drift
# apart by some milliseconds in that time.
_MEASURE_EVERY_S = 60.0
# A slower answer is too inaccurate: it is ignored, and the next comes soon. Chosen here: half of `_TOLD_US`.
_LONGEST_S = 0.5
# A change of the clocks' difference is logged from this size on. Chosen here: a smaller change affects no decision.
_TOLD_US = 1_000_000
_DAY_US = 24 * 3600 * 1_000_000


class StoreClock:
    """A `Clock` of a store's time: the last measured time plus the monotonic time since then. Before the first
    measurement, it is this machine's time.

    A measurement that differs by a day or more from the monotonic clock is ignored, unless this machine's clock has
    moved with it, as after a suspend. Either way `doubt` reports it until the process ends: a person has to check the
    clock and restart.
    """

    def __init__(self, own: Clock) -> None:
        self._own = own
        # The store's time and this process's monotonic time at the first and at the last measurement.
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] | None = None
        self._leapt_us = 0
        # This machine's clock minus the store's: now, and at the last accepted measurement.
        self._ahead_us = 0
        self._followed_ahead_us = 0
        self._told_us = 0
        # On the monotonic clock; None while they agree.
        self._differs_since_s: float | None = None

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z, by the store's clock."""
        return self._own.now_us() if self._last is None else self._since(self._last, self._own.monotonic_s())

    def monotonic_s(self) -> float:
        """This machine's monotonic clock: seconds from an arbitrary start."""
        return self._own.monotonic_s()

    @property
    def is_due(self) -> bool:
        """Whether a measurement is due."""
        return self._last is None or self._own.monotonic_s() - self._last[1] >= _MEASURE_EVERY_S

    def measured(self, theirs_us: int, asked_s: float) -> None:
        """Takes a measurement: the store's time `theirs_us`, requested at `asked_s` on the monotonic clock."""
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
            self._tell(answered_s)

    def _tell(self, now_s: float) -> None:
        """Logs that the two clocks differ by something else than before, and when they do not any more."""
        self._told_us = self._ahead_us
        ahead = {"ahead_s": round(self._ahead_us / 1e6, 1)}
        if abs(self._ahead_us) >= _TOLD_US:
            self._differs_since_s = now_s if self._differs_since_s is None else self._differs_since_s
            _log.warning("clock_differs_from_database", extra=ahead)
        elif self._differs_since_s is not None:
            lasted_s = round(now_s - self._differs_since_s, 1)
            self._differs_since_s = None
            _log.info("clock_agrees_with_database", extra={**ahead, "lasted_s": lasted_s})

    @property
    def is_measured(self) -> bool:
        """Whether the store's time has been measured."""
        return self._last is not None

    @property
    def ahead_us(self) -> int:
        """This machine's clock minus the store's; negative if it is behind."""
        return self._ahead_us

    @property
    def doubt(self) -> str:
        """The reason why no records may be removed by this clock; empty if they may be."""
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
