"""Waiting for the log to grow: who is woken, by whom, and what is not missed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace import live
from sidemirror_server.trace.live import Bell, Lookout, Waiter
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.turn_log import ONE, OTHER, start
from tests.faults.waiting import until


class Deaf:
    """No wake-ups arrive, unless a test makes some."""

    def __init__(self, is_heard: bool = False) -> None:
        self.is_heard = is_heard
        self.heard: Callable[[], None] | None = None

    def listen(self, heard: Callable[[], None]) -> None:
        self.heard = heard

    def mute(self) -> None:
        self.heard = None


def has_rung(waiter: Waiter) -> bool:
    return waiter.clear()


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteTurnLog]:
    async with sqlite_database(tmp_path) as database:
        yield SqliteTurnLog(database)


def test_a_ring_is_for_those_who_are_concerned() -> None:
    bell = Bell()
    waiters = {
        "all": bell.waiter(ONE, None),
        "s1": bell.waiter(ONE, "s1"),
        "s2": bell.waiter(ONE, "s2"),
        "other": bell.waiter(OTHER, None),
    }
    assert {name for name, waiter in waiters.items() if has_rung(waiter)} == set(waiters), "each looks first"
    bell.ring(ONE, {"s1"})
    assert {name for name, waiter in waiters.items() if has_rung(waiter)} == {"all", "s1"}
    bell.ring(ONE)
    assert {name for name, waiter in waiters.items() if has_rung(waiter)} == {"all", "s1", "s2"}
    waiters["s1"].wake()
    assert not has_rung(waiters["s1"])
    for waiter in waiters.values():
        waiter.close()
    assert bell.scopes() == ()


async def test_the_lookout_rings_for_what_others_append(log: SqliteTurnLog) -> None:
    """Seen to fail when the lookout takes what it finds first as known."""
    bell = Bell()
    looking = asyncio.create_task(Lookout(log, bell, 0.01, Deaf(), 0.02).run())
    everything, one, two = (bell.waiter(ONE, group) for group in (None, "s1", "s2"))
    try:
        async with asyncio.timeout(60):
            for waiter in (everything, one, two):
                waiter.clear()
            await everything.wait()
            for waiter in (everything, one, two):
                waiter.clear()
            await log.append(ONE, (start("t1", session="s1"),))
            await one.wait()
            assert everything.clear()
            assert not two.clear()
            await log.append(OTHER, (start("t2", session="s2"),))
            one.clear()
            await log.append(ONE, (start("t3", session="s2"),))
            await two.wait()
            assert not one.clear()
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def test_a_wake_up_is_followed_at_once_and_a_lost_one_later(
    log: SqliteTurnLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first entry is told of while the next look is an hour away; of the second nobody tells. Seen to fail when the
    pause is that without wake-ups, and when `listen` is not called."""
    wakes, bell = Deaf(is_heard=True), Bell()
    monkeypatch.setattr(live, "_LONGEST_HEARD_S", 3600.0)
    looking = asyncio.create_task(Lookout(log, bell, 0.01, wakes, 3600.0).run())
    waiter = bell.waiter(ONE, None)
    try:
        async with asyncio.timeout(60):
            waiter.clear()
            await waiter.wait()
            await until(lambda: wakes.heard is not None)
            waiter.clear()
            await log.append(ONE, (start("t1", session="s1"),))
            assert wakes.heard is not None
            wakes.heard()
            await waiter.wait()
            monkeypatch.setattr(live, "_LONGEST_HEARD_S", 0.05)
            waiter.clear()
            await log.append(ONE, (start("t2", session="s1"),))
            await waiter.wait()
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def test_nobody_listens_where_nobody_waits(log: SqliteTurnLog) -> None:
    """Seen to fail when the lookout does not mute."""
    wakes, bell = Deaf(), Bell()
    looking = asyncio.create_task(Lookout(log, bell, 0.01, wakes, 0.02).run())
    try:
        waiter = bell.waiter(ONE, None)
        await until(lambda: wakes.heard is not None)
        waiter.close()
        await until(lambda: wakes.heard is None)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
