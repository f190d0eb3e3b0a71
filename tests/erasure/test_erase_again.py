"""Tombstones are applied to a restored store once."""

import asyncio
from pathlib import Path

from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.trace.erasure import Tombstone, digest_of
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.turns.erasing import NOTHING_IN_MEMORY, Eraser
from sidemirror_server.vocabulary.clock import SystemClock
from tests.adapters.sqlite_store import sqlite_database
from tests.adapters.test_sqlite_erasures import ports
from tests.conformance.erasure_records import ANNA, BERT, ONE, a_memory, memories_of
from tests.conformance.turn_log import T0


async def test_it_ends_when_the_erased_one_taught_the_same_again(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        its = ports(database)
        eraser = Eraser(
            *(its.erasures, its.goals, SqliteJournal(database), SqliteReceipts(database)),
            *(NOTHING_IN_MEMORY, SystemClock(), 0),
        )
        await a_memory(its, "m", BERT, text="both said so")
        await a_memory(its, "again", ANNA, text="both said so", taught_us=T0 + 9)
        tombstone = Tombstone(SourceKind.SUBJECT, digest_of(ONE, ANNA), T0 + 5)
        async with asyncio.timeout(5):
            assert await eraser.erase_again(ONE, (tombstone,)) == 1
        assert len(await memories_of(its)) == 1
