"""A circuit breaker: a provider that keeps failing gets no calls for a while, then one call as a test.

Written here, because no maintained library was found (decision 023).
"""

from collections.abc import Callable

from sidemirror_server.vocabulary.clock import Clock

# Chosen here: more than one question's three attempts, so that a single question does not stop all others.
FAILURES = 5
# Chosen here: the time limit of the longest model call, which an agent would otherwise lose on a failing call.
REST_S = 30.0


class Breaker:
    """Counts failures in a row. Closed: all calls pass. Open: none pass for `rest_s`. Half open: one call decides."""

    def __init__(
        self,
        clock: Clock,
        failures: int = FAILURES,
        rest_s: float = REST_S,
        recovered: Callable[[], None] = lambda: None,
    ) -> None:
        """`recovered`: called when it closes again."""
        self._clock = clock
        self._recovered = recovered
        self._most = failures
        self._rest_s = rest_s
        self._failed = 0
        self._why = ""
        self._opens_at_s: float | None = None
        self._probing = False

    @property
    def state(self) -> str:
        """closed, open or half_open."""
        if self._opens_at_s is None:
            return "closed"
        return "open" if self._clock.monotonic_s() < self._opens_at_s else "half_open"

    def in_words(self, model: str, wait_s: float) -> str:
        """Why the model is not asked now, with the reason of its last failure."""
        why = f" ({self._why})" if self._why else ""
        return f"{model} failed {self._failed} times in a row{why}: not asked for {wait_s:.0f} s"

    def enter(self) -> float | None:
        """Returns None if a call may go; `leave` must follow. Otherwise returns the seconds until a useful retry."""
        if self._opens_at_s is None:
            return None
        left_s = self._opens_at_s - self._clock.monotonic_s()
        if left_s > 0:
            return left_s
        if self._probing:
            return self._rest_s
        self._probing = True
        return None

    def leave(self, good: bool | None, why: str = "") -> None:
        """Ends a call. `good`: whether the provider did its part; None if the call says nothing about the provider.
        `why`: the reason of a failure, for people."""
        self._probing = False
        if good:
            was_open, self._failed, self._opens_at_s = self._opens_at_s is not None, 0, None
            if was_open:
                self._recovered()
        elif good is False:
            self._failed += 1
            self._why = why
            if self._failed >= self._most:
                self._opens_at_s = self._clock.monotonic_s() + self._rest_s

    def rest_no_more(self) -> None:
        """If it is open, the next call is the test."""
        if self._opens_at_s is not None:
            self._opens_at_s = self._clock.monotonic_s()


class Breakers:
    """Two breakers for one provider, because failures of background work must never stop the calls that agents wait
    for. One project's data may make its background work fail for hours (decision 023)."""

    def __init__(self, clock: Clock) -> None:
        self.background = Breaker(clock)
        # What is back for agents is most likely back for the background, which else would wait for the end of its rest.
        self.waited_for = Breaker(clock, recovered=self.background.rest_no_more)

    def of(self, *, background: bool) -> Breaker:
        """The breaker that a call has to pass. While the agents' breaker is open, it stops background calls too."""
        return self.background if background and self.waited_for.state != "open" else self.waited_for
