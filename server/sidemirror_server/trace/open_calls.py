"""Which call a result belongs to: calls that have opened and not ended, by call id."""

from typing import Protocol, TypeVar

# Chosen here: no agent has as many calls open. The oldest is forgotten then.
_MOST_OPEN = 100


class Open(Protocol):
    """A call that has opened. `agent`: who made it."""

    @property
    def agent(self) -> str: ...


AnOpenCall = TypeVar("AnOpenCall", bound=Open)


def opened(open_calls: dict[str, AnOpenCall], call_id: str, call: AnOpenCall) -> None:
    """Adds a call; one of the same id is not awaited any more."""
    if len(open_calls) >= _MOST_OPEN:
        open_calls.pop(next(iter(open_calls)))
    open_calls.pop(call_id, None)
    open_calls[call_id] = call


def taken(open_calls: dict[str, AnOpenCall], call_id: str, agent: str) -> AnOpenCall | None:
    """Removes and returns the call that ended: the one named, else the agent's last open call."""
    if call_id:
        return open_calls.pop(call_id, None)
    key = next((key for key, call in reversed(open_calls.items()) if call.agent == agent), None)
    return open_calls.pop(key) if key is not None else None
