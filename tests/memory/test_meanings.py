"""Vectors are made in the background whatever is in the way: a text that is refused, another model, no money."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import cast

from sidemirror_server.memory.finding.embeddings import MemoryMeanings
from sidemirror_server.memory.finding.search import Embedded, MemorySearch, Unembedded
from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves, serves_only
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.faults.clocks import SetClock
from tests.faults.waiting import until

HERE, THERE = Scope("acme", "shop"), Scope("umbrella", "shop")


class Model:
    """Makes vectors; refuses what holds "poison" or more than `most_chars`, and whoever has no money."""

    name = "openai_compatible/small"

    def __init__(self) -> None:
        self.dimensions = 4
        self.most_chars = 10_000
        self.penniless: set[Scope] = set()
        self.calls: list[tuple[Scope, tuple[str, ...]]] = []

    async def embed(
        self, scope: Scope, texts: tuple[str, ...], deadline_s: float, *, background: bool = False
    ) -> Embeddings:
        assert deadline_s > 0
        self.calls.append((scope, texts))
        if scope in self.penniless:
            raise ModelFailed(ResultStatus.SKIPPED_SPEND, "no money")
        if any("poison" in text or len(text) > self.most_chars for text in texts):
            raise ModelFailed(ResultStatus.FAILED_MODEL, "400", usage=Usage("", ""))
        return Embeddings(tuple((1.0,) + (0.0,) * (self.dimensions - 1) for _ in texts), 1)

    async def close(self) -> None:
        pass


class Search:
    """Texts of scopes, and what was kept of them: the model that it was kept under, and how long a vector is."""

    def __init__(self, texts: Mapping[Scope, list[str]]) -> None:
        self.texts = texts
        self.kept: dict[tuple[Scope, str], tuple[str, int]] = {}
        self.looks = 0

    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]:
        self.looks += 1
        lacking = [text for text in self.texts[scope] if self.kept.get((scope, text), ("",))[0] != model]
        return tuple(Unembedded(text, text, "") for text in lacking[:limit])

    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None:
        for one in embedded:
            self.kept[scope, one.content] = (model, len(one.vector))

    async def terms_in(self, scope: Scope, memory_ids: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
        return {text: frozenset() for text in memory_ids if text in self.texts[scope]}

    async def take(self, scope: Scope, model: str, holder: str, now_us: int) -> bool:
        return True

    async def leave(self, scope: Scope, model: str, holder: str) -> None:
        pass


class Pauses:
    """Sleeps until it is told."""

    def __init__(self) -> None:
        self.many = 0
        self.over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        assert seconds > 0
        self.many += 1
        await self.over.wait()


@contextlib.asynccontextmanager
async def made(
    model: Model,
    search: Search,
    pauses: Pauses,
    clock: Clock | None = None,
    *,
    shared: bool = True,
    serves: Serves = SERVES_ALL,
) -> AsyncIterator[MemoryMeanings]:
    parts = (cast("PaidEmbedder", model), cast("MemorySearch", search), clock or SystemClock(), pauses)
    meanings = MemoryMeanings(*parts, shared=shared, serves=serves)
    running = asyncio.create_task(meanings.run())
    try:
        yield meanings
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_text_that_is_refused_holds_up_no_other() -> None:
    model, pauses = Model(), Pauses()
    poison = [f"poison {number}" for number in range(9)]
    good = [f"good {number}" for number in range(9)]
    mixed = [text for pair in zip(poison, good, strict=True) for text in pair]
    search = Search({HERE: mixed})
    async with made(model, search, pauses) as meanings:
        meanings.wake(HERE)
        await until(lambda: len(search.kept) == len(good), within_s=60)
        assert {text for _, text in search.kept} == set(good)
        # Those are not asked for again; what is new is.
        await until(lambda: not meanings._waiting, within_s=60)
        before = len(model.calls)
        search.texts[HERE].append("good 9")
        meanings.wake(HERE)
        await until(lambda: (HERE, "good 9") in search.kept, within_s=60)
        assert model.calls[before:] == [(HERE, ("good 9",))]
        assert not pauses.many


async def test_texts_of_others_go_to_no_model() -> None:
    """Seen to fail when `wake` takes every scope."""
    model, pauses = Model(), Pauses()
    search = Search({THERE: ["another's"], HERE: ["one's own"]})
    async with made(model, search, pauses, serves=serves_only(HERE)) as meanings:
        meanings.wake(THERE)
        meanings.wake(HERE)
        await until(lambda: (HERE, "one's own") in search.kept, within_s=60)
        await until(lambda: not meanings._waiting, within_s=60)
    assert {scope for scope, texts in model.calls if texts != ("memory",)} == {HERE}


async def test_a_refused_text_that_comes_alone_is_set_aside() -> None:
    """Seen to fail when `_made` takes a model that refuses all it was asked for one that refuses everything: the text
    was asked for every 30 s, and nobody else's meanwhile."""
    model, pauses = Model(), Pauses()
    search = Search({HERE: ["poison"], THERE: ["good"]})
    async with made(model, search, pauses) as meanings:
        meanings.wake(HERE)
        meanings.wake(THERE)
        await until(lambda: (THERE, "good") in search.kept, within_s=60)
        assert not pauses.many
        before = len(model.calls)
        search.texts[HERE].append("good too")
        meanings.wake(HERE)
        await until(lambda: (HERE, "good too") in search.kept, within_s=60)
        assert model.calls[before:] == [(HERE, ("good too",))]


async def test_a_model_that_refuses_everything_is_left_alone_for_a_while() -> None:
    model, pauses = Model(), Pauses()
    search = Search({HERE: ["one"]})
    async with made(model, search, pauses) as meanings:
        assert await meanings.of_question(HERE, "what?") is not None
        await until(lambda: len(search.kept) == 1, within_s=60)
        model.most_chars = 0
        search.texts[HERE].append("two")
        meanings.wake(HERE)
        await until(lambda: pauses.many == 1, within_s=60)
        model.most_chars = 100
        pauses.over.set()
        await until(lambda: (HERE, "two") in search.kept, within_s=60)


async def test_a_long_text_that_is_refused_is_tried_with_less() -> None:
    model, pauses = Model(), Pauses()
    model.most_chars = 600
    search = Search({HERE: ["word " * 1_000, "short"]})
    async with made(model, search, pauses) as meanings:
        meanings.wake(HERE)
        await until(lambda: len(search.kept) == 2, within_s=60)


async def test_who_has_no_money_holds_up_nobody_else() -> None:
    model, pauses = Model(), Pauses()
    model.penniless.add(HERE)
    search = Search({HERE: ["one"], THERE: ["two"]})
    async with made(model, search, pauses) as meanings:
        meanings.wake(HERE)
        meanings.wake(THERE)
        await until(lambda: len(search.kept) == 1, within_s=60)
        before = len(model.calls)
        meanings.wake(HERE)  # which rests
        await until(lambda: pauses.many == 1, within_s=60)
        assert len(model.calls) == before
        model.penniless.clear()
        pauses.over.set()
        await until(lambda: len(search.kept) == 2, within_s=60)


async def test_other_dimensions_are_another_model() -> None:
    model, pauses = Model(), Pauses()
    search = Search({HERE: ["one", "two"]})
    async with made(model, search, pauses) as meanings:
        assert await meanings.of_question(HERE, "what?") is not None
        await until(lambda: len(search.kept) == 2, within_s=60)
        assert set(search.kept.values()) == {("openai_compatible/small/4", 4)}
        model.dimensions = 8
        search.texts[HERE].append("three")
        meanings.wake(HERE)
        await until(lambda: pauses.many == 1, within_s=60)
        assert len(search.kept) == 2, "a vector of another size is not kept beside them"
        assert meanings.model == "openai_compatible/small/8"
        asked = await meanings.of_question(HERE, "what?")
        assert asked is not None
        assert len(asked) == 8, "the one that was remembered is the other model's"
        pauses.over.set()
        await until(lambda: set(search.kept.values()) == {("openai_compatible/small/8", 8)}, within_s=60)
        assert len(search.kept) == 3


async def test_vectors_of_questions_have_a_bound_in_bytes() -> None:
    """Seen to fail when their number alone is bounded: 512 of the longest would take hundreds of megabytes."""
    model, pauses = Model(), Pauses()
    async with made(model, Search({HERE: []}), pauses) as meanings:
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
        kept = meanings._questions.values()
        assert sum(vector.itemsize * len(vector) for vector in kept) <= 16 * 1024 * 1024


async def test_two_models_do_not_replace_each_other_for_ever() -> None:
    """Two sidecars of one scope with different models. Seen to fail when none of them gives way: each makes all vectors
    again and again, and pays for them."""
    texts = [f"text {number}" for number in range(20)]
    search, pauses = Search({HERE: texts}), Pauses()
    ours, theirs = Model(), Model()
    theirs.name = "openai_compatible/other"

    def kept_under() -> set[str]:
        return {model for model, _ in search.kept.values()}

    async with made(ours, search, pauses) as one, made(theirs, search, Pauses()) as other:
        one.wake(HERE)
        await until(lambda: len(search.kept) == 20, within_s=60)
        other.wake(HERE)
        await until(lambda: kept_under() == {other.model}, within_s=60)
        one.wake(HERE)
        await until(lambda: pauses.many == 1, within_s=60)
        embedded = [text for _, some in ours.calls for text in some if text in texts]
        assert sorted(embedded) == sorted(texts), "each once"
        # What is new has its vector all the same, of the other one; and the first one tries again later.
        search.texts[HERE].append("new")
        other.wake(HERE)
        await until(lambda: len(search.kept) == 21, within_s=60)
        assert kept_under() == {other.model}
        pauses.over.set()
        await until(lambda: kept_under() == {one.model}, within_s=60)


async def test_nobody_else_replaces_vectors_in_a_store_of_ones_own() -> None:
    """What is deleted and imported again has its vectors at once. Seen to fail when a sidecar gives way there too."""
    search, pauses = Search({HERE: [f"text {number}" for number in range(20)]}), Pauses()
    async with made(Model(), search, pauses, shared=False) as meanings:
        for _ in range(3):
            search.kept.clear()
            meanings.wake(HERE)
            await until(lambda: len(search.kept) == 20, within_s=60)
    assert not pauses.many


async def test_questions_look_for_what_waits_now_and_then() -> None:
    """Seen to fail when `of_question` wakes each time: in Postgres each question then reads through its scope."""
    model, pauses, clock = Model(), Pauses(), SetClock()
    search = Search({HERE: ["one"]})
    async with made(model, search, pauses, clock) as meanings:
        await meanings.of_question(HERE, "what?")
        await until(lambda: (HERE, "one") in search.kept and not meanings._waiting, within_s=60)
        await until(lambda: HERE in meanings._whole, within_s=60)
        before = search.looks
        for number in range(20):
            await meanings.of_question(HERE, f"and {number}?")
        assert not meanings._waiting
        assert search.looks == before
        search.texts[HERE].append("of another server")
        clock.advance(5)
        await meanings.of_question(HERE, "and now?")
        await until(lambda: (HERE, "of another server") in search.kept, within_s=60)
