"""Two sidecars on one database make the vector of a memory once: it is paid for."""

import asyncio
from collections import Counter

from sidemirror_server.memory.finding.embeddings import MemoryMeanings
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.prices import Prices
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import RetentionPeriods
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.scope import SERVES_ALL
from tests.conformance.memories import ONE, T0, memory
from tests.faults.waiting import until
from tests.models.gateways import PRICE
from tests.postgres.databases import Databases

MANY = 40


class Model:
    """Counts what it is asked for, and waits with its answers until both sidecars had the chance to ask."""

    provider, name = "openai_compatible", "small"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.asking = 0
        self.both_were_here = asyncio.Event()

    async def embed(self, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        self.asked.update(text for text in texts if text != "memory")
        self.asking += texts != ("memory",)
        if self.asking >= 2:
            self.both_were_here.set()
        if texts != ("memory",):
            await self.both_were_here.wait()
        return Embeddings(tuple((1.0, 0.0) for _ in texts), 1)

    async def close(self) -> None:
        pass


def _paid(model: Model, store: PostgresDatabase, clock: Clock) -> PaidEmbedder:
    policies = PoliciesInForce(PostgresPolicies(store), RetentionPeriods(), SERVES_ALL, clock, 10)
    spending = Spending(PostgresLedger(store), Caps(), clock, policies)
    return PaidEmbedder(model, Prices(model.provider, model.name, None, PRICE), 2, spending, clock)


async def test_each_text_is_embedded_once(databases: Databases) -> None:
    """Seen to fail when `PostgresMemorySearch.take` always says True: the first texts are paid for twice."""
    async with databases.fresh() as name:
        model, rested = Model(), asyncio.Event()

        async def sleep(seconds: float) -> None:
            # Whoever is told that another is at it rests.
            assert seconds > 0
            model.both_were_here.set()
            await rested.wait()

        stores = [await PostgresDatabase.open(databases.cluster.url("sidecar", name)) for _ in range(2)]
        searches = [PostgresMemorySearch(store) for store in stores]
        for number in range(MANY):
            await PostgresMemories(stores[0]).put(
                ONE, MemoryHistory(memory(f"m{number}", f"text {number}", T0 + number))
            )
        clock = SystemClock()
        sidecars = [
            MemoryMeanings(_paid(model, store, clock), search, clock, sleep)
            for store, search in zip(stores, searches, strict=True)
        ]
        running = [asyncio.create_task(sidecar.run()) for sidecar in sidecars]
        try:
            for sidecar in sidecars:
                sidecar.wake(ONE)
            await until(lambda: len(model.asked) == MANY, within_s=60)
            # The other one goes on where nothing is left, and with what is new.
            rested.set()
            await PostgresMemories(stores[1]).put(ONE, MemoryHistory(memory("new", "a new one", T0 + MANY)))
            sidecars[1].wake(ONE)
            await until(lambda: len(model.asked) == MANY + 1, within_s=60)
            assert set(model.asked.values()) == {1}
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            for store in stores:
                await store.close()
