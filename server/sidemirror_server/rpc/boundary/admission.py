"""How much the server takes on at once: calls, streams, and requests of a tenant in a second.

What is over a limit is refused before it costs anything, with the limit's name and when to come again.
"""

from collections import OrderedDict

import msgspec

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import LimitReached

# How many tenants' allowances are remembered. Whoever has not called for longest is forgotten, and begins anew with a
# full one. Chosen here: some 100 bytes each.
_TENANTS = 10_000


class CallLimits(msgspec.Struct, frozen=True):
    """By the names of the settings; defaults are there. 0 for `requests_per_second`: no limit."""

    concurrent_calls: int
    open_streams: int
    requests_per_second: float


class Admission:
    """Counts what is being served. `calls` and `streams` are how many there are now."""

    def __init__(self, limits: CallLimits, clock: Clock) -> None:
        self._limits = limits
        self._most = max(1.0, limits.requests_per_second)
        self._clock = clock
        self.calls = 0
        self.streams = 0
        # Of each tenant: how many requests it may make at once, and as of when.
        self._allowances: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def enter_call(self) -> None:
        """A unary call begins; `leave_call` is its end. Raises LimitReached."""
        if self.calls >= self._limits.concurrent_calls:
            raise LimitReached("concurrent_calls", self._limits.concurrent_calls, "calls of this server", passes=True)
        self.calls += 1

    def leave_call(self) -> None:
        self.calls -= 1

    def enter_stream(self) -> None:
        """A stream begins; `leave_stream` is its end. Raises LimitReached."""
        if self.streams >= self._limits.open_streams:
            raise LimitReached("open_streams", self._limits.open_streams, "streams of this server", passes=True)
        self.streams += 1

    def leave_stream(self) -> None:
        self.streams -= 1

    def count_request(self, tenant_id: str) -> None:
        """The tenant asks for something. It may ask for a second's worth at once. Raises LimitReached."""
        rate = self._limits.requests_per_second
        if not rate:
            return
        now_s = self._clock.monotonic_s()
        left, as_of_s = self._allowances.pop(tenant_id, (self._most, now_s))
        left += (now_s - as_of_s) * rate
        if left > self._most:
            left = self._most
        self._allowances[tenant_id] = (left - 1.0 if left >= 1.0 else left, now_s)
        if len(self._allowances) > _TENANTS:
            self._allowances.popitem(last=False)
        if left < 1.0:
            raise LimitReached("requests_per_second", int(rate), f"tenant {tenant_id}", passes=True)
