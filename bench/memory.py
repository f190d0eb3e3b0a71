"""Searching memories: hybrid queries at the port against the raw engine, and what hot calls feel of them."""

import asyncio
import contextlib
import json
import random
import sqlite3
import time
from typing import Any

import grpc
import numpy as np

from bench import calls
from bench.corpus import DIMENSIONS, MODEL, SCOPE, Corpus, place_of, stored
from bench.figures import Figure, Scale, median, now, share
from bench.floor import ECHO
from bench.processes import Servers
from sidemirror_server.memory.finding.recall import Question, Recall
from sidemirror_server.memory.finding.search import Filter
from sidemirror_server.memory.finding.weighing import Weight
from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_lookup import Lookup
from sidemirror_server.storage.sqlite.memory_searcher import connect
from sidemirror_server.storage.sqlite.memory_vectors import Vectors
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.terms import asked_terms, terms_of

# Vectors that lie at random: as many are compared at most.
_AT_RANDOM = 100_000


class Known:
    """Meanings of questions that are known beforehand: what an embedding model costs is not measured."""

    model = MODEL

    def __init__(self) -> None:
        self.vectors: dict[str, tuple[float, ...]] = {}

    def weight(self, _scope: Scope) -> Weight:
        return Weight(0.5)

    async def of_question(self, _scope: Scope, text: str, _wait_s: float | None = None) -> tuple[float, ...] | None:
        return self.vectors[text]


async def search(servers: Servers, scale: Scale) -> list[Figure]:
    """Hybrid queries of three words at the port, in turn with the same lookups made directly and with echo."""
    corpus = Corpus(scale.memories)
    floor = await servers.floor()
    asked = corpus.questions()
    folder = place_of(servers.folder, scale.kept, corpus.rows)
    async with stored(folder, corpus) as (database, found_by), grpc.aio.insecure_channel(floor.address) as bare:
        echo: Any = bare.unary_unary(ECHO)
        meanings, lookup = Known(), Lookup()
        recall = Recall(SqliteMemories(database), found_by, meanings, SystemClock())
        direct = connect(str(folder / FILE_NAME))
        texts = asked.texts(scale.searches, words=3)
        vectors = [tuple(map(float, vector)) for vector in asked.vectors(scale.searches)]
        took: dict[str, list[float]] = {"port": [], "raw": [], "raw's CPU": [], "echo": []}

        async def at_the_port(text: str, vector: tuple[float, ...], times: dict[str, float]) -> None:
            meanings.vectors[text] = vector
            began = now()
            await recall.ask(SCOPE, Question(text, 5, Filter()))
            times["port"] = now() - began

        async def directly(text: str, vector: tuple[float, ...], times: dict[str, float]) -> None:
            began, cpu = now(), time.thread_time()
            lookup.by_text(direct, SCOPE, asked_terms(text), Filter(), 50, said=terms_of(text).split())
            lookup.by_vector(direct, SCOPE, MODEL, vector, Filter(), 50)
            times["raw"] = now() - began
            times["raw's CPU"] = time.thread_time() - cpu

        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            times: dict[str, float] = {}
            # Who comes first reads from the disk what is not in memory, for both.
            for ask in (at_the_port, directly) if number % 2 else (directly, at_the_port):
                await ask(text, vector, times)
            began = now()
            await echo(b"x" * 262)
            times["echo"] = now() - began
            if number >= min(20, scale.searches // 4):  # figures of words and vectors are read with the first ones
                for name, values in took.items():
                    values.append(times[name])
        recall_of_vectors = _recall(direct, lookup, asked, scale)
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
        _recall_at_random(min(corpus.rows, _AT_RANDOM)),
    ]


def _recall(connection: sqlite3.Connection, lookup: Lookup, asked: Corpus, scale: Scale) -> float:
    """Against comparing every stored vector of the scope."""
    rows = connection.execute(
        "SELECT memory_id, vector FROM memory_vectors JOIN memory_facts USING (row_id) "
        "WHERE memory_vectors.scope_no = (SELECT scope_no FROM memory_scopes WHERE tenant_id = ?)",
        (SCOPE.tenant_id,),
    ).fetchall()
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f4").reshape(len(rows), -1)
    kept = []
    for vector in asked.vectors(min(100, scale.searches)):
        exact = {rows[place][0] for place in np.argsort(-(matrix @ vector))[:10]}
        found = lookup.by_vector(connection, SCOPE, MODEL, tuple(map(float, vector)), Filter(), 10)
        kept.append(len(exact & {hit.facts.memory_id for hit in found.hits}) / 10)
    return sum(kept) / len(kept)


def _recall_at_random(count: int) -> Figure:
    """Of vectors that lie nowhere together, with what holds them alone, in bytes whatever their number."""
    chance = np.random.default_rng(3)
    made, asked = (chance.standard_normal((many, DIMENSIONS)).astype("<f4") for many in (count, 50))
    made, asked = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (made, asked))
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE TABLE memory_vectors (vector_no INTEGER PRIMARY KEY, row_id, scope_no, model_no, vector)"
    )
    connection.execute("CREATE INDEX memory_vectors_of ON memory_vectors (scope_no, model_no, vector_no, row_id)")
    values = ((number + 1, number + 1, vector.tobytes()) for number, vector in enumerate(made))
    connection.executemany("INSERT INTO memory_vectors VALUES (?, ?, 1, 1, ?)", values)

    def read(rows: list[int], *, with_vectors: bool) -> list[tuple[Any, ...]]:  # noqa: ARG001  # there are many
        statement = "SELECT vector, row_id FROM memory_vectors WHERE vector_no IN (SELECT value FROM json_each(?))"
        return connection.execute(statement, (json.dumps(rows),)).fetchall()

    held, kept, took = Vectors(exact_rows=0), [], []
    for vector in asked:
        exact = {int(place) + 1 for place in np.argsort(-(made @ vector))[:10]}
        began = time.thread_time()
        found = sorted(next(held.nearest(connection, 1, 1, tuple(map(float, vector)), 10, read)), reverse=True)[:10]
        took.append(time.thread_time() - began)
        kept.append(len(exact & {row for _, (row,) in found}) / 10)
    connection.close()
    detail = f"against exact; CPU of a question p50 {median(took) * 1000:.2f} ms"
    return Figure(
        f"vectors at random, {count:,} in a scope: recall of the first ten",
        sum(kept) / len(kept), 0.99, False, "", detail,
    )  # fmt: skip


async def beside(servers: Servers, scale: Scale) -> list[Figure]:
    """ShouldReflect for one caller, idle and while another caller searches memories without a pause."""
    corpus = Corpus(scale.memories)
    folder = place_of(servers.folder, scale.kept, corpus.rows)
    async with stored(folder, corpus):
        pass
    sidecar = await servers.sidecar("--data-dir", str(folder))
    async with grpc.aio.insecure_channel(sidecar.address) as channel, grpc.aio.insecure_channel(sidecar.address) as own:
        begin: Any = channel.unary_unary(calls.START_TURN)
        hot: Any = channel.unary_unary(calls.SHOULD_REFLECT)
        query: Any = own.unary_unary(calls.QUERY_REFLECTIONS)
        asked = calls.should_reflect(calls.turn_of(await begin(calls.start_turn("hot"))))
        texts = [calls.query_reflections(text) for text in corpus.questions().texts(200, words=3)]
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
