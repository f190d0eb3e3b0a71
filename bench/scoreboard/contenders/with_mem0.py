"""mem0 in its mode without inference (`infer=False`) with local Qdrant on disk: a user is a `user_id`.

It searches by vectors and by words. For the words it would fetch a model of fastembed; an encoder of ours leaves out
stop words and weighs the others as BM25 does, so that this half of its search is there too. An episode is kept as one
message. `add` without inference keeps what is there already once more, so it is looked up first. The
history of changes is kept in memory alone: in the file that it would have by default, deleted texts stay.
"""

import hashlib
import logging
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"

import numpy as np
from serving import Embedding, Texts, serve

_MEAN_TERMS, _MOST = 28, 100_000
_STOPPED = frozenset(
    re.findall(
        r"\w+",
        """a about after all an and any are as at be been before but by can could did do does for from had has have he
        her him his how i if in into is it its me my no not of on or our out she should so than that the their them then
        there these they this those to up was we were what when where which who why will with would you your""",
    )
)


class _Words:
    """Words as numbers with their weights; Qdrant adds how rare they are."""

    def embed(self, texts: Sequence[str]) -> Iterator[SimpleNamespace]:
        for text in texts:
            words = [word for word in re.findall(r"\w+", text.lower()) if word not in _STOPPED]
            counted = Counter(zlib.crc32(word.encode()) for word in words)
            length = 0.25 + 0.75 * sum(counted.values()) / _MEAN_TERMS
            weights = [times * 2.2 / (times + 1.2 * length) for times in counted.values()]
            yield SimpleNamespace(indices=np.array(list(counted)), values=np.array(weights))


class Mem0(Texts):
    def __init__(self, folder: Path, embedding: Embedding) -> None:
        folder.mkdir(exist_ok=True)
        os.environ["MEM0_DIR"] = str(folder)
        logging.disable(logging.WARNING)  # it says with each text that spaCy is not there
        from mem0 import Memory

        place = {"path": str(folder / "qdrant"), "embedding_model_dims": embedding.dimensions, "on_disk": True}
        model = {"model": embedding.name, "openai_base_url": embedding.url, "api_key": "none",
                 "embedding_dims": embedding.dimensions}  # fmt: skip
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "embedder": {"provider": "openai", "config": model},
                "history_db_path": ":memory:",
            }
        )
        self._memory.vector_store._bm25_encoder = _Words()  # noqa: SLF001 - it has no parameter for it

    def keep(self, user: str, texts: list[str], outcome: str = "") -> list[str]:
        return [self._known(user, text) or self._added(user, text, _fields(outcome)) for text in texts]

    def _known(self, user: str, text: str) -> str | None:
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()  # as mem0 keeps it beside the text
        found = self._memory.get_all(filters={"user_id": user, "hash": digest}, top_k=1)["results"]
        return str(found[0]["id"]) if found else None

    def _added(self, user: str, text: str, metadata: dict[str, str]) -> str:
        message = {"role": "user", "content": text}
        return str(self._memory.add([message], user_id=user, metadata=metadata, infer=False)["results"][0]["id"])

    def find(self, user: str, text: str, k: int, outcome: str = "") -> list[list[str]]:
        filters = {"user_id": user, **_fields(outcome)}
        found = self._memory.search(text, top_k=k, filters=filters, threshold=0.0)["results"]
        return [[one["id"], one["memory"]] for one in found]

    def kept(self, user: str) -> list[str]:
        return [one["id"] for one in self._memory.get_all(filters={"user_id": user}, top_k=_MOST)["results"]]

    def read(self, user: str, memory: str) -> str | None:
        found = self._memory.get(memory)  # it takes no user: whoever asks has to compare
        return None if found is None or found.get("user_id") != user else str(found["memory"])

    def forget(self, user: str) -> None:
        self._memory.delete_all(user_id=user)

    def close(self) -> None:
        self._memory.close()


def _fields(outcome: str) -> dict[str, str]:
    return {"outcome": outcome} if outcome else {}


if __name__ == "__main__":
    serve(Mem0)
