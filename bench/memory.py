"""Searching memories: hybrid queries at the port against the raw engine, and what hot calls feel of them."""

import asyncio
import contextlib
import random
import sqlite3
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from bench import calls
from bench.figures import Figure, Scale, median, now, share
from bench.floor import ECHO
from bench.processes import Servers
from sidemirror_server.memory.recall import Question, Recall
from sidemirror_server.memory.record import MemoryKind, MemoryRecord
from sidemirror_server.memory.search import Filter
from sidemirror_server.memory.terms import asked_terms
from sidemirror_server.storage.sqlite import memories as adapter
from sidemirror_server.storage.sqlite.database import FILE_NAME, Database
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_lookup import SQL, Lookup
from sidemirror_server.storage.sqlite.memory_process import SearchProcess
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

SCOPE, OTHER = Scope("default", "default"), Scope("t1", "p1")
DIMENSIONS = 384
_MODEL = "bench/384"
_WORDS, _TEXT_WORDS, _CLUSTERS = 20_000, 28, 2_000
_T0 = 1_700_000_000_000_000
_AT_ONCE = 5_000
_SEED = 7


class Corpus:
    """Texts of 28 words by Zipf's law out of 20,000, and vectors around 2,000 centres: as in the research page
    performance. Half of the rows are another scope's."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._random = np.random.default_rng(_SEED)
        self._share = 1 / np.arange(1, _WORDS + 1)
        self._share /= self._share.sum()
        self._centres = self._random.standard_normal((_CLUSTERS, DIMENSIONS)).astype(np.float32)

    def texts(self, count: int, words: int = _TEXT_WORDS) -> list[str]:
        drawn = self._random.choice(_WORDS, size=(count, words), p=self._share)
        return [" ".join(f"w{word:x}q" for word in row) for row in drawn]

    def vectors(self, count: int) -> Any:
        of = self._random.integers(0, _CLUSTERS, count)
        made = self._centres[of] + 0.6 * self._random.standard_normal((count, DIMENSIONS)).astype(np.float32)
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")


def record(number: int, text: str) -> MemoryRecord:
    return MemoryRecord(
        memory_id=f"m{number:09}",
        kind=MemoryKind.REFLECTION,
        content=text,
        importance=(number % 11) / 10,
        created_us=_T0 + number,
        updated_us=_T0 + number,
        text_key=f"k{number}",
        origin=Origin.AGENT,
        tags=("bench", f"tag{number % 50}"),
    )


async def fill(database: Database, corpus: Corpus) -> None:
    """Writes the corpus as the adapters do, in large transactions."""

    def rows(connection: sqlite3.Connection, first: int, texts: list[str], vectors: Any) -> None:
        connection.execute(SQL["add_model"], {"name": _MODEL})
        for place, text in enumerate(texts):
            number = first + place
            scope = SCOPE if number % 2 == 0 else OTHER
            adapter._add(connection, scope, record(number, text))  # noqa: SLF001  # as the port does, many at once
            row_id, scope_no = connection.execute(
                "SELECT row_id, scope_no FROM memory_facts ORDER BY row_id DESC"
            ).fetchone()
            values = {"row_id": row_id, "scope_no": scope_no, "model_no": 1, "vector": vectors[place].tobytes()}
            connection.execute(SQL["keep_vector"], values)
            connection.execute(SQL["mark_embedded"], values)

    for first in range(0, corpus.rows, _AT_ONCE):
        count = min(_AT_ONCE, corpus.rows - first)
        texts, vectors = corpus.texts(count), corpus.vectors(count)
        await database.write(partial(rows, first=first, texts=texts, vectors=vectors), long=True)


class Known:
    """Meanings of questions that are known beforehand: what an embedding model costs is not measured."""

    model = _MODEL

    def __init__(self) -> None:
        self.vectors: dict[str, tuple[float, ...]] = {}

    async def of_question(self, _scope: Scope, text: str) -> tuple[float, ...] | None:
        return self.vectors[text]


@contextlib.asynccontextmanager
async def stored(folder: Path, corpus: Corpus) -> AsyncIterator[tuple[Database, SqliteMemorySearch]]:
    database = await Database.open(folder, now_us=0)
    process = SearchProcess(folder / FILE_NAME)
    try:
        await fill(database, corpus)
        yield database, SqliteMemorySearch(database, process)
    finally:
        await process.close()
        await database.close()


async def search(servers: Servers, scale: Scale) -> list[Figure]:
    """Hybrid queries of three words at the port, in turn with the same lookups made directly and with echo."""
    corpus = Corpus(scale.memories)
    floor = await servers.floor()
    folder = servers.folder / "memories"
    async with stored(folder, corpus) as (database, found_by), grpc.aio.insecure_channel(floor.address) as bare:
        echo: Any = bare.unary_unary(ECHO)
        meanings, lookup = Known(), Lookup()
        recall = Recall(SqliteMemories(database), found_by, meanings, SystemClock())
        direct = sqlite3.connect(folder / FILE_NAME, isolation_level=None)
        texts = corpus.texts(scale.searches, words=3)
        vectors = [tuple(map(float, vector)) for vector in corpus.vectors(scale.searches)]
        took: dict[str, list[float]] = {"port": [], "raw": [], "echo": []}
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            meanings.vectors[text] = vector
            wanted = Filter()
            times = {}
            began = now()
            await recall.ask(SCOPE, Question(text, 5, wanted))
            times["port"] = now() - began
            began = now()
            lookup.by_text(direct, SCOPE, asked_terms(text), wanted, 50)
            lookup.by_vector(direct, SCOPE, _MODEL, vector, wanted, 50)
            times["raw"] = now() - began
            began = now()
            await echo(b"x" * 262)
            times["echo"] = now() - began
            if number >= min(20, scale.searches // 4):  # figures of words and vectors are read with the first ones
                for name, value in times.items():
                    took[name].append(value)
        recall_of_vectors = _recall(direct, lookup, corpus, scale)
        direct.close()
    p99 = {name: share(values, 0.99) * 1000 for name, values in took.items()}
    detail = ", ".join(
        f"{name} p50 {median(values) * 1000:.2f} p99 {p99[name]:.2f} ms" for name, values in took.items()
    )
    ceiling = 10.0 if corpus.rows <= 100_000 else 50.0
    count = f"{corpus.rows:,} rows"
    over = p99["port"] / (p99["raw"] + 1.5 * p99["echo"])
    return [
        Figure(f"hybrid query, {count}: p99 / (raw + 1.5 × echo)", over, 1.0, True, "×", detail),
        Figure(f"hybrid query, {count}: p99", p99["port"], ceiling, True, " ms", f"{len(took['port'])} queries"),
        Figure(f"vectors, {count}: recall of the first ten", recall_of_vectors, 0.99, False, "", "against exact"),
    ]


def _recall(connection: sqlite3.Connection, lookup: Lookup, corpus: Corpus, scale: Scale) -> float:
    """Against comparing every stored vector of the scope."""
    rows = connection.execute(
        "SELECT memory_id, vector FROM memory_vectors JOIN memory_facts USING (row_id) "
        "WHERE memory_vectors.scope_no = (SELECT scope_no FROM memory_scopes WHERE tenant_id = ?)",
        (SCOPE.tenant_id,),
    ).fetchall()
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f4").reshape(len(rows), -1)
    kept = []
    for vector in corpus.vectors(min(100, scale.searches)):
        exact = {rows[place][0] for place in np.argsort(-(matrix @ vector))[:10]}
        found = lookup.by_vector(connection, SCOPE, _MODEL, tuple(map(float, vector)), Filter(), 10)
        kept.append(len(exact & {hit.facts.memory_id for hit in found.hits}) / 10)
    return sum(kept) / len(kept)


async def beside(servers: Servers, scale: Scale) -> list[Figure]:
    """ShouldReflect for one caller, idle and while another caller searches memories without a pause."""
    corpus = Corpus(scale.memories)
    folder = servers.folder / "filled"
    async with stored(folder, corpus):
        pass
    sidecar = await servers.sidecar("--data-dir", str(folder))
    async with grpc.aio.insecure_channel(sidecar.address) as channel, grpc.aio.insecure_channel(sidecar.address) as own:
        begin: Any = channel.unary_unary(calls.START_TURN)
        hot: Any = channel.unary_unary(calls.SHOULD_REFLECT)
        query: Any = own.unary_unary(calls.QUERY_REFLECTIONS)
        asked = calls.should_reflect(calls.turn_of(await begin(calls.start_turn("hot"))))
        texts = [calls.query_reflections(text) for text in corpus.texts(200, words=3)]
        for text in texts[:20]:
            await query(text)
        searched = 0

        async def searches() -> None:
            nonlocal searched
            while True:
                await query(random.choice(texts))
                searched += 1

        took: dict[str, list[float]] = {"idle": [], "searching": []}
        for _ in range(scale.rounds):
            for name, times in took.items():
                task = asyncio.create_task(searches()) if name == "searching" else None
                until = time.perf_counter() + scale.stream_s / 2
                while time.perf_counter() < until:
                    began = now()
                    await hot(asked)
                    times.append(now() - began)
                if task is not None:
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task
    p99 = {name: share(values, 0.99) for name, values in took.items()}
    detail = ", ".join(
        f"{name} p50 {median(values) * 1e6:.0f} p99 {p99[name] * 1e6:.0f} µs" for name, values in took.items()
    )
    detail += f"; {searched:,} searches over {corpus.rows:,} rows"
    ratio = p99["searching"] / p99["idle"]
    return [Figure("ShouldReflect while memories are searched: p99 / idle", ratio, 2.0, True, "×", detail)]
