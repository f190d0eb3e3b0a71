"""The weight of the embedding model in each project: measured in the background, and kept while the sidecar runs.

`embeddings.py` asks for a measurement when all memories of a scope have a vector. A measurement takes two short texts
of each of at most 150 memories to the model, under the cap of embeddings.
"""

import asyncio
from collections import OrderedDict

import msgspec

from sidemirror_server.memory.finding.search import Filter, MemorySearch
from sidemirror_server.memory.finding.weighing import FEWEST_MEASURED, MOST_MEASURED, Halves, Weight, halves_of, weigh
from sidemirror_server.memory.store import Memories
from sidemirror_server.models.embedder import MOST_TEXTS
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope

_UNKNOWN = Weight()
_TEXTS_S = 30.0
# A weight holds for a day; one of a project that had few memories until the project has this many times as many. Chosen
# here: memories change slowly, and each measurement is paid for.
_HOLDS_S = 24 * 3600.0
_GROWTH_RATIO = 1.5
# How often the memories of such a project are counted at most.
_COUNTED_S = 10.0
# A store pages through the newest memories, of which some are too short.
_NEWEST = 2 * MOST_MEASURED
_READ_AT_ONCE = 100
_MOST_SCOPES = 10_000


class _Measured(msgspec.Struct, frozen=True):
    model: str
    weight: Weight
    at_s: float
    counted_s: float


class Weights:
    """Measures and remembers weights. Use it from one event loop."""

    def __init__(self, embedder: PaidEmbedder, search: MemorySearch, memories: Memories, clock: Clock) -> None:
        self._embedder = embedder
        self._search = search
        self._memories = memories
        self._clock = clock
        self._known: OrderedDict[Scope, _Measured] = OrderedDict()

    def of(self, scope: Scope, model: str) -> Weight:
        """The weight of this model in the scope; 0 until it is measured."""
        known = self._known.get(scope)
        return known.weight if known is not None and known.model == model else _UNKNOWN

    async def measure(self, scope: Scope, model: str) -> None:
        """Measures the weight if none holds. Raises ModelFailed and what the store raises."""
        now_s = self._clock.monotonic_s()
        known = self._known.get(scope)
        if known is not None and (known.model != model or now_s - known.at_s >= _HOLDS_S):
            known = None
        if known is not None and (known.weight.memories >= MOST_MEASURED or now_s - known.counted_s < _COUNTED_S):
            return
        halves = await self._halves(scope)
        if len(halves) < FEWEST_MEASURED:
            return
        if known is not None and len(halves) < known.weight.memories * _GROWTH_RATIO:
            self._keep(scope, msgspec.structs.replace(known, counted_s=now_s))
            return
        try:
            firsts = await self._vectors(scope, [half.first for half in halves])
            seconds = await self._vectors(scope, [half.second for half in halves])
        except ModelFailed as failure:
            if not failure.is_not_taken:
                raise
            weight = Weight(memories=len(halves))  # a model that refuses some of the texts does not count
        else:
            # On a thread, so that calls go on meanwhile.
            weight = await asyncio.to_thread(weigh, halves, firsts, seconds)
        self._keep(scope, _Measured(model, weight, now_s, now_s))

    def _keep(self, scope: Scope, measured: _Measured) -> None:
        self._known[scope] = measured
        self._known.move_to_end(scope)
        if len(self._known) > _MOST_SCOPES:
            self._known.popitem(last=False)

    async def _halves(self, scope: Scope) -> list[Halves]:
        """The halves of the newest memories that are long enough."""
        newest = await self._search.best(scope, Filter(), _NEWEST, newest_first=True)
        ids = [facts.memory_id for facts in newest]
        found: list[Halves] = []
        for at in range(0, len(ids), _READ_AT_ONCE):
            read = await self._memories.get(scope, tuple(ids[at : at + _READ_AT_ONCE]))
            found += filter(None, (halves_of(memory.content) for memory in read))
        return found[:MOST_MEASURED]

    async def _vectors(self, scope: Scope, texts: list[str]) -> list[tuple[float, ...]]:
        vectors: list[tuple[float, ...]] = []
        for at in range(0, len(texts), MOST_TEXTS):
            some = tuple(texts[at : at + MOST_TEXTS])
            vectors += (await self._embedder.embed(scope, some, _TEXTS_S, background=True)).vectors
        return vectors
