"""Says in the log when the disk is slow: how long the commits of the embedded store take, one line an outage.

`GroupWriter` counts each commit, on the event loop.
"""

import logging
from collections import deque

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.outage import Outage

_log = logging.getLogger(__name__)

# From where on a disk is slow, in the mean of some commits; `doctor` times the disk by it too. Chosen here: a call
# waits for the commit before its own, for its own, and now and then for the pages of the WAL, which makes the quarter
# of a second of SidemirrorStoreSlow.
SLOW_S = 0.1
# One commit of this length is told by itself. Chosen here: all agents wait meanwhile, and no healthy disk does it.
_STALL_S = 1.0
# How long commits are counted before they are looked at, and how few of them have no mean.
_LOOK_S, _COMMITS = 10.0, 5
# For how long GetServerInfo tells of a slow commit. Chosen here: stalls that come again come within a minute.
_LATELY_S = 60.0


class DiskPace:
    """The account of one store."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._outage = Outage(_log, "disk_slow", "disk_not_slow", clock)
        self._began_s = clock.monotonic_s()
        self._commits, self._took_s, self._longest_s = 0, 0.0, 0.0
        # When the disk was slow, and the longest commit then: there are six looks in a minute at most.
        self._slow: deque[tuple[float, float]] = deque(maxlen=6)

    def slowest_s(self) -> float:
        """The longest commit while the disk was slow within the last minute; 0.0 if it was not."""
        since_s = self._clock.monotonic_s() - _LATELY_S
        present_s = self._longest_s if self._longest_s >= _STALL_S else 0.0
        return max([present_s, *(longest_s for at_s, longest_s in self._slow if at_s > since_s)])

    def took(self, seconds: float) -> None:
        """Counts a commit, and how long the disk took for it."""
        self._commits += 1
        self._took_s += seconds
        self._longest_s = max(self._longest_s, seconds)
        now_s = self._clock.monotonic_s()
        if now_s - self._began_s >= _LOOK_S:
            self._look()
            self._began_s, self._commits, self._took_s, self._longest_s = now_s, 0, 0.0, 0.0

    def _look(self) -> None:
        mean_s = self._took_s / self._commits
        if self._longest_s >= _STALL_S or (self._commits >= _COMMITS and mean_s >= SLOW_S):
            told = {"mean_s": round(mean_s, 3), "longest_s": round(self._longest_s, 3), "commits": self._commits}
            self._outage.failed(told)
            self._slow.append((self._clock.monotonic_s(), self._longest_s))
        else:
            self._outage.worked()
