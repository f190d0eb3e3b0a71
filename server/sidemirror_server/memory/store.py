"""The port behind memories. Adapters: `storage/sqlite/memories.py`, `storage/postgres/memories.py`.

Finding memories by what they say is another port's: `memory/finding/search.py`.
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

# A request may be repeated for 24 hours (design section 2); twice that, so that no clock decides.
LESSON_KEPT_US = 48 * 3600 * 1_000_000


class MemoryKey(msgspec.Struct, frozen=True):
    """A place in the order of memories: newest made first, then by id downwards."""

    created_us: int
    memory_id: str


class Memories(Protocol):
    """Keeps memories, with what they were before.

    MS1  `learn` keeps the reflection and the strategy of a lesson in one transaction: both or neither.
    MS2  A draft that says what a memory of its kind says (`text_key`), or comes from an episode that taught one of its
         kind, strengthens that one (`record.strengthened`) and makes none. The text counts before the episode, the
         oldest memory first.
    MS3  A strategy is kept with `strategy_of` naming the memory that its reflection became.
    MS4  `learn` of a lesson_id that was learned less than LESSON_KEPT_US ago changes nothing and returns those memories
         as they are now, or the draft in place of one that was deleted since.
    MS5  Of lessons that are learned at the same time, none is lost and no memory comes twice.
    MS6  `get` returns those of the ids that the scope has, in the order they are asked for.
    MS7  `list` returns the newest made first, at most `limit`, after `after`, of one kind and in one state when asked;
         the order stays while memories are added.
    MS8  `revise` makes the next version (`record.revised`) and keeps the one before. An unknown id is refused
         (NotFound); so is, with `if_version`, a memory that has another version by now (WrongState).
    MS9  `versions` returns a memory's versions, the newest first, the present one among them, below `before`; nothing
         for an unknown id.
    MS10 `delete` removes a memory with its versions and all that it was known by: it can be learned anew. An unknown id
         is refused (NotFound).
    MS11 `put` keeps a memory as it is given, with its earlier versions, unless the scope has its id already; it says
         whether it did. What is put is known like what was learned.
    MS12 `report` keeps the outcome of a receipt in place of an earlier one, and `outcome` returns it; None for a
         receipt without one.
    MS13 Texts come back as they were kept, to the code point; scores too.
    MS14 Scopes never meet.
    MS15 `revise` with the `revision_id` of one of the memory's last revisions (`record.is_repeated`) changes nothing
         and returns the memory as it is now, whatever `if_version` says.
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
