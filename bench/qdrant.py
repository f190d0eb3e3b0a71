"""`uv run python -m bench.qdrant`: does Qdrant find what our own search finds, and how long does either take?

The same made-up memories and vectors (`bench/corpus.py`) are kept in the embedded store and beside another one in
Qdrant, and the same questions are asked of both. Without `--url` the client's own local mode stands for a server: it
compares all vectors in Python, so that its times say nothing of a server's. `--url` is a value of
SIDEMIRROR_STORE_URL; collections of a name of their own are made there, and removed.

Measured is the port: with Qdrant a search also asks the main store which of the memories that it found count.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from qdrant_client import AsyncQdrantClient

from bench.corpus import DIMENSIONS, MODEL, SCOPE, Corpus, record
from bench.figures import share
from sidemirror_server.memory.finding.search import Embedded, Filter, MemorySearch, VectorHits
from sidemirror_server.memory.record import MemoryHistory, MemoryRecord
from sidemirror_server.storage.qdrant.database import QdrantDatabase, opened
from sidemirror_server.storage.qdrant.memory_search import QdrantMemorySearch
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_process import SearchProcesses
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import new_id

_FIRST = 10
_AT_ONCE = 64


class Asked(NamedTuple):
    """What a store answered to each question, and how long it took in seconds."""

    hits: list[VectorHits]
    took_s: list[float]


async def _fill(memories: SqliteMemories, searches: Sequence[MemorySearch], corpus: Corpus) -> None:
    for first in range(0, corpus.rows, _AT_ONCE):
        many = min(_AT_ONCE, corpus.rows - first)
        texts, vectors = corpus.texts(many), corpus.vectors(many)
        kept = [record(first + at, text) for at, text in enumerate(texts)]
        await asyncio.gather(*(memories.put(SCOPE, MemoryHistory(one)) for one in kept))
        for search in searches:
            await search.embed(SCOPE, MODEL, _embedded(kept, vectors))


def _embedded(kept: Sequence[MemoryRecord], vectors: Any) -> tuple[Embedded, ...]:
    return tuple(
        Embedded(one.memory_id, one.content, tuple(vector.tolist())) for one, vector in zip(kept, vectors, strict=True)
    )


async def _asked(search: MemorySearch, questions: Any) -> Asked:
    hits, took_s = [], []
    for question in questions:
        vector = tuple(question.tolist())
        began_s = time.perf_counter()
        hits.append(await search.by_vector(SCOPE, MODEL, vector, Filter(), _FIRST))
        took_s.append(time.perf_counter() - began_s)
    return Asked(hits, took_s)


def _told(name: str, asked: Asked) -> None:
    ms = sorted(1_000 * one for one in asked.took_s)
    print(f"| {name} | {statistics.median(ms):.1f} | {share(ms, 0.99):.1f} |")


def _compared(ours: Asked, theirs: Asked) -> None:
    same, first, apart = [], [], []
    for mine, other in zip(ours.hits, theirs.hits, strict=True):
        ids, others = ([hit.facts.memory_id for hit in found.hits] for found in (mine, other))
        same.append(len(set(ids) & set(others)) / len(ids))
        first.append(ids == others)
        scores = {hit.facts.memory_id: hit.similarity for hit in other.hits}
        apart += [
            abs(hit.similarity - scores[hit.facts.memory_id]) for hit in mine.hits if hit.facts.memory_id in scores
        ]
    print(f"\nOf our first {_FIRST}, found by Qdrant: {statistics.mean(same):.4f} (least {min(same):.1f}).")
    print(f"The same ones in the same order: {sum(first)} of {len(first)} questions.")
    print(f"Similarities differ by {max(apart):.1e} at most.")


async def _run(rows: int, questions: int, url: str) -> None:
    corpus = Corpus(rows)
    asked = corpus.questions().vectors(questions)
    with tempfile.TemporaryDirectory() as folder:
        own, beside = Path(folder) / "own", Path(folder) / "beside"
        mark = "&" if "?" in url else "?"
        if url:
            qdrant = opened(f"{url}{mark}prefix=bench_{new_id(SystemClock().now_us())}", SystemClock())
        else:
            qdrant = QdrantDatabase(AsyncQdrantClient(":memory:"), SystemClock())
        first, second = await SqliteDatabase.open(own, now_us=0), await SqliteDatabase.open(beside, now_us=0)
        process = SearchProcesses(own / FILE_NAME)
        try:
            ours = SqliteMemorySearch(first, process)
            theirs = QdrantMemorySearch(qdrant, SqliteMemorySearch(second), SqliteMemories(second))
            await _fill(SqliteMemories(first), (ours,), Corpus(rows))
            await _fill(SqliteMemories(second), (theirs,), Corpus(rows))
            for search in (ours, theirs):
                await _asked(search, asked[:5])
            mine, other = await _asked(ours, asked), await _asked(theirs, asked)
        finally:
            for name in await qdrant.collections():
                await qdrant.client.delete_collection(name)
            await qdrant.close()
            await process.close()
            await first.close()
            await second.close()
    print(f"{rows:,} memories with vectors of {DIMENSIONS} numbers, {questions} questions.\n")
    print("| search by vector | p50 ms | p99 ms |\n|---|---|---|")
    _told("embedded store", mine)
    _told("Qdrant at --url" if url else "Qdrant's client alone (local mode)", other)
    _compared(mine, other)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.qdrant")
    parser.add_argument("--rows", type=int, default=10_000, help="memories (default: 10000)")
    parser.add_argument("--questions", type=int, default=200, help="questions (default: 200)")
    parser.add_argument("--url", default="", help="a Qdrant server; default: the client's local mode")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
        warnings.filterwarnings("ignore", message="Local mode")
        asyncio.run(_run(options.rows, options.questions, options.url))


if __name__ == "__main__":
    main()
