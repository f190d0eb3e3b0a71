"""The port for retention: removes old turns, removes unimportant memories if they are old or too many, and logs this.

Called by `assembly/sidecar.py`, with the settings of `retention`. Adapters: `storage/sqlite/pruning.py`,
`storage/postgres/pruning.py`.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.scope import Scope, Served, Serves


class PrunedKind(StrEnum):
    """The kind of the records removed. The values are stored and never change."""

    MEMORIES = "memories"
    TURNS = "turns"


class Pruned(msgspec.Struct, frozen=True):
    """What one call removed from a project. `number` rises. `before_us`: the records were last changed before this
    time. `importance_below`: an upper bound of the memories' importance, exclusive for old memories, inclusive for
    surplus ones; None for turns."""

    number: int
    kind: PrunedKind
    count: int
    pruned_us: int
    before_us: int
    importance_below: float | None = None


class Pruning(Protocol):
    """Removes old records of the scopes served.

    PU1  `prune_memories` removes at most `limit` memories less important than `below` that were not made, changed or
         strengthened since `before_us`. It removes them as `Memories.delete` does, and returns how many.
    PU2  It keeps retired memories, so that they are not learned anew, and memories whose last version a person or a
         client made.
    PU3  `prune_turns` removes at most `limit` ended turns that were not updated since `before_us`, with their entries,
         oldest first, and returns how many. It keeps open turns.
    PU4  With the last turn of a session it removes the session, unless that was updated since `before_us`.
    PU5  A call that removes something notes it in the pruning log of each scope concerned, in the same transaction.
    PU6  `list` returns a scope's pruning log, newest first, with numbers below `before`, at most `limit`. No call
         removes entries of this log.
    PU7  Scopes are isolated.
    PU8  `prune_memories` keeps memories with a trial since `before_us`. It keeps a reflection whose strategy is at
         least as important as `below`, because a strategy is found by its reflection.
    PU9  `prune_surplus` removes memories from scopes with more than `most`, down to `most`, at most `limit` in all, and
         returns how many. It takes the least important first, then those unchanged for longest; never retired ones.
    PU10 `turns_gone_up_to` is the highest log position that `prune_turns` has removed from a scope, 0 if none.
    PU11 Records of a scope that is not served stay, and do not count towards `limit`.
    PU12 Scopes of the entries `but` are treated as if they were not served.
    Raises StoreUnavailable, StoreFull.
    """

    async def prune_memories(
        self, serves: Serves, below: float, before_us: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int: ...

    async def prune_surplus(
        self, serves: Serves, most: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int: ...

    async def prune_turns(
        self, serves: Serves, before_us: int, limit: int, now_us: int, but: Sequence[Served] = ()
    ) -> int: ...

    async def turns_gone_up_to(self, scope: Scope) -> int: ...

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Pruned, ...]: ...
