"""`uv run python -m bench.retrieval`: what a question finds of the recorded retrieval sets, by words and by vectors.

Recall at 5 and hit at 1 of the product's own search (`../shared/data`), of the lessons alone, with their siblings
hidden (what a query ignores is not stored while it is asked, so it helps neither as a neighbour nor by what it does to
the statistics), and with the task stored beside each lesson. `--embedders` adds models of which some know nothing.
`--part` says which queries: those for tuning, or those that are reserved for the end.
"""

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from bench.embedders import Hashed, Random, Texts, served
from bench.environments import Unavailable
from bench.figures import share
from bench.split import Part, group_of, known_groups, part_of
from sidemirror_server.memory.finding.embeddings import MemoryMeanings
from sidemirror_server.memory.finding.recall import Question, Recall
from sidemirror_server.memory.finding.search import Filter, MemorySearch
from sidemirror_server.memory.finding.weighing import Weight
from sidemirror_server.memory.finding.weights import Weights
from sidemirror_server.memory.record import MemoryHistory, MemoryRecord
from sidemirror_server.memory.store import Memories
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_process import SearchProcesses
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.terms import asked_terms, terms_of
from tests.faults.waiting import until
from tests.memory.retrieval import records, rows, scope_of
from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases
from tests.recorded import DATA

_DEEP = 60  # enough to drop every `ignore` and still have five
_FEW = 50
_MEASURED_S = 1_200.0
# What is wanted: recall at 5 and hit at 1.
_ALONE = {"programming": (0.68, 0.77), "tau": (0.70, 0.79), "HotpotQA": (0.95, 0.965)}
_HIDDEN = {"programming": (0.65, 0.74), "tau": (0.69, 0.78), "HotpotQA": (0.95, 0.96)}
_UNHURT, _HELPED = 0.005, 0.02

Query = Mapping[str, Any]


class Found(NamedTuple):
    """Means over queries: the part of the relevant ones among the first five, and how often the first is one."""

    recall_at_5: float
    hit_at_1: float

    def __str__(self) -> str:
        return f"{self.recall_at_5:.3f} / {self.hit_at_1:.3f}"

    def reaches(self, wanted: Iterable[float]) -> bool:
        return all(round(mine, 3) >= least for mine, least in zip(self, wanted, strict=True))


class Stores(NamedTuple):
    """Memories and their search. `writers`: how many write at a time. `size`: of the whole store, in bytes."""

    memories: Memories
    search: MemorySearch
    writers: int
    size: Callable[[], Awaitable[int]]


def queries_of(name: str, part: Part | None) -> list[Query]:
    """The queries of a set in a part; None: all."""
    known = known_groups(DATA)
    return [query for query in rows(name, "queries") if part is None or part_of(group_of(query, known)) is part]


@contextlib.asynccontextmanager
async def opened(*, postgres: bool) -> AsyncIterator[Stores]:
    if not postgres:
        with tempfile.TemporaryDirectory() as folder:
            database = await SqliteDatabase.open(Path(folder), now_us=0)
            try:
                searches = SearchProcesses(Path(folder) / FILE_NAME)
                yield Stores(
                    SqliteMemories(database), SqliteMemorySearch(database, searches), 64, partial(_size, database)
                )
                await searches.close()
            finally:
                await database.close()
        return
    cluster = Cluster(fsync="off", full_page_writes="off")
    try:
        await asyncio.to_thread(cluster.start)
        databases = await asyncio.to_thread(Databases, cluster)
        async with databases.opened() as shared:
            yield Stores(PostgresMemories(shared), PostgresMemorySearch(shared), 4, partial(_shared_size, shared))
    finally:
        await asyncio.to_thread(cluster.remove)


async def _size(database: SqliteDatabase) -> int:
    pages, page_bytes = await database.search(
        lambda connection: [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
    )
    return int(pages * page_bytes)


async def _shared_size(database: PostgresDatabase) -> int:
    of_all = "SELECT pg_database_size(current_database()) WHERE $1::text IS NOT NULL AND $2::text IS NOT NULL"
    return int((await database.fetch(Scope("any", "any"), of_all))[0][0])


async def stored(stores: Stores, name: str, *, with_task: bool) -> dict[str, MemoryRecord]:
    """Stores a set; returns its memories by id."""
    mine = {record.memory_id: record for record in records(name, with_task=with_task)}
    await _put(stores, scope_of(name, with_task=with_task), mine.values())
    return mine


async def _put(stores: Stores, scope: Scope, some: Iterable[MemoryRecord]) -> None:
    await _each(stores, (partial(stores.memories.put, scope, MemoryHistory(one)) for one in some))


async def _each(stores: Stores, writes: Iterable[Callable[[], Awaitable[object]]]) -> None:
    waiting = list(writes)
    for at in range(0, len(waiting), stores.writers):
        await asyncio.gather(*(write() for write in waiting[at : at + stores.writers]))


async def ids_found(recall: Recall, scope: Scope, query: Query) -> list[str]:
    """What a query finds, the best first, without what it ignores."""
    ranked = await recall.ranked(scope, Question(query["query"], _DEEP, Filter()))
    ignored = set(query["ignore"])
    return [one.facts.memory_id for one in ranked if one.facts.memory_id not in ignored]


def scored(found: Sequence[Sequence[str]], queries: Sequence[Query]) -> Found:
    recalls, hits = [], []
    for ids, query in zip(found, queries, strict=True):
        relevant = set(query["relevant"])
        recalls.append(len(relevant & set(ids[:5])) / len(relevant))
        hits.append(float(bool(ids) and ids[0] in relevant))
    return Found(sum(recalls) / len(recalls), sum(hits) / len(hits)) if queries else Found(0.0, 0.0)


async def by_words(stores: Stores, name: str, queries: Sequence[Query], *, with_task: bool) -> Found:
    """What the words find; the set is stored."""
    recall = Recall(stores.memories, stores.search, None, SystemClock())
    scope = scope_of(name, with_task=with_task)
    return scored([await ids_found(recall, scope, query) for query in queries], queries)


async def hidden(stores: Stores, name: str, queries: Sequence[Query]) -> Found:
    """What the words find while that which a query ignores is not stored. In a scope of its own."""
    scope = Scope(name, "hidden")
    every = {record.memory_id: record for record in records(name, with_task=False)}
    await _put(stores, scope, every.values())
    recall = Recall(stores.memories, stores.search, None, SystemClock())
    found: list[list[str]] = []
    gone: set[str] = set()
    for query in queries:
        ignored = set(query["ignore"])
        await _put(stores, scope, (every[one] for one in gone - ignored))
        await _each(stores, (partial(stores.memories.delete, scope, one) for one in ignored - gone))
        gone = ignored
        found.append(await ids_found(recall, scope, query))
    return scored(found, queries)


async def _words(stores: Stores, sets: Mapping[str, Sequence[Query]], *, hides: bool) -> None:
    print("| set | queries | lessons alone | wanted | siblings hidden | wanted | with the task |")
    print("|---|---|---|---|---|---|---|")
    for name, queries in sets.items():
        await stored(stores, name, with_task=False)
        alone = await by_words(stores, name, queries, with_task=False)
        without = await hidden(stores, name, queries) if hides else None
        task = None
        if name != "tau":  # its episodes name no task
            await stored(stores, name, with_task=True)
            task = await by_words(stores, name, queries, with_task=True)
        cells = [
            *(name, str(len(queries)), str(alone), _verdict(alone, _ALONE[name])),
            *(str(without or ""), _verdict(without, _HIDDEN[name]), str(task or "")),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def _verdict(found: Found | None, wanted: tuple[float, float]) -> str:
    if found is None:
        return ""
    return f"≥ {wanted[0]} / {wanted[1]}: {'met' if found.reaches(wanted) else '**missed**'}"


class Alone:
    """A model whose vectors count alone, by a weight of 1."""

    def __init__(self, meanings: MemoryMeanings) -> None:
        self._meanings = meanings
        self.model = meanings.model

    def weight(self, scope: Scope) -> Weight:
        return msgspec.structs.replace(self._meanings.weight(scope), value=1.0)

    async def of_question(self, scope: Scope, text: str, _wait_s: float | None = None) -> tuple[float, ...] | None:
        return await self._meanings.of_question(scope, text, 60.0)


async def _embedders(stores: Stores, sets: Mapping[str, Sequence[Query]]) -> None:
    print("\n| model | set | weight | gain | error | words alone | model alone | both | |\n" + "|---" * 9 + "|")
    async with contextlib.AsyncExitStack() as stack:
        models: list[Texts] = [Random(), Hashed()]
        try:
            models.append(await stack.enter_async_context(served()))
        except Unavailable as error:
            print(f"The sentence model is not measured: {error}")
        for model in models:
            for name, queries in sets.items():
                print(await _with_model(stores, model, name, queries), flush=True)


async def _with_model(stores: Stores, model: Texts, name: str, queries: Sequence[Query]) -> str:
    scope = scope_of(name, with_task=False)
    await stored(stores, name, with_task=False)
    embedder, clock = cast("PaidEmbedder", model), SystemClock()
    weights = Weights(embedder, stores.search, stores.memories, clock)
    meanings = MemoryMeanings(embedder, stores.search, clock, weights=weights)
    running = asyncio.create_task(meanings.run())
    try:
        meanings.wake(scope)
        await until(lambda: weights.of(scope, meanings.model).memories > 0, within_s=_MEASURED_S)
        weight = weights.of(scope, meanings.model)
        words = await by_words(stores, name, queries, with_task=False)
        found = {}
        for way, how in (("alone", Alone(meanings)), ("both", meanings)):
            recall = Recall(stores.memories, stores.search, how, clock)
            found[way] = scored([await ids_found(recall, scope, query) for query in queries], queries)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    if isinstance(model, Random | Hashed):
        wanted = [figure - _UNHURT for figure in words]
        told = f"≥ words − {_UNHURT}"
    else:
        wanted = [max(one, other) - _HELPED for one, other in zip(words, found["alone"], strict=True)]
        told = f"≥ the better − {_HELPED}"
    verdict = "met" if found["both"].reaches(round(least, 3) for least in wanted) else "**missed**"
    cells = (
        *(model.name, name, f"{weight.value:g}", f"{weight.gain:+.3f}", f"{weight.error:.3f}"),
        *(str(words), str(found["alone"]), str(found["both"]), f"{told}: {verdict}"),
    )
    return f"| {' | '.join(cells)} |"


_FLOORS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2)


async def _floors(stores: Stores, sets: Mapping[str, Sequence[Query]]) -> None:
    """What a floor of a hit's share would cost, and which questions of other sets it would silence."""
    table: dict[str, tuple[list[float], list[float]]] = {}
    for name, queries in sets.items():
        await stored(stores, name, with_task=False)
        own, foreign = [], []
        for query in queries:
            found = await _shares(stores, name, query["query"])
            own += [part for hit, part in found if hit in query["relevant"]][:1]
        for other, asked in sets.items():
            for query in asked if other != name else ():
                foreign += [part for _, part in (await _shares(stores, name, query["query"]))[:1]]
        table[name] = (own, foreign)
    print("\n| set | " + " | ".join(f"{floor:g}" for floor in _FLOORS) + " |\n|---" + "|---" * len(_FLOORS) + "|")
    for name, (own, foreign) in table.items():
        for what, values in (("best relevant hits lost", own), ("foreign questions silenced", foreign)):
            cells = [f"{sum(part < floor for part in values) / len(values):.1%}" for floor in _FLOORS]
            print(f"| {name}: {what} of {len(values)} | {' | '.join(cells)} |", flush=True)


async def _shares(stores: Stores, name: str, question: str) -> list[tuple[str, float]]:
    """The hits of a question and their shares of its worth, the closest first."""
    asked, scope = asked_terms(question), scope_of(name, with_task=False)
    found = await stores.search.by_text(scope, asked, Filter(), _DEEP, said=terms_of(question).split())
    return [(hit.facts.memory_id, (hit.content_score + hit.task_score) / found.worth) for hit in found.hits]


async def _costs(stores: Stores, sets: Mapping[str, Sequence[Query]]) -> None:
    """What a memory takes, to write and of the store, and how long a search takes, by words alone and closely."""
    print("\n| set | memories | a write | of the store |\n|---|---|---|---|")
    for name in sets:
        some, before, began = list(records(name, with_task=False)), await stores.size(), time.perf_counter()
        await _put(stores, Scope(name, "costs"), some)
        took_ms = 1_000 * (time.perf_counter() - began) / len(some)
        grown = (await stores.size() - before) / len(some)
        print(f"| {name} | {len(some)} | {took_ms:.2f} ms | {grown:,.0f} bytes |", flush=True)
    print("\n| set | search | p50 | p99 |\n|---|---|---|---|")
    for name, queries in sets.items():
        await stored(stores, name, with_task=False)
        scope = scope_of(name, with_task=False)
        for closely in (False, True):
            took = []
            for query in queries:
                asked, said = asked_terms(query["query"]), terms_of(query["query"]).split() if closely else ()
                began = time.perf_counter()
                await stores.search.by_text(scope, asked, Filter(), _FEW, said=said)
                took.append(1_000 * (time.perf_counter() - began))
            told = f"{share(took, 0.5):.1f} ms | {share(took, 0.99):.1f} ms"
            print(f"| {name} | {'closely' if closely else 'by words'} | {told} |", flush=True)


async def _run(options: argparse.Namespace) -> None:
    part = None if options.part == "all" else Part(options.part)
    sets = {name: queries_of(name, part) for name in ("programming", "tau", "HotpotQA")}
    async with opened(postgres=options.postgres) as stores:
        if not options.only_embedders:
            await _words(stores, sets, hides=not options.quick)
        if options.costs:
            await _costs(stores, sets)
        if options.floors:
            await _floors(stores, sets)
        if options.embedders or options.only_embedders:
            await _embedders(stores, sets)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval")
    parser.add_argument("--part", choices=[*Part, "all"], default=Part.TUNING, help="which queries (default: tuning)")
    parser.add_argument("--postgres", action="store_true", help="on Postgres, instead of the embedded store")
    parser.add_argument("--quick", action="store_true", help="without hidden siblings")
    parser.add_argument("--embedders", action="store_true", help="models too: at random, hashed, and a sentence model")
    parser.add_argument("--costs", action="store_true", help="how long a search takes, and a write")
    parser.add_argument("--floors", action="store_true", help="what a floor of similarity would cost and silence")
    parser.add_argument("--only-embedders", action="store_true", help="models, and nothing else")
    options = parser.parse_args()
    if not DATA.is_dir():
        print("skipped: no recorded data in ../shared/data")
        return
    asyncio.run(_run(options))


if __name__ == "__main__":
    main()
