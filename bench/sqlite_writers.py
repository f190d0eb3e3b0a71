"""64 concurrent writers of the embedded store against one big transaction with the same rows (decision 041).

    uv run python bench/sqlite_writers.py [FOLDER]

Cells are interleaved; medians over rounds. FOLDER (default: a temporary one) decides which disk is measured.
"""

import asyncio
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sidemirror_server.storage.migration import Migration
from sidemirror_server.storage.sqlite.database import SqliteDatabase

WRITERS, ROWS, ROUNDS = 64, 6400, 5
SCHEMA = """
CREATE TABLE entry (position INTEGER PRIMARY KEY, tenant TEXT, project TEXT, turn TEXT, sequence INTEGER, body BLOB);
CREATE UNIQUE INDEX entry_turn ON entry (tenant, project, turn, sequence);
CREATE TABLE memory (id INTEGER PRIMARY KEY, tenant TEXT, project TEXT, importance REAL, content TEXT, vector BLOB);
CREATE INDEX memory_importance ON memory (tenant, project, importance);
CREATE TABLE tag (tenant TEXT, project TEXT, tag TEXT, id INTEGER,
                  PRIMARY KEY (tenant, project, tag, id)) WITHOUT ROWID;
CREATE VIRTUAL TABLE text USING fts5(content, content='');
"""
_random = random.Random(7)
_words = [f"word{n}" for n in range(20_000)]
_texts = [" ".join(_random.choices(_words, k=28)) for _ in range(ROWS)]
_vector, _body = _random.randbytes(1536), _random.randbytes(300)


def entry(connection: sqlite3.Connection, n: int) -> None:
    """One row of about 300 bytes, each writer in a turn of its own."""
    connection.execute("INSERT INTO entry VALUES (NULL, 't', 'p', ?, ?, ?)", (f"turn{n % WRITERS}", n, _body))


def memory(connection: sqlite3.Connection, n: int) -> None:
    """A row, three tags, full text and a vector of 384 floats: what a stored reflection costs."""
    connection.execute("INSERT INTO memory VALUES (?, 't', 'p', ?, ?, ?)", (n, n % 100 / 100, _texts[n], _vector))
    connection.executemany("INSERT INTO tag VALUES ('t', 'p', ?, ?)", [(f"tag{(n * 7 + k) % 50}", n) for k in range(3)])
    connection.execute("INSERT INTO text (rowid, content) VALUES (?, ?)", (n, _texts[n]))


def _with_number(row: Callable[[sqlite3.Connection, int], None], n: int, connection: sqlite3.Connection) -> None:
    row(connection, n)


async def one_transaction(database: SqliteDatabase, row: Callable[[sqlite3.Connection, int], None]) -> float:
    def all_rows(connection: sqlite3.Connection) -> None:
        for n in range(ROWS):
            row(connection, n)

    started = time.perf_counter()
    await database.write(all_rows, long=True)
    return ROWS / (time.perf_counter() - started)


async def many_writers(
    database: SqliteDatabase, row: Callable[[sqlite3.Connection, int], None], *, busy: bool
) -> float:
    numbers = iter(range(ROWS))
    done = False

    async def writer() -> None:
        for n in numbers:
            await database.write(partial(_with_number, row, n))

    async def never_idle() -> None:
        while not done:
            until = time.perf_counter() + 0.0001
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    other = asyncio.create_task(never_idle()) if busy else None
    started = time.perf_counter()
    await asyncio.gather(*[writer() for _ in range(WRITERS)])
    rate = ROWS / (time.perf_counter() - started)
    done = True
    if other is not None:
        await other
    return rate


async def measured(run: Callable[[SqliteDatabase], object], root: Path) -> float:
    with tempfile.TemporaryDirectory(dir=root) as folder:
        database = await SqliteDatabase.open(Path(folder), now_us=0, migrations=(Migration(1, "bench", SCHEMA, ""),))
        try:
            return await run(database)  # type: ignore[misc, no-any-return]
        finally:
            await database.close()


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir())
    for row in (entry, memory):
        cells = {
            "one transaction": lambda database, row=row: one_transaction(database, row),
            "64 writers": lambda database, row=row: many_writers(database, row, busy=False),
            "64 writers, loop never idle": lambda database, row=row: many_writers(database, row, busy=True),
        }
        rates: dict[str, list[float]] = {name: [] for name in cells}
        for _ in range(ROUNDS):
            for name, cell in cells.items():
                rates[name].append(asyncio.run(measured(cell, root)))
        whole = statistics.median(rates["one transaction"])
        for name, values in rates.items():
            rate = statistics.median(values)
            spread = f"{min(values):.0f} to {max(values):.0f}"
            print(f"{row.__name__:8} {name:28} {rate:9.0f}/s  {rate / whole:5.2f}  ({spread})")


if __name__ == "__main__":
    main()
