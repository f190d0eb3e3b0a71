"""What an embedding model is worth in a project, measured on the project's own memories."""

import contextlib
import math
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidemirror_server.memory.finding.weighing import (
    FEWEST_MEASURED,
    MOST_MEASURED,
    Halves,
    Weight,
    halves_of,
    shares,
    weigh,
)
from sidemirror_server.memory.finding.weights import Weights
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.models.embedder import MOST_TEXTS, Embeddings
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import ONE, OTHER, T0, memory
from tests.faults.clocks import SetClock
from tests.models.gateways import paid

MANY = 40
NAMES = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath"]


def vector(text: str, dimensions: int = 32) -> tuple[float, ...]:
    """At random, the same for equal texts, of length 1."""
    chance = random.Random(text)
    made = [chance.gauss(0, 1) for _ in range(dimensions)]
    length = math.sqrt(sum(one * one for one in made))
    return tuple(one / length for one in made)


def unlike(number: int) -> Halves:
    """Halves that share no word."""
    return Halves(f"first part number{number}a of it", f"second half no{number}b for that")


def alike(number: int) -> Halves:
    """Halves that share a name, which no other has."""
    name = f"{NAMES[number % 8]}{NAMES[number // 8]}"
    return Halves(f"we asked {name} about it", f"then {name} answered in time")


def test_a_model_that_knows_counts() -> None:
    halves = [unlike(number) for number in range(MANY)]
    known = [vector(str(number)) for number in range(MANY)]
    weight = weigh(halves, known, known)
    assert weight.value > 0
    assert weight.gain > weight.error
    assert weight.memories == MANY
    assert 0 < weight.noise < 1


@pytest.mark.parametrize("seed", range(5))
def test_a_model_that_knows_nothing_counts_for_nothing(seed: int) -> None:
    halves = [alike(number) for number in range(MANY)]
    weight = weigh(
        halves,
        [vector(f"{seed} {half.first}") for half in halves],
        [vector(f"{seed} {half.second}") for half in halves],
    )
    assert weight.value == 0
    assert weight.memories == MANY


def test_where_words_find_everything_no_model_gains() -> None:
    halves = [alike(number) for number in range(MANY)]
    known = [vector(str(number)) for number in range(MANY)]
    weight = weigh(halves, known, known)
    assert (weight.value, weight.gain) == (0.0, 0.0)


def test_halves_are_cut_between_words() -> None:
    assert halves_of("one two three four five six seven") is None
    assert halves_of("one two three four five six seven eight") == Halves("one two three four", "five six seven eight")
    long = halves_of("word " * 1_000)
    assert long is not None
    assert (len(long.first), len(long.second)) == (1_000, 1_000)


def test_shares_begin_at_the_noise() -> None:
    assert shares([0.9, 0.5, 0.1], 0.1) == pytest.approx([1.0, 0.5, 0.0])
    assert shares([0.2, 0.1], 0.3) == [0.0, 0.0]
    assert shares([], 0.1) == []


class Model:
    """Knows which halves belong together; counts its calls."""

    provider, name = "test", "model"

    def __init__(self) -> None:
        self.calls = 0
        self.refuses = False

    async def embed(self, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        assert 0 < len(texts) <= MOST_TEXTS
        self.calls += 1
        if self.refuses:
            raise ModelFailed(ResultStatus.FAILED_MODEL, "400", usage=Usage("", ""))
        return Embeddings(tuple(vector(text.split()[-1].rstrip("ab")) for text in texts), 1)

    async def close(self) -> None:
        pass


class Stored:
    """Memories of a scope, whose halves share no word, and what weighs a model on them."""

    def __init__(self, database: SqliteDatabase, model: Model, clock: SetClock) -> None:
        self._memories = SqliteMemories(database)
        self._many = 0
        self.weights = Weights(paid(model, database, clock), SqliteMemorySearch(database), self._memories, clock)

    async def grow(self, many: int) -> None:
        """Up to so many."""
        for number in range(self._many, many):
            text = f"first part of it number{number}a second half for that number{number}b"
            await self._memories.put(ONE, MemoryHistory(memory(f"m{number}", text, T0 + number)))
        self._many = many


@contextlib.asynccontextmanager
async def stored(folder: Path, model: Model, clock: SetClock, many: int) -> AsyncIterator[Stored]:
    async with sqlite_database(folder) as database:
        made = Stored(database, model, clock)
        await made.grow(many)
        yield made


async def test_a_weight_is_measured_once_and_holds(tmp_path: Path) -> None:
    model, clock = Model(), SetClock()
    async with stored(tmp_path, model, clock, MANY) as made:
        weights = made.weights
        assert weights.of(ONE, "model/32") == Weight()
        await weights.measure(ONE, "model/32")
        found = weights.of(ONE, "model/32")
        assert found.value > 0
        assert found.memories == MANY
        assert weights.of(OTHER, "model/32") == weights.of(ONE, "another/32") == Weight()
        asked = model.calls
        assert asked == 2 * MANY // MOST_TEXTS
        # Neither a little later nor with a few more memories.
        clock.advance(20)
        await made.grow(MANY + 5)
        await weights.measure(ONE, "model/32")
        assert (model.calls, weights.of(ONE, "model/32")) == (asked, found)
        # With half as many again, after a day, and of another model.
        clock.advance(20)
        await made.grow(60)
        await weights.measure(ONE, "model/32")
        assert weights.of(ONE, "model/32").memories == 60
        asked = model.calls
        clock.advance(24 * 3600)
        await weights.measure(ONE, "model/32")
        assert model.calls > asked
        asked = model.calls
        await weights.measure(ONE, "model/64")
        assert model.calls > asked


async def test_a_few_memories_measure_nothing(tmp_path: Path) -> None:
    assert (FEWEST_MEASURED, MOST_MEASURED) == (20, 150)
    model = Model()
    async with stored(tmp_path, model, SetClock(), 19) as made:
        await made.weights.measure(ONE, "model/32")
        assert (made.weights.of(ONE, "model/32"), model.calls) == (Weight(), 0)
        await made.grow(20)
        await made.weights.measure(ONE, "model/32")
        assert made.weights.of(ONE, "model/32").memories == 20, "at once"


async def test_at_most_so_many_are_measured(tmp_path: Path) -> None:
    async with stored(tmp_path, Model(), SetClock(), 400) as made:
        await made.weights.measure(ONE, "model/32")
        assert made.weights.of(ONE, "model/32").memories == MOST_MEASURED


async def test_a_model_that_refuses_the_texts_counts_for_nothing(tmp_path: Path) -> None:
    model = Model()
    model.refuses = True
    async with stored(tmp_path, model, SetClock(), MANY) as made:
        await made.weights.measure(ONE, "model/32")
        assert made.weights.of(ONE, "model/32") == Weight(memories=MANY)
        await made.weights.measure(ONE, "model/32")
        assert model.calls == 1, "and is not asked again at once"
