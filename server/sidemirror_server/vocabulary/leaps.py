"""Whether this machine's clock leaps: moves by something else than the time that passed.

For an embedded store, which goes by this clock alone; of a shared one `store_clock.py` compares it with the store's.
Called again and again by `assembly/service_health.py`.
"""

import datetime
import logging

from sidemirror_server.vocabulary.clock import Clock

_log = logging.getLogger(__name__)

# A clock that goes back by less is being kept in step. Chosen here: where the alert on a clock begins, too.
_BACK_US = 5_000_000
# One that goes ahead by less may be a machine's that was suspended, for which the monotonic clock stands still. Chosen
# here: the day from which a store's clock is in doubt.
_AHEAD_US = 24 * 3600 * 1_000_000
# Two clocks between which more time passed cannot be compared. Chosen here: half of the shortest leap is far more.
_LONGEST_S = 0.5


class Leaps:
    """Logs a leap, and that the clock is well again once it has made up for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # The clock minus the monotonic clock, at the last look.
        self._apart_us = self._read()
        # What the leaps so far come to, less what was made up for since; 0 while the clock is well.
        self._ahead_us = 0
        # Whether no step of seconds was seen yet: a sleep looks like one, and a clock may be set right by one.
        self._was_right = True
        self._since_s = 0.0

    def look(self) -> None:
        """Compares the clock with what it was at the last look."""
        apart_us = self._read()
        if apart_us is None or self._apart_us is None:
            self._apart_us = self._apart_us if apart_us is None else apart_us
            return
        step_us, self._apart_us = apart_us - self._apart_us, apart_us
        ahead_us = self._ahead_us + step_us
        if self._ahead_us and abs(ahead_us) < _BACK_US:
            _log.info("own_clock_well_again", extra={"lasted_s": round(self._clock.monotonic_s() - self._since_s, 1)})
            self._ahead_us = 0
        elif self._ahead_us and abs(step_us) < _BACK_US:
            # It may be led back slowly.
            self._ahead_us = ahead_us
        elif not -_BACK_US < step_us < _AHEAD_US:
            self._since_s = self._since_s if self._ahead_us else self._clock.monotonic_s()
            self._ahead_us = ahead_us
            told: dict[str, object] = {"leapt_s": round(step_us / 1e6, 1), "ahead_s": round(ahead_us / 1e6, 1)}
            if self._was_right:
                expected = datetime.datetime.fromtimestamp((self._clock.now_us() - ahead_us) / 1e6, datetime.UTC)
                told["expected"] = f"{expected:%Y-%m-%dT%H:%M:%SZ}"
            _log.warning("own_clock_leapt", extra=told)
        self._was_right = self._was_right and abs(step_us) < _BACK_US

    def _read(self) -> int | None:
        """None if the process stood still meanwhile."""
        before_s = self._clock.monotonic_s()
        now_us = self._clock.now_us()
        return now_us - round(before_s * 1e6) if self._clock.monotonic_s() - before_s < _LONGEST_S else None
