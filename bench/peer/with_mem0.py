"""mem0 with local Qdrant and no model: `infer=False`, and vectors that are looked up.

Words are weighed by an encoder of our own in the place of fastembed's, whose model would be fetched: without one, mem0
would search by meaning only. It costs less than that one does.
"""

import logging
import os
import uuid
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"

import numpy as np
from worker import Data, scope_of, serve

_AT_ONCE = 500
_MEAN_TERMS = 28


class _Words:
    """Words as numbers, weighed as BM25 does; Qdrant adds how rare they are."""

    def embed(self, texts: Sequence[str]) -> Iterator[SimpleNamespace]:
        for text in texts:
            counted = Counter(zlib.crc32(word.encode()) for word in text.split())
            length = 0.25 + 0.75 * sum(counted.values()) / _MEAN_TERMS
            weights = [times * 2.2 / (times + 1.2 * length) for times in counted.values()]
            yield SimpleNamespace(indices=np.array(list(counted)), values=np.array(weights))


class _Meanings:
    """In the place of mem0's embedder."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        return self._data.meaning(text)


class Mem0:
    def __init__(self, data: Data, folder: Path) -> None:
        folder.mkdir()
        os.environ["MEM0_DIR"] = str(folder)
        logging.disable(logging.WARNING)  # it says with each text that spaCy is not there
        from mem0 import Memory

        dimensions = data.vectors.shape[1]
        place = {"path": str(folder / "qdrant"), "embedding_model_dims": dimensions, "on_disk": True}
        nobody = {"provider": "openai", "config": {"api_key": "none"}}
        self.data = data
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "llm": nobody,
                "embedder": nobody,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Meanings(data)
        self._memory.vector_store._bm25_encoder = _Words()  # noqa: SLF001

    def fill(self, first: int, count: int) -> None:
        """Through the vector store, many at once: one by one it would take minutes."""
        for begin in range(first, first + count, _AT_ONCE):
            numbers = range(begin, min(begin + _AT_ONCE, first + count))
            texts = [self.data.texts[number] for number in numbers]
            payloads = [
                {"user_id": scope_of(number), "data": text, "text_lemmatized": text, "hash": str(number),
                 "created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}
                for number, text in zip(numbers, texts, strict=True)
            ]  # fmt: skip
            vectors = [self.data.meaning(text) for text in texts]
            self._memory.vector_store.insert(vectors, payloads, [str(uuid.uuid4()) for _ in numbers])

    def write(self, numbers: list[int], writers: int) -> None:  # noqa: ARG002  # always one
        for number in numbers:
            self._memory.add(self.data.texts[number], user_id=scope_of(number), infer=False)

    def search(self, text: str, k: int) -> int:
        found = self._memory.search(text, top_k=k, filters={"user_id": "default"}, threshold=0.0)
        return len(found["results"])


if __name__ == "__main__":
    serve(Mem0)
