"""The port of what is removed because it is old (unimportant memories, and the traces of turns) or because there is too
much of it (memories); with a log of it.

Called by `assembly/sidecar.py`, with the settings of `retention`. Adapters: `storage/sqlite/pruning.py`,
`storage/postgres/pruning.py`.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.scope import Scope, Serves


class PrunedKind(StrEnum):
    """What was removed. The values are stored and never change."""

    MEMORIES = "memories"
    TURNS = "turns"


class Pruned(msgspec.Struct, frozen=True):
    """What one look removed of a project. `number` rises. `before_us`: what had been left alone since before it;
    `importance_below`: of memories, what mattered less than this, or where there were too
    many, no more than this; None for turns."""

    number: int
    kind: PrunedKind
    count: int
    pruned_us: int
    before_us: int
    importance_below: float | None = None


class Pruning(Protocol):
    """Removes what is old, of the scopes served.

    PU1  `prune_memories` removes memories that matter less than `below` and were neither made, changed nor strengthened
         since `before_us`, as `Memories.delete` does; at most `limit`. It returns how many.
    PU2  It leaves those that are retired, so that they are not learned anew, and those whose last version a person or a
         client made.
    PU3  `prune_turns` removes turns that ended and were not updated since `before_us`, with their entries, the oldest
         first, at most `limit`, and returns how many. Open turns stay.
    PU4  A session goes with its last turn, unless it was updated since `before_us`.
    PU5  Whatever removed something leaves an entry in the log of each scope that it concerns, in the same transaction.
    PU6  `list` returns a scope's log, the newest first, below `before`, at most `limit`; nothing is removed from it.
    PU7  Scopes never meet.
    PU8  `prune_memories` leaves those with a trial since `before_us`, and reflections with a strategy that matters as
         much as `below`: a strategy is found by its reflection.
    PU9  `prune_surplus` removes memories of the scopes that have more than `most`: those that matter least, and of
         these the ones that were left alone longest, down to `most`; at most `limit` in all. Retired ones stay. It
         returns how many.
    PU10  `turns_gone_up_to` is the highest position in the log of an entry that `prune_turns` has removed of a scope; 0
          when it has removed none.
    PU11 What belongs to a scope that is not served stays, and does not count towards `limit`.
    Raises StoreUnavailable, StoreFull.
    """

    async def prune_memories(self, serves: Serves, below: float, before_us: int, limit: int, now_us: int) -> int: ...

    async def prune_surplus(self, serves: Serves, most: int, limit: int, now_us: int) -> int: ...

    async def prune_turns(self, serves: Serves, before_us: int, limit: int, now_us: int) -> int: ...

    async def turns_gone_up_to(self, scope: Scope) -> int: ...

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Pruned, ...]: ...
