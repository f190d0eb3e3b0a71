"""The steps of erasures on an embedded store: when its file is tidied, and that an erasure ends after it.

Seen to fail with an erasure that ended before its file was tidied, and with a file that was tidied for each erasure,
also of what was not there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.event import Event, TurnStarted, origin_of
from sidemirror_server.trace.log import Batch
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.turns.erasing import NOTHING_IN_MEMORY, Eraser
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreFull
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.turn_log import ONE, T0, start
from tests.turns.house import SCOPE, house


class Tidied(SqliteErasures):
    """Counts how often the file is tidied; `fails` is raised instead, and `takes_s` is how long it takes."""

    count = 0
    takes_s = 0.0
    fails: Exception | None = None

    async def tidy(self) -> None:
        self.count += 1
        await asyncio.sleep(self.takes_s)
        if self.fails is not None:
            raise self.fails


@asynccontextmanager
async def opened(folder: Path, turns: int) -> AsyncIterator[tuple[Tidied, Eraser]]:
    """An eraser on a store with some turns, for each of which an erasure has begun."""
    async with sqlite_database(folder) as database:
        erasures, log = Tidied(database), SqliteTurnLog(database)
        others = (SqliteGoalReflections(database), SqliteJournal(database), SqliteReceipts(database))
        for number in range(turns):
            await log.append(ONE, (start(f"t{number}", b'{"n":1}', session=f"s{number}"),))
            await erasures.begin(ONE, f"e{number}", (key(SourceKind.TURN, f"t{number}"),), T0)
        yield erasures, Eraser(erasures, *others, NOTHING_IN_MEMORY, SystemClock(), settle_s=0.0)


async def has_ended(erasures: SqliteErasures, erasure_id: str) -> bool:
    found = await erasures.get(ONE, erasure_id)
    assert found is not None
    return found.ended_us is not None


async def test_nothing_removed_leaves_the_file_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, 1) as (erasures, eraser):
        await erasures.begin(ONE, "unknown", (key(SourceKind.TURN, "nobody's"),), T0)
        await eraser.erase(ONE, "unknown")
        assert await has_ended(erasures, "unknown")
        assert erasures.count == 0
        await eraser.erase(ONE, "e0")
        assert erasures.count == 1
        await eraser.erase(ONE, "e0")
        assert erasures.count == 1, "it had ended"


async def test_the_file_is_tidied_before_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path, 1) as (erasures, eraser):
        erasures.fails = StoreFull()
        with pytest.raises(StoreFull):
            await eraser.erase(ONE, "e0")
        assert not await has_ended(erasures, "e0")
        assert await erasures.left(ONE, "e0", 9) == (), "no id is written after the file was tidied"
        erasures.fails = None
        await eraser.erase(ONE, "e0")
        assert await has_ended(erasures, "e0")
        assert erasures.count == 2


async def test_many_share_one_tidying_and_leave_a_pause(tmp_path: Path) -> None:
    async with opened(tmp_path, 9) as (erasures, eraser):
        erasures.takes_s = 0.05
        clock = SystemClock()
        began_s = clock.monotonic_s()
        await asyncio.gather(*(eraser.erase(ONE, f"e{number}") for number in range(9)))
        assert 1 <= erasures.count <= 2
        assert clock.monotonic_s() - began_s >= (erasures.count - 1) * 0.5
        await erasures.begin(ONE, "again", (key(SourceKind.TURN, "t9"), key(SourceKind.TURN, "t10")), T0)
        before, began_s = erasures.count, clock.monotonic_s()
        await eraser.erase(ONE, "again")
        assert erasures.count == before + 1
        assert clock.monotonic_s() - began_s >= 0.4, "nine times as long as it took"


async def test_a_subjects_turn_that_is_in_memory_only_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail with an eraser that looked at the store at once: the turn was stored when the erasure had ended."""
    async with house(tmp_path) as own:
        database, goes_on, append = own.log._database, asyncio.Event(), own.log.append

        async def held(scope: Scope, batches: tuple[Batch, ...]) -> None:
            await goes_on.wait()
            await append(scope, batches)

        monkeypatch.setattr(own.log, "append", held)
        erasures = Tidied(database)
        others = (SqliteGoalReflections(database), SqliteJournal(database), SqliteReceipts(database))
        eraser = Eraser(erasures, *others, own.conductor.evictions, SystemClock(), settle_s=0.0)
        started = TurnStarted(SessionId("s"))
        event = Event(EventId("e"), 1, started, origin_of(started), subject_ids=("anna",))
        turn_id = TurnId("t")
        await own.conductor.start(SCOPE, turn_id, event, started, is_new=False, wait_for_store=False)
        await erasures.begin(SCOPE, "of anna", (key(SourceKind.SUBJECT, "anna"),), SystemClock().now_us())
        erasing = asyncio.create_task(eraser.erase(SCOPE, "of anna"))
        await asyncio.sleep(0.1)  # what waits for nothing has long been done
        goes_on.set()
        await erasing
        await own.recorder.drain()
        assert await own.log.head(SCOPE, turn_id) is None
        assert own.conductor.in_memory(SCOPE, turn_id) is None
