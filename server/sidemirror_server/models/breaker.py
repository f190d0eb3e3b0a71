"""A circuit breaker: a provider that keeps failing is left alone for a while, then tried with one call.

Ours, because no kept library was found (research page libraries-and-integrations, section 1).
"""

from sidemirror_server.vocabulary.clock import Clock

# Chosen here: more than one turn's three attempts, so that a single unlucky question does not stop all the others.
FAILURES = 5
# Chosen here: as long as the longest model call, which is how long a waiting agent would lose to find out itself.
REST_S = 30.0


class Breaker:
    """Counts failures in a row. Closed: all may go. Open: none, for `rest_s`. Half open: one, which decides."""

    def __init__(self, clock: Clock, failures: int = FAILURES, rest_s: float = REST_S) -> None:
        self._clock = clock
        self._most = failures
        self._rest_s = rest_s
        self._failed = 0
        self._opens_at_s: float | None = None
        self._probing = False

    @property
    def state(self) -> str:
        """closed, open or half_open."""
        if self._opens_at_s is None:
            return "closed"
        return "open" if self._clock.monotonic_s() < self._opens_at_s else "half_open"

    @property
    def failed(self) -> int:
        """Failures in a row."""
        return self._failed

    def enter(self) -> float | None:
        """None: a call may go, and `leave` must follow. Else the seconds until it is worth asking again."""
        if self._opens_at_s is None:
            return None
        left_s = self._opens_at_s - self._clock.monotonic_s()
        if left_s > 0:
            return left_s
        if self._probing:
            return self._rest_s
        self._probing = True
        return None

    def leave(self, good: bool | None) -> None:
        """What came of a call: did the provider do its part? None: it says nothing about the provider."""
        self._probing = False
        if good:
            self._failed = 0
            self._opens_at_s = None
        elif good is False:
            self._failed += 1
            if self._failed >= self._most:
                self._opens_at_s = self._clock.monotonic_s() + self._rest_s


class Breakers:
    """Two for one provider: what fails behind the agents' backs never keeps their own calls from it. Background work is
    made of what one project has gathered, and may fail for as long as that is there."""

    def __init__(self, clock: Clock) -> None:
        self.waited_for = Breaker(clock)
        self.background = Breaker(clock)

    def of(self, *, background: bool) -> Breaker:
        """The one that a call has to pass. A provider that fails the agents is left alone by all."""
        return self.background if background and self.waited_for.state != "open" else self.waited_for
