"""What a client could not deliver."""

import threading
from dataclasses import dataclass

# Turns that are named. Chosen here: as many as may be open; of more the counts are enough.
_MOST_NAMED = 10_000


@dataclass(frozen=True)
class Undelivered:
    """What a client had not delivered when it was closed: how many events, outcomes and goals, and the ids of the turns
    that they belong to. False when it was nothing."""

    events: int = 0
    outcomes: int = 0
    goals: int = 0
    turns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.outcomes or self.goals)


class Losses:
    """Counts what is dropped, of all turns of a client, on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events = self._outcomes = self._goals = 0
        self._turns: dict[str, None] = {}

    def renew_lock(self) -> None:
        """In a child after a fork."""
        self._lock = threading.Lock()

    def add(self, turn_id: str, *, events: int = 0, outcomes: int = 0, goals: int = 0) -> None:
        """So much of a turn is not delivered, and will not be."""
        if not (events or outcomes or goals):
            return
        with self._lock:
            self._events += events
            self._outcomes += outcomes
            self._goals += goals
            if len(self._turns) < _MOST_NAMED:
                self._turns[turn_id] = None

    def so_far(self) -> Undelivered:
        """What was lost by now."""
        with self._lock:
            return Undelivered(self._events, self._outcomes, self._goals, tuple(self._turns))
