"""Whose jobs are claimed next: scopes take turns, so that ten thousand jobs of one do not come before another's first.

`assembly/` gives one to the worker and to whoever puts jobs in this process. What only the store knows of, such as jobs
from before a restart, is claimed in the order in which it is due, and this order has a turn among the scopes. From the
first of its jobs on a scope takes turns itself.
"""

from collections import OrderedDict

from sidemirror_server.vocabulary.scope import Scope

# How many scopes take turns; jobs of others are claimed as they fall due. Chosen here: all agents of several nodes, at
# some 200 bytes each.
_SCOPES = 10_000


class Rotation:
    """The scopes that may have jobs, the one first whose turn was longest ago; the store's own order is among them."""

    def __init__(self) -> None:
        # None: the store's order.
        self._turns: OrderedDict[Scope | None, None] = OrderedDict({None: None})

    def __len__(self) -> int:
        """How many scopes there are."""
        return len(self._turns) - 1

    def expect(self, scope: Scope) -> None:
        """The scope may have jobs. Its turn comes after those of all others, unless it waits for one already."""
        if len(self) < _SCOPES:
            self._turns.setdefault(scope)

    def take(self) -> Scope | None:
        """The next scope, which takes turns again once it is expected to: after a job of it was found, or put. None:
        whatever is due longest, whose turn comes again after those of all scopes."""
        scope = self._turns.popitem(last=False)[0]
        if scope is None:
            self._turns[None] = None
        return scope
