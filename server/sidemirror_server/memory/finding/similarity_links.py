"""Links memories with nearly the same words, in the background.

New memories wait in a queue, and no call waits for their links. A crash loses the queue. Its memories get links when
they are learned again; clusters (`clusters.py`) do not need these links.
"""

import asyncio
import logging
from collections import OrderedDict

from sidemirror_server.memory.finding.search import Filter, MemorySearch
from sidemirror_server.memory.kin.clusters import ALIKE_RATIO, likeness
from sidemirror_server.memory.kin.graph import MemoryGraph
from sidemirror_server.memory.kin.links import MOST_SIMILAR, Link, memory_key
from sidemirror_server.memory.record import LinkKind, MemoryRecord, MemoryState
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.errors import NotFound, StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.terms import asked_terms, telling_terms

_log = logging.getLogger(__name__)

# Limit on the candidates of a search. Chosen here: the best hits are, with few exceptions, the most similar texts.
_CANDIDATES = 12
# The longest queue; more memories are left out. Chosen here: minutes of writing at a store's full speed.
_MOST_WAITING = 10_000
# Limit on the search terms of a long text.
_MOST_TERMS = 64


class Alikes:
    """Makes `similar_to` links."""

    def __init__(self, graph: MemoryGraph, memories: Memories, search: MemorySearch) -> None:
        self._graph = graph
        self._memories = memories
        self._search = search
        self._waiting: OrderedDict[tuple[Scope, str], None] = OrderedDict()
        self._news = asyncio.Event()

    def wake(self, scope: Scope, memory_id: str) -> None:
        """Queues a memory that may be similar to others."""
        if len(self._waiting) < _MOST_WAITING:
            self._waiting[scope, memory_id] = None
            self._news.set()

    async def run(self) -> None:
        """Links waiting memories, one after the other, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                (scope, memory_id), _ = self._waiting.popitem(last=False)
                try:
                    await self.link(scope, memory_id)
                except (StoreUnavailable, StoreFull) as error:
                    _log.info("memory_not_linked", extra={**whose(scope), "memory_id": memory_id, "reason": str(error)})
                except NotFound:
                    continue  # one of them was removed meanwhile

    async def link(self, scope: Scope, memory_id: str) -> int:
        """Links a memory to those with nearly the same words; returns how many are new. Raises what the stores
        raise."""
        found = await self._memories.get(scope, (memory_id,))
        if not found or found[0].state is not MemoryState.ACTIVE:
            return 0
        memory = found[0]
        alike = await self._alike(scope, memory)
        source = memory_key(memory_id)
        links = tuple(Link(source, LinkKind.SIMILAR_TO, memory_key(one.memory_id), memory.created_us) for one in alike)
        return await self._graph.link(scope, links) if links else 0

    async def _alike(self, scope: Scope, memory: MemoryRecord) -> list[MemoryRecord]:
        """Older memories with nearly the same words, the most similar first. The link begins at the newer memory."""
        asked = dict(list(asked_terms(memory.content).items())[:_MOST_TERMS])
        if not asked:
            return []
        hits = (await self._search.by_text(scope, asked, Filter(kind=memory.kind), _CANDIDATES)).hits
        ids = tuple(hit.facts.memory_id for hit in hits if hit.facts.memory_id != memory.memory_id)
        terms = telling_terms(memory.content)
        place = (memory.created_us, memory.memory_id)
        older = [one for one in await self._memories.get(scope, ids) if (one.created_us, one.memory_id) < place]
        scored = [(likeness(terms, telling_terms(one.content)), one) for one in older]
        alike = sorted((pair for pair in scored if pair[0] >= ALIKE_RATIO), key=lambda pair: -pair[0])
        return [one for _, one in alike[:MOST_SIMILAR]]
