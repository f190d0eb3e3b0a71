"""Looks into the log that are shared: nobody misses an entry by it, nobody's leaving is another's loss."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import TURN_TOPIC, Entry
from sidemirror_server.trace.shared_reads import SharedReads
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.turn_log import ONE, OTHER, start
from tests.faults.waiting import until


class SlowLog:
    """A log whose looks have read and not yet answered until they are let go."""

    def __init__(self, log: SqliteTurnLog) -> None:
        self._log = log
        self.looks = 0
        self.go = asyncio.Event()
        self.fails = False

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        page = await self._log.tail(scope, topic, group, after, limit, max_bytes)
        self.looks += 1
        await self.go.wait()
        if self.fails:
            raise StoreUnavailable
        return page

    async def last_position(self, scope: Scope) -> int:
        self.looks += 1
        return await self._log.last_position(scope)


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteTurnLog]:
    async with sqlite_database(tmp_path) as database:
        yield SqliteTurnLog(database)


async def test_looks_from_one_place_are_one(log: SqliteTurnLog) -> None:
    """Those of another scope or group, or from further on, are others."""
    await log.append(ONE, (start("t1", session="s1"),))
    slow = SlowLog(log)
    slow.go.set()
    looks = SharedReads(slow, TURN_TOPIC)
    places = [(ONE, None, 0), (ONE, "s1", 0), (ONE, "s2", 0), (ONE, None, 1_000_000), (OTHER, None, 0)]
    pages = await asyncio.gather(*[looks.page(*place) for place in places for _ in range(100)])
    assert slow.looks == len(places)
    assert [len(page) for page in pages] == [1] * 200 + [0] * 300
    ends = await asyncio.gather(*[looks.end(scope) for scope in (ONE, OTHER) for _ in range(100)])
    assert slow.looks == len(places) + 2
    assert min(ends[:100]) == max(ends[:100]) > 0
    assert set(ends[100:]) == {0}


async def test_what_was_there_when_it_was_called_is_seen(log: SqliteTurnLog) -> None:
    """Seen to fail when a look is joined that has begun."""
    slow = SlowLog(log)
    looks = SharedReads(slow, TURN_TOPIC)
    first = asyncio.create_task(looks.page(ONE, None, 0))
    await until(lambda: slow.looks == 1)
    await log.append(ONE, (start("t1"),))
    second = asyncio.create_task(looks.page(ONE, None, 0))
    await until(lambda: slow.looks == 2)
    slow.go.set()
    assert await first == ()
    assert [entry.key for entry in await second] == ["t1"]


async def test_who_leaves_takes_nothing_from_the_others(log: SqliteTurnLog) -> None:
    """Seen to fail when the look is awaited without a shield."""
    await log.append(ONE, (start("t1"),))
    slow = SlowLog(log)
    looks = SharedReads(slow, TURN_TOPIC)
    leaving, staying = (asyncio.create_task(looks.page(ONE, None, 0)) for _ in range(2))
    await until(lambda: slow.looks == 1)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    slow.go.set()
    assert len(await staying) == 1


async def test_a_look_ends_with_the_last_who_waits(log: SqliteTurnLog) -> None:
    """Whether it has begun or not; and nobody joins one that has ended so. Seen to fail when a look goes on alone."""
    slow = SlowLog(log)
    looks = SharedReads(slow, TURN_TOPIC)
    leaving = [asyncio.create_task(looks.page(ONE, None, after)) for after in (0, 1, 2, 2)]
    await until(lambda: slow.looks == 2)
    for one in leaving:
        one.cancel()
    results = await asyncio.gather(*leaving, looks.end(ONE), return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 4 + [int]
    assert slow.looks == 3
    slow.go.set()
    assert await looks.page(ONE, None, 2) == ()
    assert slow.looks == 4


async def test_a_failure_is_everyones_and_the_next_look_is_new(log: SqliteTurnLog) -> None:
    slow = SlowLog(log)
    slow.fails = True
    slow.go.set()
    looks = SharedReads(slow, TURN_TOPIC)
    results = await asyncio.gather(*[looks.page(ONE, None, 0) for _ in range(3)], return_exceptions=True)
    assert [type(result) for result in results] == [StoreUnavailable] * 3
    slow.fails = False
    assert await looks.page(ONE, None, 0) == ()
    assert slow.looks == 2
