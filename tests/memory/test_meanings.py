"""Vectors are made in the background whatever is in the way: a text that is refused, another model, no money."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from sidemirror_server.memory.finding.embeddings import MemoryMeanings
from sidemirror_server.memory.finding.search import Filter, Unembedded
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope, serves_only
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import memory
from tests.faults.clocks import SetClock
from tests.faults.waiting import until, until_found
from tests.models.gateways import paid

HERE, THERE = Scope("acme", "shop"), Scope("umbrella", "shop")
A_DAY_S = 86_400.0


class Model:
    """Makes vectors; refuses what holds "poison" or more than `most_chars`. A token of it is a byte."""

    provider = "openai_compatible"

    def __init__(self, name: str = "small") -> None:
        self.name = name
        self.dimensions = 4
        self.most_chars = 10_000
        self.calls: list[tuple[str, ...]] = []

    async def embed(self, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        assert deadline_s > 0
        self.calls.append(texts)
        if any("poison" in text or len(text) > self.most_chars for text in texts):
            raise ModelFailed(ResultStatus.FAILED_MODEL, "400", usage=Usage(self.provider, self.name))
        vector = (1.0,) + (0.0,) * (self.dimensions - 1)
        return Embeddings(tuple(vector for _ in texts), sum(map(len, texts)))

    async def close(self) -> None:
        pass


class Search(SqliteMemorySearch):
    """Counts how often it is looked for memories without a vector."""

    looks = 0

    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]:
        self.looks += 1
        return await super().unembedded(scope, model, limit)


class Pauses:
    """Sleeps until it is told."""

    def __init__(self) -> None:
        self.many = 0
        self.over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        assert seconds > 0
        self.many += 1
        await self.over.wait()


class Store:
    """Memories, each called by its text, and a sidecar's parts on them."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._memories = SqliteMemories(database)
        self.search = Search(database)

    async def put(self, scope: Scope, *texts: str) -> None:
        for text in texts:
            assert await self._memories.put(scope, MemoryHistory(memory(text[:40], text)))

    async def delete(self, scope: Scope, *texts: str) -> None:
        for text in texts:
            await self._memories.delete(scope, text)

    async def embedded(self, scope: Scope, model: str = "openai_compatible/small/4") -> int:
        """How many memories have a vector of the model, whose name ends with its dimensions."""
        dimensions = int(model.rpartition("/")[2])
        question = (1.0,) + (0.0,) * (dimensions - 1)
        return (await self.search.by_vector(scope, model, question, Filter(), 1)).embedded

    async def until(self, scope: Scope, many: int, model: str = "openai_compatible/small/4") -> None:
        """Once so many have one."""
        await until_found(lambda: self.embedded(scope, model), lambda found: found == many)

    @contextlib.asynccontextmanager
    async def made(
        self, model: Model, pauses: Pauses, clock: Clock | None = None, caps: Caps | None = None, **given: Any
    ) -> AsyncIterator[MemoryMeanings]:
        """What makes vectors, while it runs."""
        clock = clock or SystemClock()
        embedder = paid(model, self._database, clock, caps)
        meanings = MemoryMeanings(embedder, self.search, clock, pauses, **given)
        running = asyncio.create_task(meanings.run())
        try:
            yield meanings
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@contextlib.asynccontextmanager
async def store(folder: Path) -> AsyncIterator[Store]:
    async with sqlite_database(folder) as database:
        yield Store(database)


async def test_a_text_that_is_refused_holds_up_no_other(tmp_path: Path) -> None:
    model, pauses = Model(), Pauses()
    async with store(tmp_path) as kept, kept.made(model, pauses) as meanings:
        for number in range(9):
            await kept.put(HERE, f"poison {number}", f"good {number}")
        meanings.wake(HERE)
        await kept.until(HERE, 9)
        # Those are not asked for again; what is new is.
        await until(lambda: not meanings._waiting)
        await until(lambda: HERE in meanings._whole)
        before = len(model.calls)
        await kept.put(HERE, "good 9")
        meanings.wake(HERE)
        await kept.until(HERE, 10)
        assert model.calls[before:] == [("good 9",)]
        assert not pauses.many


async def test_texts_of_others_go_to_no_model(tmp_path: Path) -> None:
    """Seen to fail when `wake` takes every scope."""
    model, pauses = Model(), Pauses()
    async with store(tmp_path) as kept:
        await kept.put(THERE, "another's")
        await kept.put(HERE, "one's own")
        async with kept.made(model, pauses, serves=serves_only(HERE)) as meanings:
            meanings.wake(THERE)
            meanings.wake(HERE)
            await kept.until(HERE, 1)
            await until(lambda: not meanings._waiting)
    assert model.calls == [("memory",), ("one's own",)]


async def test_a_refused_text_that_comes_alone_is_set_aside(tmp_path: Path) -> None:
    """Seen to fail when `_made` takes a model that refuses all it was asked for one that refuses everything: the text
    was asked for every 30 s, and nobody else's meanwhile."""
    model, pauses = Model(), Pauses()
    async with store(tmp_path) as kept, kept.made(model, pauses) as meanings:
        await kept.put(HERE, "poison")
        await kept.put(THERE, "good")
        meanings.wake(HERE)
        meanings.wake(THERE)
        await kept.until(THERE, 1)
        assert not pauses.many
        before = len(model.calls)
        await kept.put(HERE, "good too")
        meanings.wake(HERE)
        await kept.until(HERE, 1)
        assert model.calls[before:] == [("good too",)]


async def test_a_model_that_refuses_everything_is_left_alone_for_a_while(tmp_path: Path) -> None:
    model, pauses = Model(), Pauses()
    async with store(tmp_path) as kept, kept.made(model, pauses) as meanings:
        await kept.put(HERE, "one")
        assert await meanings.of_question(HERE, "what?") is not None
        await kept.until(HERE, 1)
        model.most_chars = 0
        await kept.put(HERE, "two")
        meanings.wake(HERE)
        await until(lambda: pauses.many == 1)
        model.most_chars = 100
        pauses.over.set()
        await kept.until(HERE, 2)


async def test_a_long_text_that_is_refused_is_tried_with_less(tmp_path: Path) -> None:
    model, pauses = Model(), Pauses()
    model.most_chars = 600
    async with store(tmp_path) as kept, kept.made(model, pauses) as meanings:
        await kept.put(HERE, "word " * 1_000, "short")
        meanings.wake(HERE)
        await kept.until(HERE, 2)


async def test_who_has_no_money_holds_up_nobody_else(tmp_path: Path) -> None:
    """What each may take in a day is little more than one long question."""
    model, pauses, clock = Model(), Pauses(), SetClock()
    caps = Caps(project=Cap(tokens=200))
    async with store(tmp_path) as kept, kept.made(model, pauses, clock, caps) as meanings:
        await kept.put(HERE, "one")
        await kept.put(THERE, "two")
        assert await meanings.of_question(HERE, "why? " * 36 + "now?") is not None
        await until(lambda: pauses.many == 1)  # HERE rests
        meanings.wake(THERE)
        await kept.until(THERE, 1)
        before = len(model.calls)
        meanings.wake(HERE)
        await until(lambda: not meanings._waiting)
        assert len(model.calls) == before
        assert await kept.embedded(HERE) == 0
        clock.advance(A_DAY_S)
        pauses.over.set()
        await kept.until(HERE, 1)


async def test_other_dimensions_are_another_model(tmp_path: Path) -> None:
    model, pauses = Model(), Pauses()
    async with store(tmp_path) as kept, kept.made(model, pauses) as meanings:
        await kept.put(HERE, "one", "two")
        assert await meanings.of_question(HERE, "what?") is not None
        await kept.until(HERE, 2)
        model.dimensions = 8
        await kept.put(HERE, "three")
        meanings.wake(HERE)
        await until(lambda: pauses.many == 1)
        assert await kept.embedded(HERE) == 2, "a vector of another size is not kept beside them"
        assert meanings.model == "openai_compatible/small/8"
        asked = await meanings.of_question(HERE, "what?")
        assert asked is not None
        assert len(asked) == 8, "the one that was remembered is the other model's"
        pauses.over.set()
        await kept.until(HERE, 3, "openai_compatible/small/8")


async def test_vectors_of_questions_have_a_bound_in_bytes(tmp_path: Path) -> None:
    """Seen to fail when their number alone is bounded: 512 of the longest would take hundreds of megabytes."""
    model, pauses = Model(), Pauses()
    async with store(tmp_path) as kept, kept.made(model, pauses) as meanings:
        for number in range(600):
            await meanings.of_question(HERE, f"{number}?")
        before = len(model.calls)
        assert await meanings.of_question(HERE, "599?") == (1.0, 0.0, 0.0, 0.0)
        assert len(model.calls) == before, "it was remembered"
        assert len(meanings._questions) == 512
        model.dimensions = 1_000_000
        for number in range(4):
            await meanings.of_question(HERE, f"long {number}?")
        assert [text for _, text in meanings._questions] == ["long 2?", "long 3?"]
        vectors = meanings._questions.values()
        assert sum(vector.itemsize * len(vector) for vector in vectors) <= 16 * 1024 * 1024


async def test_two_models_do_not_replace_each_other_for_ever(tmp_path: Path) -> None:
    """Two sidecars of one scope with different models. Seen to fail when none of them gives way: each makes all vectors
    again and again, and pays for them."""
    texts = [f"text {number}" for number in range(20)]
    pauses, ours, theirs = Pauses(), Model(), Model("other")
    async with store(tmp_path) as kept, kept.made(ours, pauses) as one, kept.made(theirs, Pauses()) as other:
        await kept.put(HERE, *texts)
        one.wake(HERE)
        await kept.until(HERE, 20)
        other.wake(HERE)
        await kept.until(HERE, 20, "openai_compatible/other/4")
        one.wake(HERE)
        await until(lambda: pauses.many == 1)
        embedded = [text for some in ours.calls for text in some if text in texts]
        assert sorted(embedded) == sorted(texts), "each once"
        # What is new has its vector all the same, of the other one; and the first one tries again later.
        await kept.put(HERE, "new")
        other.wake(HERE)
        await kept.until(HERE, 21, "openai_compatible/other/4")
        pauses.over.set()
        await kept.until(HERE, 21)


async def test_nobody_else_replaces_vectors_in_a_store_of_ones_own(tmp_path: Path) -> None:
    """What is deleted and imported again has its vectors at once. Seen to fail when a sidecar gives way there too."""
    texts, pauses = [f"text {number}" for number in range(20)], Pauses()
    async with store(tmp_path) as kept, kept.made(Model(), pauses, shared=False) as meanings:
        for _ in range(3):
            await kept.put(HERE, *texts)
            meanings.wake(HERE)
            await kept.until(HERE, 20)
            await kept.delete(HERE, *texts)
    assert not pauses.many


async def test_questions_look_for_what_waits_now_and_then(tmp_path: Path) -> None:
    """Seen to fail when `of_question` wakes each time: in Postgres each question then reads through its scope."""
    model, pauses, clock = Model(), Pauses(), SetClock()
    async with store(tmp_path) as kept, kept.made(model, pauses, clock) as meanings:
        await kept.put(HERE, "one")
        await meanings.of_question(HERE, "what?")
        await kept.until(HERE, 1)
        await until(lambda: HERE in meanings._whole and not meanings._waiting)
        before = kept.search.looks
        for number in range(20):
            await meanings.of_question(HERE, f"and {number}?")
        assert not meanings._waiting
        assert kept.search.looks == before
        await kept.put(HERE, "of another server")
        clock.advance(5)
        await meanings.of_question(HERE, "and now?")
        await kept.until(HERE, 2)
