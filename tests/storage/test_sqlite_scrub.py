"""What removed rows leave in the embedded store's file, and that tidying leaves nothing of it.

Seen to fail without the merging of the full text index."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sidemirror_server.memory.record import Lesson, Teaching
from sidemirror_server.storage.sqlite import database as store
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import memory, replace

ONE = Scope("acme", "shop")
T0 = 1_700_000_000_000_000
WORD = "qzcanaryscrub"
TURN = key(SourceKind.TURN, "t")


def left_in(folder: Path) -> int:
    return sum(path.read_bytes().lower().count(WORD.encode()) for path in folder.glob(f"{FILE_NAME}*"))


async def removed_many(database: SqliteDatabase) -> SqliteErasures:
    """Every tenth of many memories is removed; others stand between them."""
    memories, erasures = SqliteMemories(database), SqliteErasures(database)
    for number in range(1_500):
        said = f"{WORD} said {'so ' * (number % 97)}{number}" if number % 10 == 3 else f"others {'too ' * 40}{number}"
        draft = memory(f"m{number}", said, text_key=f"k{number}")
        if number % 10 == 3:
            draft = replace(draft, taught_by=(Teaching((TURN,), draft.text_key, T0),))
        await memories.learn(ONE, Lesson(draft), T0)
    await erasures.begin(ONE, "e", (TURN,), T0)
    while left := await erasures.left(ONE, "e", 100):
        for name in left:
            await erasures.remove(ONE, "e", name, T0)
    await erasures.forget_records(ONE, "e")
    return erasures


async def test_nothing_is_left(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        erasures = await removed_many(database)
        assert left_in(tmp_path), "else this would prove nothing"
        await erasures.tidy()
        assert left_in(tmp_path) == 0
        assert len(await SqliteMemories(database).list(ONE, None, None, None, 2_000)) == 1_350


async def test_split_pages_keep_copies_that_rewriting_removes(tmp_path: Path) -> None:
    """`secure_delete` overwrites what is removed where it stands, and not what a split has left of it elsewhere."""
    draw = random.Random(1)

    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE x (id INTEGER PRIMARY KEY, k TEXT, b BLOB)")
        connection.execute("CREATE INDEX xk ON x (k)")
        for number in range(8_000):
            word = WORD if number % 10 == 3 else "ordinary"
            size = draw.choice((1, 20, 600))
            row = (draw.getrandbits(40), f"{word}{number}", f"{word} {'x' * 16 * size}".encode())
            connection.execute("INSERT INTO x VALUES (?, ?, ?)", row)

    async with sqlite_database(tmp_path) as database:
        await database.write(fill, long=True)
        await database.write(lambda c: c.execute("DELETE FROM x WHERE k >= ? AND k < ?", (WORD, f"{WORD}z")), long=True)
        await database.scrub()
        assert left_in(tmp_path) == 0
        await database.write(lambda c: c.execute("DROP TABLE x"), long=True)


async def test_a_reader_that_holds_the_wal_is_not_passed_over(tmp_path: Path) -> None:
    """Seen to fail with a WAL whose rest was logged only: the erasure ended while the words were in it."""
    async with sqlite_database(tmp_path) as database:
        erasures = await removed_many(database)
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM memories").fetchone()
            with pytest.raises(StoreUnavailable, match="a reader keeps the WAL"):
                await erasures.tidy()
            assert left_in(tmp_path)
        await erasures.tidy()
        assert left_in(tmp_path) == 0


async def test_a_large_file_is_not_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store, "SCRUB_LIMIT_BYTES", 4096)
    async with sqlite_database(tmp_path) as database:
        await SqliteErasures(database).tidy()
    (told,) = [record for record in caplog.records if record.msg == "sqlite_not_scrubbed"]
    assert told.limit_bytes == 4096  # type: ignore[attr-defined]  # what `extra` gave it
