"""Whose jobs are claimed next: scopes take turns, so that ten thousand jobs of one do not come before another's first.

`assembly/` gives one to the worker and to whoever puts jobs in this process. What only the store knows of, such as jobs
from before a restart, is claimed in the order in which it is due; from the first of them on its scope takes turns too.
"""

from collections import OrderedDict

from sidemirror_server.vocabulary.scope import Scope

# How many scopes take turns; jobs of others are claimed as they fall due. Chosen here: all agents of several nodes, at
# some 200 bytes each.
_SCOPES = 10_000


class Rotation:
    """The scopes that may have jobs, the one first whose turn was longest ago."""

    def __init__(self) -> None:
        self._scopes: OrderedDict[Scope, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._scopes)

    def expect(self, scope: Scope) -> None:
        """The scope may have jobs. Its turn comes after those of all others, unless it waits for one already."""
        if len(self._scopes) < _SCOPES:
            self._scopes.setdefault(scope)

    def take(self) -> Scope:
        """The next scope, which takes turns again once it is expected to: after a job of it was found, or put."""
        return self._scopes.popitem(last=False)[0]
