"""A decorator of the port `Memories` that reports writes; the same for every store."""

from collections.abc import Callable

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
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.vocabulary.scope import Scope


class WakingMemories:
    """Calls `wake` with the scope after each write that may have changed a text, or removed it, even a failed one."""

    def __init__(self, memories: Memories, wake: Callable[[Scope], None]) -> None:
        self._memories = memories
        self._wake = wake

    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
        try:
            return await self._memories.learn(scope, lesson, now_us)
        finally:
            self._wake(scope)

    async def revise(
        self, scope: Scope, memory_id: str, revision: Revision, now_us: int, if_version: int | None = None
    ) -> MemoryRecord:
        try:
            return await self._memories.revise(scope, memory_id, revision, now_us, if_version)
        finally:
            self._wake(scope)

    async def put(self, scope: Scope, kept: MemoryHistory) -> bool:
        try:
            return await self._memories.put(scope, kept)
        finally:
            self._wake(scope)

    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]:
        return await self._memories.get(scope, memory_ids)

    async def list(
        self, scope: Scope, kind: MemoryKind | None, state: MemoryState | None, after: MemoryKey | None, limit: int
    ) -> tuple[MemoryRecord, ...]:
        return await self._memories.list(scope, kind, state, after, limit)

    async def versions(self, scope: Scope, memory_id: str, before: int | None, limit: int) -> tuple[MemoryRecord, ...]:
        return await self._memories.versions(scope, memory_id, before, limit)

    async def delete(self, scope: Scope, memory_id: str) -> None:
        try:
            await self._memories.delete(scope, memory_id)
        finally:
            self._wake(scope)

    async def report(self, scope: Scope, outcome: TaskOutcome) -> None:
        await self._memories.report(scope, outcome)

    async def outcome(self, scope: Scope, receipt_id: str) -> TaskOutcome | None:
        return await self._memories.outcome(scope, receipt_id)
