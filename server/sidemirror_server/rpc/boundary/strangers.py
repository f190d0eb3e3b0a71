"""Whose calls are refused for want of a good token or grant: a bounded account of those that call now (decision 103).

`refusals.py` asks it whether a line of the log is due, and GetServerInfo tells it.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope

# How long a stranger is silent before it has gone. Chosen here: a pod that fails is started again every 5 minutes.
QUIET_S = 600.0
# How many are known at once; the one that called the longest ago makes room. Chosen here: all agents of a node,
# and some 100 KB.
_KNOWN = 256
# Why a token is refused whatever it asks for.
EXPIRED, REMOVED = "the token has expired", "the token is not known any more"


class Stranger(NamedTuple):
    """Who is refused, and why. `host`: the peer without its port. `token`: the name of its token, `fingerprint`: of one
    that is not known; empty where there is none. `tenant_id`, `project_id`: what the token is not good for;
    of one that has expired or was removed, what it was good for."""

    host: str
    reason: str
    token: str = ""
    fingerprint: str = ""
    tenant_id: str = ""
    project_id: str = ""


class RefusedCalls(msgspec.Struct):
    """The calls of one stranger: how many, the first and the last one. `good_s`: when its token was good since, or was
    refused for another reason."""

    calls: int
    first_us: int
    last_us: int
    last_s: float
    good_s: float = 0.0


class Strangers:
    """The account of one process. Used on the event loop's thread only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # The one that called last is the last one.
        self._known: OrderedDict[Stranger, RefusedCalls] = OrderedDict()

    def again(self, one: Stranger) -> bool:
        """Whether the stranger is known; if so its call is counted."""
        refused = self._known.get(one)
        if refused is None:
            return False
        refused.calls += 1
        refused.last_us, refused.last_s = self._clock.now_us(), self._clock.monotonic_s()
        self._known.move_to_end(one)
        return True

    def add(self, one: Stranger) -> None:
        """Counts the first call of a stranger."""
        if one.token and one.reason in (EXPIRED, REMOVED):
            self._passed(lambda other: (other.host, other.token) == (one.host, one.token))
        self._known[one] = RefusedCalls(1, self._clock.now_us(), self._clock.now_us(), self._clock.monotonic_s())
        self._known.move_to_end(one)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)

    def told(self) -> tuple[tuple[Stranger, RefusedCalls], ...]:
        """Those that have called within the last QUIET_S, the one with the most calls first; none whose token was good
        since."""
        since_s = self._clock.monotonic_s() - QUIET_S
        known = [
            (one, refused) for one, refused in self._known.items() if refused.last_s > max(since_s, refused.good_s)
        ]
        return tuple(sorted(known, key=lambda entry: -entry[1].calls))

    def good(self, host: str, token: str, fingerprint: str, scope: Scope) -> None:
        """A call of this token in this scope is not refused. Costs nothing while nobody is known."""
        if self._known:
            self._passed(lambda one: one.host == host and _is_good(one, token, fingerprint, scope))

    def _passed(self, is_past: Callable[[Stranger], bool]) -> None:
        now_s = self._clock.monotonic_s()
        for one, refused in self._known.items():
            if is_past(one):
                refused.good_s = now_s

    def gone(self) -> tuple[tuple[Stranger, RefusedCalls], ...]:
        """Those that have been silent for QUIET_S; they are forgotten."""
        since_s = self._clock.monotonic_s() - QUIET_S
        found = [(one, refused) for one, refused in self._known.items() if refused.last_s <= since_s]
        for one, _ in found:
            del self._known[one]
        return tuple(found)

    def __bool__(self) -> bool:
        """Whether any is known."""
        return bool(self._known)


def _is_good(one: Stranger, token: str, fingerprint: str, scope: Scope) -> bool:
    """Whether a good call of this token in this scope is what the stranger was refused."""
    if one.fingerprint:
        return one.fingerprint == fingerprint
    return (
        bool(token)
        and one.token == token
        and (one.reason in (EXPIRED, REMOVED) or Scope(one.tenant_id, one.project_id) == scope)
    )
