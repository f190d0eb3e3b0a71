"""Whether a model is silent while it is asked: callers who hang up before a time limit tell of no failure."""

from sidemirror_server.vocabulary.clock import Clock

# From so much waiting on without any answer a model counts as silent. Chosen here: longer than models take for an
# answer to which an agent waits, and two callers who hang up after 5 s.
SILENT_S = 10.0


class ModelSilence:
    """For how long calls have waited for a model since it answered last. Calls that wait side by side count once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting = 0
        # When the time that is not in `_waited_s` yet began, while a call waits.
        self._since_s = 0.0
        self._waited_s = 0.0

    def sent(self) -> None:
        """A call begins to wait; `ended` must follow."""
        if not self._waiting:
            self._since_s = self._clock.monotonic_s()
        self._waiting += 1

    def ended(self, *, answered: bool) -> None:
        """A call ends."""
        self._waited_s = 0.0 if answered else self._until_now_s()
        self._since_s = self._clock.monotonic_s()
        self._waiting -= 1

    def lasts(self) -> bool:
        """Whether the model is silent now."""
        return self._until_now_s() >= SILENT_S

    def _until_now_s(self) -> float:
        return self._waited_s + (self._clock.monotonic_s() - self._since_s if self._waiting else 0.0)
