"""How long what a person asks of the record takes, in a large embedded store.

uv run python -m bench.person_view [--turns 100000] [--memories 1000000] [--again 20]

Fills a store with rows as a sidecar writes them, asks each question over the adapters `--again` times, and prints the
median and the longest time in milliseconds, with how many records were answered. Every question is for a page of 50.
"""

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Sized
from pathlib import Path
from statistics import median

from sidemirror_server.memory.record import MemoryKind, MemoryRecord, memory_body
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import HeadKey, TurnStanding
from sidemirror_server.trace.receipts import ReceiptKey
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

SCOPE = Scope("t", "p")
PAGE = 51
# A turn a second; one in a hundred failed, and each tenth was shown a lesson.
_NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
_FILL = (
    """INSERT INTO turns SELECT 't', 'p', printf('t%07d', i), printf('s%05d', i / 20), i % 20,
       'finished', 9, i * 1000000, i * 1000000,
       CAST('{"task":"count the orders of the year","event_count":9}' AS BLOB), 0,
       iif(i % 100 = 0, 'failure', 'success') FROM n""",
    """INSERT INTO receipts SELECT 't', 'p', printf('r%07d', i), 'turn', i * 1000000, printf('t%07d', i), '', '',
       CAST(printf('{"items":[{"id":"m%d","version":1,"kind":"strategy","text_hash":""}]}', i % 30) AS BLOB)
       FROM n WHERE i % 10 = 0""",
    """INSERT INTO lesson_trials SELECT 't', 'p', printf('r%07d', i), printf('m%d', i % 30), 1, 'shown', 0.1,
       i * 1000000, i % 3 = 0, NULL FROM n WHERE i % 10 = 0""",
)
_MEMORIES = """INSERT INTO memories (tenant_id, project_id, memory_id, {columns})
               SELECT 't', 'p', printf('m%d', i), {values} FROM n"""


def fill(path: Path, turns: int, memories: int) -> None:
    """Fills the store with raw rows: what is asked here reads no index that only a sidecar could fill."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    for statement in _FILL:
        connection.execute(f"{_NUMBERS} {statement}", (turns,))
    wanted = {
        row[1]: "''" if row[2] == "TEXT" else "x'7b7d'" if row[2] == "BLOB" else "i"
        for row in connection.execute("PRAGMA table_info(memories)")
        if row[3] and row[4] is None and row[1] not in ("tenant_id", "project_id", "memory_id")
    }
    wanted |= {"kind": "'strategy'", "state": "'active'", "importance": "0.5", "content": "'count orders'"}
    # Every row has the same body.
    body = memory_body(
        MemoryRecord(
            memory_id="m",
            kind=MemoryKind.STRATEGY,
            content="",
            importance=0.5,
            created_us=1,
            updated_us=1,
            text_key="k",
            origin=Origin.AGENT,
        )
    )
    wanted |= {"body": f"x'{body.hex()}'"}
    wanted |= {"origin": "2", "version": "1", "strength": "1", "tags": "'[]'"}
    statement = _MEMORIES.format(columns=", ".join(wanted), values=", ".join(wanted.values()))
    connection.execute(f"{_NUMBERS} {statement}", (memories,))
    connection.execute("COMMIT")
    connection.execute("ANALYZE")
    connection.close()


async def measure(turns: int, memories: int, again: int) -> None:
    """Prints a line for each question."""
    with tempfile.TemporaryDirectory() as folder:
        database = await SqliteDatabase.open(Path(folder), now_us=1)
        await database.close()
        fill(Path(folder) / FILE_NAME, turns, memories)
        database = await SqliteDatabase.open(Path(folder), now_us=1)
        log, receipts, trials = SqliteTurnLog(database), SqliteReceipts(database), SqliteTrials(database)
        middle_us = turns // 2 * 1_000_000
        ids = [f"r{number:07d}" for number in range(0, 500, 10)]
        turn_ids = [TurnId(f"t{number:07d}") for number in range(50)]
        finished, failed = TurnStanding.FINISHED, ["failure", "timeout", "error"]
        deep = HeadKey(middle_us, TurnId(""))
        questions: dict[str, Callable[[], Awaitable[Sized]]] = {
            "turns, the newest": lambda: log.heads(SCOPE, None, None, None, PAGE),
            "turns, failed": lambda: log.heads(SCOPE, None, None, None, PAGE, outcomes=failed),
            "turns, failed, half way": lambda: log.heads(SCOPE, None, None, deep, PAGE, outcomes=failed),
            "turns, ended so that none did": lambda: log.heads(SCOPE, None, finished, None, PAGE, outcomes=["partial"]),
            "turns of an hour": lambda: log.heads(
                SCOPE, None, None, HeadKey(middle_us + 3_600_000_000, TurnId("")), PAGE, from_us=middle_us
            ),
            "turns of a session that failed": lambda: log.heads(
                SCOPE, SessionId("s00100"), None, None, PAGE, outcomes=failed
            ),
            "turns of a page of receipts": lambda: log.heads_of(SCOPE, turn_ids),
            "receipts, the newest": lambda: receipts.find(SCOPE, None, PAGE),
            "receipts of a lesson": lambda: receipts.find(SCOPE, None, PAGE, lesson_id="m10"),
            "receipts of a lesson, half way": lambda: receipts.find(
                SCOPE, ReceiptKey(middle_us, ""), PAGE, lesson_id="m10"
            ),
            "receipts of a turn": lambda: receipts.find(SCOPE, None, PAGE, turn_id="t0000500"),
            "what came of a page of receipts": lambda: trials.results(SCOPE, ids),
            "memories, the newest": lambda: SqliteMemories(database).list(SCOPE, None, None, None, PAGE),
        }
        print(f"{turns:,} turns, {turns // 10:,} receipts, {memories:,} memories; {again} times each")
        print(f"{'question':34}{'records':>9}{'median ms':>12}{'longest ms':>12}")
        for name, ask in questions.items():
            found: Sized = ()
            times_ms = []
            for _ in range(again):
                begin = time.perf_counter()
                found = await ask()
                times_ms.append(1000 * (time.perf_counter() - begin))
            print(f"{name:34}{len(found):>9}{median(times_ms):>12.2f}{max(times_ms):>12.2f}")
        await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--again", type=int, default=20)
    options = parser.parse_args()
    asyncio.run(measure(options.turns, options.memories, options.again))
