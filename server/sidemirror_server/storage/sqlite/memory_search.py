"""Finds memories in SQLite. Searches run in another process or on a thread, not on the event loop, unless they read few
memories."""

import sqlite3
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import astuple

from sidemirror_server.memory.finding.search import (
    EMBEDDING_LEASE_US,
    Embedded,
    Filter,
    MemoryFacts,
    TextHits,
    Unembedded,
    VectorHits,
)
from sidemirror_server.storage.sql import columns_of, json_of
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memory_lookup import SQL, Lookup, model_number, scope_number
from sidemirror_server.storage.sqlite.memory_process import SearchProcess, SearchProcesses
from sidemirror_server.storage.sqlite.memory_searcher import (
    Asked,
    Best,
    ByText,
    ByVector,
    Found,
    Labelled,
    looked_up,
)
from sidemirror_server.vocabulary.scope import Scope

# So many rows of labels are read on the event loop. Chosen here: half a millisecond.
_FEW = 100


class SqliteMemorySearch:
    """The port `MemorySearch` on the embedded store."""

    def __init__(self, database: SqliteDatabase, process: SearchProcess | SearchProcesses | None = None) -> None:
        """`process` None: searches run on the database's search thread, which sometimes delays the event loop."""
        self._database = database
        self._process = process
        self._lookup = Lookup()
        # The lease of each scope and model: holder and end in µs. Not stored: only this process uses the folder.
        self._taken: dict[tuple[Scope, str], tuple[str, int]] = {}

    async def by_text(
        self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int, *, said: Sequence[str] = ()
    ) -> TextHits:
        found = await self._ask(ByText(astuple(scope), dict(asked), wanted, limit, tuple(said)))
        return found.texts or TextHits(())

    async def best(
        self, scope: Scope, wanted: Filter, limit: int, *, newest_first: bool = False
    ) -> tuple[MemoryFacts, ...]:
        return (await self._ask(Best(astuple(scope), wanted, limit, newest_first))).facts

    async def labelled(
        self, scope: Scope, tools: tuple[str, ...], error_categories: tuple[str, ...], wanted: Filter, limit: int
    ) -> tuple[MemoryFacts, ...]:
        question = Labelled(astuple(scope), tools, error_categories, wanted, limit)
        few = self._database.read(partial(self._few_labelled, question))
        return few if few is not None else (await self._ask(question)).facts

    def _few_labelled(self, question: Labelled, connection: sqlite3.Connection) -> tuple[MemoryFacts, ...] | None:
        """The answer, unless many memories have the labels: an agent waits for it after a failed call."""
        labels = (question.tools, question.error_categories)
        if self._lookup.has_more(connection, Scope(*question.scope), *labels, _FEW):
            return None
        return looked_up(self._lookup, connection, question).facts

    async def by_vector(
        self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int
    ) -> VectorHits:
        found = await self._ask(ByVector(astuple(scope), model, vector, wanted, limit))
        return found.vectors or VectorHits((), 0, 0)

    async def _ask(self, question: Asked) -> Found:
        if self._process is not None:
            return await self._process.ask(question)
        return await self._database.search(lambda connection: looked_up(self._lookup, connection, question))

    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]:
        def look_up(connection: sqlite3.Connection) -> list[Any]:
            scope_no = scope_number(connection, scope)
            if scope_no is None:
                return []
            # A model without vectors has no number yet: every memory is unembedded.
            model_no = model_number(connection, model) or 2**62
            wanted = {"scope_no": scope_no, "model_no": model_no, "limit": limit}
            found = connection.execute(SQL["unembedded_before"], wanted).fetchall()
            wanted["limit"] = limit - len(found)
            return found + connection.execute(SQL["unembedded_after"], wanted).fetchall()

        return tuple(Unembedded(*row) for row in await self._database.search(look_up))

    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None:
        vectors = tuple(struct.pack(f"<{len(one.vector)}f", *one.vector) for one in embedded)
        await self._database.write_alike(_embed_together, (scope, model, embedded, vectors))

    async def terms_in(self, scope: Scope, memory_ids: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
        wanted = {**columns_of(scope), "memory_ids": json_of(memory_ids)}
        rows = self._database.read(lambda connection: connection.execute(SQL["terms_in"], wanted).fetchall())
        return {memory_id: frozenset(f"{content} {task}".split()) for memory_id, content, task in rows}

    async def take(self, scope: Scope, model: str, holder: str, now_us: int) -> bool:
        has, until_us = self._taken.get((scope, model), (holder, 0))
        if has != holder and now_us < until_us:
            return False
        self._taken[scope, model] = (holder, now_us + EMBEDDING_LEASE_US)
        return True

    async def leave(self, scope: Scope, model: str, holder: str) -> None:
        if self._taken.get((scope, model), ("", 0))[0] == holder:
            del self._taken[scope, model]

    async def forget(self, scope: Scope, memory_ids: tuple[str, ...]) -> None:
        """Nothing to do: vectors are rows beside the memories, and go with them."""


# Scope, model, memories with their vectors, and the same vectors as bytes.
_Embedding = tuple[Scope, str, Sequence[Embedded], Sequence[bytes]]


def _embed_together(connection: sqlite3.Connection, writes: Sequence[_Embedding]) -> list[None]:
    """Stores a batch of vectors with shared statements. Of several for one memory the last one is kept."""
    rows = []
    numbers: dict[tuple[Scope, str], dict[str, Any]] = {}
    for scope, model, embedded, vectors in writes:
        of = numbers.get((scope, model))
        if of is None:
            connection.execute(SQL["add_model"], {"name": model})
            of = {
                **columns_of(scope),
                "model_no": model_number(connection, model),
                "scope_no": scope_number(connection, scope),
            }
            numbers[scope, model] = of
        rows += [
            {**of, "memory_id": one.memory_id, "content": one.content, "vector": vector}
            for one, vector in zip(embedded, vectors, strict=True)
        ]
    connection.executemany(SQL["keep_vector"], rows)
    connection.executemany(SQL["mark_embedded"], rows)
    return [None] * len(writes)
