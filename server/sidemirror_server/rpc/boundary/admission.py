"""Admission control: concurrent calls, open streams, and each tenant's requests per second.

A call over a limit is refused before any work is done for it. The refusal names the limit and when to retry.
"""

from collections import OrderedDict

import msgspec

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import LimitReached

# How many tenants' allowances are kept. The least recently active tenant is evicted and starts again with a full
# allowance. Chosen here: about 100 bytes per tenant.
_TENANTS = 10_000


class CallLimits(msgspec.Struct, frozen=True):
    """The limits, each named like its setting. The settings hold the defaults. `requests_per_second` 0: no limit."""

    concurrent_calls: int
    open_streams: int
    requests_per_second: float


class Admission:
    """Counts the `calls` and `streams` in progress, and limits each tenant's rate by a token bucket."""

    def __init__(self, limits: CallLimits, clock: Clock) -> None:
        self._limits = limits
        self._most = max(1.0, limits.requests_per_second)
        self._clock = clock
        self.calls = 0
        self.streams = 0
        # Tenant → (requests left, the monotonic second of that count).
        self._allowances: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def enter_call(self) -> None:
        """Counts a unary call in, until `leave_call`. Raises LimitReached."""
        if self.calls >= self._limits.concurrent_calls:
            raise LimitReached("concurrent_calls", self._limits.concurrent_calls, "calls of this server", passes=True)
        self.calls += 1

    def leave_call(self) -> None:
        self.calls -= 1

    def enter_stream(self) -> None:
        """Counts a stream in, until `leave_stream`. Raises LimitReached."""
        if self.streams >= self._limits.open_streams:
            raise LimitReached("open_streams", self._limits.open_streams, "streams of this server", passes=True)
        self.streams += 1

    def leave_stream(self) -> None:
        self.streams -= 1

    def count_request(self, tenant_id: str) -> None:
        """Takes one request from the tenant's allowance, which holds at most a second's worth. Raises LimitReached."""
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
