"""One line in the log for something that fails again and again, and one when it works again."""

import logging
from collections.abc import Mapping

from sidemirror_server.vocabulary.clock import Clock

# What fails and works by turns is told of this often at most. Chosen here: a minute is what an alert waits for.
AGAIN_S = 60.0
_NO_FACTS: Mapping[str, object] = {}


class Outage:
    """Logs the first failure as a warning, and the first success after it. Failures in between are counted, and told of
    only if they are news.

    What fails now and then is told of once in `AGAIN_S`; the line says how many failures went untold (`untold`).
    """

    def __init__(self, log: logging.Logger, event: str, over: str, clock: Clock) -> None:
        """`event`: what the line of a failure is called; `over`: what the line after it is called."""
        self._log = log
        self._event = event
        self._over = over
        self._clock = clock
        # When a line was written last; None before the first one.
        self._told_s: float | None = None
        self._began_s = 0.0
        self._lasts = False
        self._failures, self._untold = 0, 0

    def failed(self, facts: Mapping[str, object], level: int = logging.WARNING, *, is_news: bool = False) -> bool:
        """It failed once more. `facts` become fields of the line. `is_news`: they are told though it lasts. Returns
        whether it was told."""
        now_s = self._clock.monotonic_s()
        self._failures += 1
        if not self._lasts:
            self._began_s, self._failures = now_s, 1
        if (self._lasts and not is_news) or (self._told_s is not None and now_s - self._told_s < AGAIN_S):
            self._untold += 1
            return False
        untold = {"untold": self._untold} if self._untold else {}
        self._log.log(level, self._event, extra={**facts, **untold})
        self._lasts, self._told_s, self._untold = True, now_s, 0
        return True

    def worked(self, facts: Mapping[str, object] = _NO_FACTS) -> None:
        """It worked. Costs nothing while nothing fails."""
        if not self._lasts:
            return
        lasted_s = round(self._clock.monotonic_s() - self._began_s, 1)
        self._log.info(self._over, extra={**facts, "failures": self._failures, "lasted_s": lasted_s})
        self._lasts, self._failures, self._untold = False, 0, 0
