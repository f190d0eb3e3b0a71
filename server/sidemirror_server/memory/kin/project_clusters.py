"""The present clusters of a project: reads its newest memories and groups them (`clusters.py`)."""

import asyncio

from sidemirror_server.memory.kin.clusters import Cluster, ClusterKind, clusters, facts_of
from sidemirror_server.memory.record import MemoryRecord, MemoryState
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.vocabulary.scope import Scope

# Contract: ListClusters. Chosen here: about a second of work; older memories live on in dreamt lessons.
MOST_MEMORIES = 2_000
# Memories read at once on the event loop. Chosen here: long ones take a few milliseconds.
_AT_ONCE = 100


class Grouping:
    """Groups memories."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def clusters(self, scope: Scope, kinds: tuple[ClusterKind, ...] = tuple(ClusterKind)) -> tuple[Cluster, ...]:
        """The clusters of the newest active memories, as `clusters` orders them. Raises what the store raises."""
        found: list[MemoryRecord] = []
        after: MemoryKey | None = None
        while len(found) < MOST_MEMORIES:
            some = await self._memories.list(
                scope, None, MemoryState.ACTIVE, after, min(_AT_ONCE, MOST_MEMORIES - len(found))
            )
            if not some:
                break
            found += some
            after = MemoryKey(some[-1].created_us, some[-1].memory_id)
        return await asyncio.to_thread(lambda: clusters([facts_of(memory) for memory in found], kinds))
