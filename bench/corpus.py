"""Made-up memories: texts and vectors, and a store that is filled with them."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np

from sidemirror_server.memory.finding.search import Embedded
from sidemirror_server.memory.record import MemoryKind, MemoryRecord
from sidemirror_server.storage.sqlite import memory_search
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.memory_process import SearchProcesses
from sidemirror_server.storage.sqlite.memory_rows import add_new, new_row
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

SCOPE, OTHER = Scope("default", "default"), Scope("t1", "p1")
DIMENSIONS = 384
MODEL = "bench/384"
_WORDS, _TEXT_WORDS, _CLUSTERS = 20_000, 28, 2_000
_T0 = 1_700_000_000_000_000
_AT_ONCE = 5_000
_SEED = 7


class Corpus:
    """Texts of 28 words by Zipf's law out of 20,000, and vectors around 2,000 centres (decision
    041). Half of the rows are another scope's. Each corpus of a `seed` gives the same ones in the same order,
    and all corpora have the same centres."""

    def __init__(self, rows: int, seed: int = _SEED) -> None:
        self.rows = rows
        self._random = np.random.default_rng(seed)
        self._share = 1 / np.arange(1, _WORDS + 1)
        self._share /= self._share.sum()
        self._centres = np.random.default_rng(_SEED).standard_normal((_CLUSTERS, DIMENSIONS)).astype(np.float32)

    def questions(self) -> "Corpus":
        """Others from the same words and around the same centres."""
        return Corpus(self.rows, _SEED + 1)

    def texts(self, count: int, words: int = _TEXT_WORDS) -> list[str]:
        drawn = self._random.choice(_WORDS, size=(count, words), p=self._share)
        return [" ".join(f"w{word:x}q" for word in row) for row in drawn]

    def vectors(self, count: int) -> Any:
        of = self._random.integers(0, _CLUSTERS, count)
        made = self._centres[of] + 0.6 * self._random.standard_normal((count, DIMENSIONS)).astype(np.float32)
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")


def scope_of(number: int) -> Scope:
    return SCOPE if number % 2 == 0 else OTHER


def record(number: int, text: str) -> MemoryRecord:
    return MemoryRecord(
        memory_id=f"m{number:09}",
        kind=MemoryKind.REFLECTION,
        content=text,
        importance=(number % 11) / 10,
        created_us=_T0 + number,
        updated_us=_T0 + number,
        text_key=f"k{number}",
        origin=Origin.AGENT,
        tags=("bench", f"tag{number % 50}"),
    )


async def keep(database: SqliteDatabase, first: int, texts: list[str], vectors: Any) -> None:
    """Writes rows as the adapters do, in one transaction; they are numbered from `first`."""

    def rows(connection: sqlite3.Connection) -> None:
        kept = [new_row(scope_of(first + place), record(first + place, text)) for place, text in enumerate(texts)]
        if add_new(connection, kept):
            raise AssertionError("rows are there already")
        for own in (SCOPE, OTHER):
            made = [Embedded(row.memory.memory_id, row.memory.content, ()) for row in kept if row.scope == own]
            its = [vectors[place].tobytes() for place, row in enumerate(kept) if row.scope == own]
            if made:
                memory_search._embed_together(connection, [(own, MODEL, made, its)])  # noqa: SLF001  # as the port

    await database.write(rows, long=True)


async def fill(database: SqliteDatabase, corpus: Corpus) -> None:
    """Goes on where an earlier run ended. The corpus is drawn from its start."""
    have = await database.search(
        lambda connection: connection.execute("SELECT count(*) FROM memory_vectors").fetchone()
    )
    for first in range(0, corpus.rows, _AT_ONCE):
        count = min(_AT_ONCE, corpus.rows - first)
        texts, vectors = corpus.texts(count), corpus.vectors(count)
        if first >= have[0]:
            await keep(database, first, texts, vectors)


def place_of(folder: Path, kept: Path | None, rows: int) -> Path:
    """Where a filled store is: in a folder of its own that stays, if there is one for such."""
    return folder / "memories" if kept is None else kept / f"memories-{rows}"


@contextlib.asynccontextmanager
async def stored(folder: Path, corpus: Corpus) -> AsyncIterator[tuple[SqliteDatabase, SqliteMemorySearch]]:
    database = await SqliteDatabase.open(folder, now_us=0)
    process = SearchProcesses(folder / FILE_NAME)
    try:
        await fill(database, corpus)
        yield database, SqliteMemorySearch(database, process)
    finally:
        await process.close()
        await database.close()
