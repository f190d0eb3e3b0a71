"""What every adapter of the port `Embedder` does, clause by clause.

Each test is given a `Provider`: an embedder that answers, ones that fail in every way that its service can, and a count
of the requests that left the process.
"""

import asyncio
import math
from collections.abc import Iterator
from typing import Protocol

import pytest

from sidemirror_server.models.embedder import MOST_TEXTS, Embedder
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus

CANARY = "canary-5f2c"
TEXTS = tuple(f"text {number} {CANARY} 日本 🚀" for number in range(MOST_TEXTS))


class Provider(Protocol):
    """An adapter and the service behind it."""

    def answering(self) -> Embedder: ...

    def failing(self) -> Iterator[Embedder]: ...

    def never_answering(self) -> Embedder: ...

    def requests(self) -> int: ...


async def em1_each_text_gets_a_vector_of_length_1(provider: Provider) -> None:
    made = await provider.answering().embed(TEXTS, 10.0)
    assert len(made.vectors) == len(TEXTS)
    assert len({len(vector) for vector in made.vectors}) == 1
    assert len(set(made.vectors)) == len(TEXTS)
    for vector in made.vectors:
        assert math.fsum(value * value for value in vector) == pytest.approx(1.0)
    assert made.input_tokens > 0
    alone = await provider.answering().embed((TEXTS[3],), 10.0)
    assert alone.vectors == (made.vectors[3],), "in the order of the texts"


async def em2_without_time_there_is_no_vector(provider: Provider) -> None:
    async with asyncio.timeout(5.0):
        with pytest.raises(ModelFailed):
            await provider.answering().embed(TEXTS, 0.0)
        with pytest.raises(ModelFailed):
            await provider.never_answering().embed(TEXTS, 0.2)


async def em3_a_failure_says_its_status_and_nothing_of_the_text(provider: Provider) -> None:
    for embedder in provider.failing():
        with pytest.raises(ModelFailed) as failed:
            await embedder.embed(TEXTS, 10.0)
        assert failed.value.status is not ResultStatus.OK
        assert CANARY not in str(failed.value) + failed.value.detail


async def em4_equal_texts_get_equal_vectors(provider: Provider) -> None:
    embedder = provider.answering()
    once, again = await asyncio.gather(embedder.embed(TEXTS, 10.0), embedder.embed((TEXTS[1], TEXTS[1]), 10.0))
    assert again.vectors == (once.vectors[1], once.vectors[1])


async def em5_a_failed_call_is_not_tried_again(provider: Provider) -> None:
    for embedder in provider.failing():
        before = provider.requests()
        with pytest.raises(ModelFailed):
            await embedder.embed(TEXTS, 10.0)
        assert provider.requests() - before <= 1
