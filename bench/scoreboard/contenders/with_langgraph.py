"""LangGraph's SqliteStore: a user is a namespace, and the key of a text is its digest.

Its own search is by vectors alone. The connection is ours to make, and its maintainers would make it so: WAL, durable,
and with `secure_delete`. A text that is kept again overwrites itself. Writes and questions go through `batch`.
"""

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore
from serving import Embedding, Texts, serve

_AT_ONCE, _MOST = 64, 100_000


class LangGraph(Texts):
    def __init__(self, folder: Path, embedding: Embedding) -> None:
        folder.mkdir(exist_ok=True)
        self._connection = sqlite3.connect(folder / "store.db", check_same_thread=False, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        index: Any = {"dims": embedding.dimensions, "embed": embedding, "fields": ["text"]}
        self._store = SqliteStore(self._connection, index=index)
        self._store.setup()

    def keep(self, user: str, texts: list[str], outcome: str = "") -> list[str]:
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        puts = [PutOp((user,), key, {"text": text, "outcome": outcome}) for key, text in zip(keys, texts, strict=True)]
        for at in range(0, len(puts), _AT_ONCE):
            self._store.batch(puts[at : at + _AT_ONCE])
        return keys

    def find(self, user: str, text: str, k: int, outcome: str = "") -> list[list[str]]:
        only = {"outcome": outcome} if outcome else None
        found = self._store.search((user,), query=text, filter=only, limit=k)
        return [[one.key, one.value["text"]] for one in found]

    def kept(self, user: str) -> list[str]:
        return [one.key for one in self._store.search((user,), limit=_MOST)]

    def read(self, user: str, memory: str) -> str | None:
        found = self._store.get((user,), memory)
        return None if found is None else str(found.value["text"])

    def forget(self, user: str) -> None:
        self._store.batch([PutOp((user,), key, None) for key in self.kept(user)])
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._connection.close()


if __name__ == "__main__":
    serve(LangGraph)
