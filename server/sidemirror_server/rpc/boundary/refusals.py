"""What the log says of calls that are refused: a line each and, when there are many, only how many there were.

A stranger costs the server a call each time and must not cost it a disk as well; and the lines of one that floods must
not hide those of another.
"""

import asyncio
import logging
from collections import Counter

from sidemirror_server.vocabulary.clock import Clock

_log = logging.getLogger(__name__)

# Lines in a period: of one peer and token, and in all. Chosen here: enough to see who it is, what is tried and whether
# it goes on; at some 300 bytes a line 60 KiB in a minute at most.
PERIOD_S = 60.0
LINES_OF_ONE = 20
LINES = 200
# Of so many the lines are counted apart; who comes later in a period shares one count. Chosen here: some 100 KiB.
_COUNTED = 1_000
# Who is named in the line that says how many more there were: those with the most.
_NAMED = 10
_OTHERS = "others"


class Refusals:
    """Writes the lines, and counts what it leaves out. For the loop's thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of_one: Counter[tuple[str, str]] = Counter()
        self._left_out: Counter[str] = Counter()
        self._lines = 0
        self._began_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, peer: str, *, token: str = "", **facts: str) -> None:
        """A call of `peer` (as gRPC names it) was refused. `token`: the name of the one that it showed, where it is
        known; `facts` are in the line too."""
        if self._timer is None:
            self._began_s = self._clock.monotonic_s()
            self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self.close)
        host = host_of(peer)
        key = (host, token)
        if key not in self._of_one and len(self._of_one) >= _COUNTED:
            key = (_OTHERS, "")
        self._of_one[key] += 1
        if self._of_one[key] > LINES_OF_ONE or self._lines >= LINES:
            self._left_out[key[0]] += 1
            return
        self._lines += 1
        _log.warning("call_refused", extra={"peer": peer, "token": token, **facts})

    def close(self) -> None:
        """The period ends: says how many there were that left no line, and by whom. Another one begins with the next
        refusal."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._left_out:
            _log.warning(
                "more_calls_refused",
                extra={
                    "count": self._left_out.total(),
                    "seconds": round(self._clock.monotonic_s() - self._began_s, 1),
                    "peers": dict(self._left_out.most_common(_NAMED)),
                },
            )
        self._of_one.clear()
        self._left_out.clear()
        self._lines = 0


def host_of(peer: str) -> str:
    """The peer without its port, which is another one for each connection: `ipv4:10.0.0.7`, `ipv6:%5B::1%5D`, or a
    Unix socket as it is."""
    if peer.startswith(("ipv4:", "ipv6:")):
        return peer.rpartition(":")[0]
    return peer
