"""Appending to the turn log: many turns at once, 64 callers against one call, one caller against bare SQLite.

    uv run python bench/sqlite_turn_log.py [FOLDER]

Cells are interleaved; medians over rounds. FOLDER (default: a temporary one) decides which disk is measured.
"""

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

import uvloop

from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE

TURNS, ENTRIES, ROUNDS, SUSTAINED = 64, 8, 60, 50
BODY = b'{"type":"event","event_id":"%s","what":{"name":"query","arguments":"%s"}}' % (b"e" * 36, b"x" * 200)
HEAD = b'{"task":"%s","event_count":3,"budget":{},"spent":{}}' % (b"t" * 200)
BARE = """
CREATE TABLE entry (position INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT, project TEXT, turn TEXT, sequence INTEGER,
                    body BLOB);
CREATE UNIQUE INDEX entry_turn ON entry (tenant, project, turn, sequence);
"""


def batch(turn: int, first: int, entries: int) -> Batch:
    last = first + entries - 1
    turn_id, session_id = TurnId(f"0190f3c4-7d3a-7000-8000-{turn:012}"), SessionId(f"session-{turn:04}")
    head = TurnHead(turn_id, session_id, 1, TurnStanding.OPEN, last, 1000, 2000, HEAD)
    drafts = tuple(Draft(sequence, 1000, BODY) for sequence in range(first, last + 1))
    return Batch(head, drafts, b"{}" if first == 1 else None)


async def seconds(run: Awaitable[object]) -> float:
    started = time.perf_counter()
    await run
    return time.perf_counter() - started


async def one_call(log: SqliteTurnLog, first: int, entries: int) -> None:
    await log.append(DEFAULT_SCOPE, tuple(batch(turn, first, entries) for turn in range(TURNS)))


async def callers(log: SqliteTurnLog, first: int) -> None:
    await asyncio.gather(*[log.append(DEFAULT_SCOPE, (batch(turn, first, 1),)) for turn in range(TURNS)])


async def writer(log: SqliteTurnLog, turn: int) -> None:
    for sequence in range(1, SUSTAINED + 1):
        await log.append(DEFAULT_SCOPE, (batch(turn, sequence, 1),))


async def bare_insert(bare: sqlite3.Connection, sequence: int) -> None:
    bare.execute("BEGIN IMMEDIATE")
    bare.execute("INSERT INTO entry VALUES (NULL, 'default', 'default', 'turn', ?, ?)", (sequence, BODY))
    bare.execute("COMMIT")


async def measure(folder: Path) -> None:
    database = await SqliteDatabase.open(folder, now_us=0)
    log = SqliteTurnLog(database)
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; {BARE}")
    cells = (
        "64 turns x 8 entries",
        "64 turns x 1 entry",
        "64 callers, 1 entry each",
        "1 caller, 1 entry",
        "bare insert",
    )
    times: dict[str, list[float]] = {cell: [] for cell in cells}
    following = 1
    for number in range(ROUNDS):
        times[cells[0]].append(await seconds(one_call(log, following, ENTRIES)))
        times[cells[1]].append(await seconds(one_call(log, following + ENTRIES, 1)))
        times[cells[2]].append(await seconds(callers(log, following + ENTRIES + 1)))
        following += ENTRIES + 2
        times[cells[3]].append(await seconds(log.append(DEFAULT_SCOPE, (batch(TURNS, number + 1, 1),))))
        times[cells[4]].append(await seconds(bare_insert(bare, number)))
    medians = {cell: statistics.median(values) for cell, values in times.items()}
    for cell, median in medians.items():
        print(f"{cell:26} {median * 1e3:8.3f} ms")
    print(f"entries/s of one append    {TURNS * ENTRIES / medians[cells[0]]:8.0f}")
    print(f"64 callers / one call      {medians[cells[1]] / medians[cells[2]]:8.2f}")
    print(f"1 caller / bare insert     {medians[cells[3]] / medians[cells[4]]:8.2f}")
    took = await seconds(asyncio.gather(*[writer(log, turn) for turn in range(100, 100 + TURNS)]))
    print(f"64 writers, entries/s      {TURNS * SUSTAINED / took:8.0f}")
    bare.close()
    await database.close()


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        uvloop.run(measure(Path(folder)))


if __name__ == "__main__":
    main()
