"""The port of stored memories. Adapters: `storage/sqlite/memories.py`, `storage/postgres/memories.py`.

Another port, `memory/finding/search.py`, finds memories by their texts.
"""

from typing import Protocol

import msgspec

from sidemirror_server.memory.record import (
    Learned,
    Lesson,
    MemoryHistory,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    Revision,
    TaskOutcome,
)
from sidemirror_server.vocabulary.scope import Scope

# Twice the 24 hours in which a request may be repeated (decision 004), so that differing clocks do not matter.
LESSON_KEPT_US = 48 * 3600 * 1_000_000


class MemoryKey(msgspec.Struct, frozen=True):
    """A position in the list of memories: newest created first, then by descending id."""

    created_us: int
    memory_id: str


class Memories(Protocol):
    """Stores memories and their earlier versions.

    MS1  `learn` stores the reflection and the strategy of a lesson in one transaction.
    MS2  A draft adds no memory but strengthens a stored one (`record.strengthened`) of its kind with the same text
         (`text_key`) or episode. A match by text goes before one by episode, the oldest memory first.
    MS3  `strategy_of` of a stored strategy is the id under which its reflection is stored.
    MS4  `learn` with a lesson_id that was learned less than LESSON_KEPT_US ago changes nothing. It returns the present
         versions of the stored memories, and the draft in place of a deleted memory.
    MS5  Concurrent `learn` calls lose no lesson and store no memory twice.
    MS6  `get` returns the memories of these ids that the scope has, in the order of the ids.
    MS7  `list` returns at most `limit` memories after the cursor `after`, the newest created first, of one kind and
         state if given. New memories do not change the order of the others.
    MS8  `revise` makes the next version (`record.revised`) and keeps the previous one. It refuses an unknown id
         (NotFound) and, with `if_version`, a memory with another version (WrongState).
    MS9  `versions` returns a memory's versions below `before`, the newest first, including the present one; nothing for
         an unknown id.
    MS10 `delete` removes a memory with its versions and the keys that recognise it, so that it can be learned anew. It
         refuses an unknown id (NotFound).
    MS11 `put` stores a memory unchanged, with its earlier versions, and returns True. If the scope already has the id,
         it returns False. `learn` recognises such a memory too.
    MS12 `report` stores the outcome of a receipt and replaces an earlier one. `outcome` returns it, or None.
    MS13 Texts are returned unchanged, to the code point; so are scores.
    MS14 Scopes are isolated.
    MS15 `revise` with the `revision_id` of one of the memory's last revisions (`record.is_repeated`) changes nothing
         and returns the present version, whatever `if_version` is.
    A memory's sources (`record.sources_of`) are noted, so that an erasure finds it (clause ER13).
    `learn` refuses a lesson of an erased source (ER14).
    Raises StoreUnavailable, StoreFull.
    """

    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned: ...

    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]: ...

    async def list(
        self, scope: Scope, kind: MemoryKind | None, state: MemoryState | None, after: MemoryKey | None, limit: int
    ) -> tuple[MemoryRecord, ...]: ...

    async def revise(
        self, scope: Scope, memory_id: str, revision: Revision, now_us: int, if_version: int | None = None
    ) -> MemoryRecord: ...

    async def versions(
        self, scope: Scope, memory_id: str, before: int | None, limit: int
    ) -> tuple[MemoryRecord, ...]: ...

    async def delete(self, scope: Scope, memory_id: str) -> None: ...

    async def put(self, scope: Scope, kept: MemoryHistory) -> bool: ...

    async def report(self, scope: Scope, outcome: TaskOutcome) -> None: ...

    async def outcome(self, scope: Scope, receipt_id: str) -> TaskOutcome | None: ...
