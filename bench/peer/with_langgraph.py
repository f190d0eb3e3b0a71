"""LangGraph's SqliteStore with vectors that are looked up, and as durable as ours: WAL, synchronous = FULL.

It searches by meaning only. One caller uses the store that does not wait (a call costs no hop to a thread), 64 use the
one of asyncio, which writes what is asked for in one turn of the loop in one transaction.
"""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore
from worker import Data, scope_of, serve

_AT_ONCE = 500
_DURABLE = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")


class _Meanings(Embeddings):
    def __init__(self, data: Data) -> None:
        self._data = data

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._data.meaning(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._data.meaning(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class LangGraph:
    def __init__(self, data: Data, folder: Path) -> None:
        folder.mkdir()
        self.data = data
        self._file = str(folder / "store.db")
        # Both names: the library's types say one, and it reads the other.
        self._index: Any = {
            "dims": data.vectors.shape[1], "embed": _Meanings(data), "fields": ["text"], "text_fields": ["text"]
        }  # fmt: skip
        connection = sqlite3.connect(self._file, check_same_thread=False, isolation_level=None)
        for statement in _DURABLE:
            connection.execute(statement)
        self._store = SqliteStore(connection, index=self._index)
        self._store.setup()
        self._loop = asyncio.new_event_loop()
        self._many = self._loop.run_until_complete(self._open())

    async def _open(self) -> AsyncSqliteStore:
        connection = await aiosqlite.connect(self._file, isolation_level=None)
        for statement in _DURABLE:
            await connection.execute(statement)
        store = AsyncSqliteStore(connection, index=self._index)
        await store.setup()
        return store

    def fill(self, first: int, count: int) -> None:
        for begin in range(first, first + count, _AT_ONCE):
            numbers = range(begin, min(begin + _AT_ONCE, first + count))
            self._store.batch([PutOp((scope_of(n),), str(n), {"text": self.data.texts[n]}) for n in numbers])

    def write(self, numbers: list[int], writers: int) -> None:
        if writers > 1:
            self._loop.run_until_complete(self._write(numbers, writers))
            return
        for number in numbers:
            self._store.put((scope_of(number),), str(number), {"text": self.data.texts[number]})

    async def _write(self, numbers: list[int], writers: int) -> None:
        async def one_writer(own: list[int]) -> None:
            for number in own:
                await self._many.aput((scope_of(number),), str(number), {"text": self.data.texts[number]})

        await asyncio.gather(*[one_writer(numbers[at::writers]) for at in range(writers)])

    def search(self, text: str, k: int) -> int:
        return len(self._store.search(("default",), query=text, limit=k))


if __name__ == "__main__":
    serve(LangGraph)
