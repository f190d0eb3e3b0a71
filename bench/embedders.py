"""Embedding models of which some know nothing: for `bench.retrieval`, which measures that they cannot hurt."""

import asyncio
import contextlib
import hashlib
import random
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.environments import PINNED, made
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleEmbedder
from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.vocabulary.scope import Scope

_DIMENSIONS = 384
_RUN = 3
_NAME = "all-MiniLM-L6-v2"


class Texts(Protocol):
    """Makes vectors of texts, as `PaidEmbedder` does."""

    name: str

    async def embed(
        self, scope: Scope, texts: tuple[str, ...], deadline_s: float, *, background: bool = False
    ) -> Embeddings: ...


class Random:
    """Vectors that lie at random; equal texts have equal ones."""

    name = "random"

    async def embed(
        self, _scope: Scope, texts: tuple[str, ...], _deadline_s: float, *, background: bool = False
    ) -> Embeddings:
        del background
        return Embeddings(tuple(map(_at_random, texts)), 0)


class Hashed:
    """The runs of three letters of a text, each counted in a number that its hash chooses."""

    name = "hashed"

    async def embed(
        self, _scope: Scope, texts: tuple[str, ...], _deadline_s: float, *, background: bool = False
    ) -> Embeddings:
        del background
        return Embeddings(tuple(map(_hashed, texts)), 0)


class Served:
    """A model behind an endpoint. Equal texts are sent once."""

    name = _NAME

    def __init__(self, url: str) -> None:
        self._embedder = OpenAICompatibleEmbedder(_NAME, None, url)
        self._known: dict[str, tuple[float, ...]] = {}

    async def embed(
        self, _scope: Scope, texts: tuple[str, ...], deadline_s: float, *, background: bool = False
    ) -> Embeddings:
        del background
        lacking = tuple(dict.fromkeys(text for text in texts if text not in self._known))
        if lacking:
            vectors = (await self._embedder.embed(lacking, deadline_s)).vectors
            self._known.update(zip(lacking, vectors, strict=True))
        return Embeddings(tuple(self._known[text] for text in texts), 0)

    async def close(self) -> None:
        await self._embedder.close()


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[Served]:
    """The sentence model of `bench/peer/minilm.txt`, in an environment of its own. Raises Unavailable."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        model = Served(await asyncio.to_thread(stack.enter_context, serving(Path(folder))))
        try:
            yield model
        finally:
            await model.close()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The endpoint of the sentence model, up to `/v1`; its environment is made in the folder. Raises Unavailable."""
    python = made("minilm", folder)
    alone = {"HF_HUB_OFFLINE": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [str(python), str(PINNED / "with_minilm.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=alone, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


def _at_random(text: str) -> tuple[float, ...]:
    chance = random.Random(text)
    return _of_length_1(np.array([chance.gauss(0, 1) for _ in range(_DIMENSIONS)]))


def _hashed(text: str) -> tuple[float, ...]:
    counts = np.zeros(_DIMENSIONS)
    folded = f" {text.casefold()} "
    for at in range(max(1, len(folded) - _RUN + 1)):
        digest = hashlib.blake2b(folded[at : at + _RUN].encode(), digest_size=4).digest()
        counts[int.from_bytes(digest, "big") % _DIMENSIONS] += 1
    return _of_length_1(counts)


def _of_length_1(numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, ...]:
    return tuple((numbers / np.linalg.norm(numbers)).tolist())
