"""When a sidecar asks its store by itself: often while it is in use, hardly ever when it is quiet."""

import asyncio
import itertools
import logging
from collections.abc import Iterator

import pytest

from sidemirror_server.assembly import looks as of_looks
from sidemirror_server.assembly import upkeep
from sidemirror_server.assembly.looks import QUIET_S, Look, Looks, Rhythm
from sidemirror_server.vocabulary.errors import LostClaim, SidemirrorError, StoreFull, StoreUnavailable
from tests.faults.waiting import until


async def nothing() -> bool:
    return False


# Those of a sidecar on Postgres, with the transactions that each takes when it finds nothing.
TRANSACTIONS = {
    Look("memory", nothing, upkeep.SWEEP_EVERY_S, upkeep.SWEEP_EVERY_S, is_local=True): 0,
    Look("turns", nothing, upkeep.SWEEP_EVERY_S, upkeep.QUIET_LOOK_S): 1,
    Look("forget", nothing, upkeep.SWEEP_EVERY_S, upkeep.QUIET_FORGET_S): 14,
    Look("dreams", nothing, upkeep.DREAMS_EVERY_S, upkeep.QUIET_LOOK_S): 1,
    Look("recoveries", nothing, upkeep.SWEEP_EVERY_S, upkeep.QUIET_LOOK_S): 1,
    Look("jobs", nothing, upkeep.JOBS_EVERY_S, upkeep.QUIET_LOOK_S): 1,
}


def idle(until_s: float) -> Iterator[tuple[float, int]]:
    """When an idle sidecar connects, in seconds after its last use, and how many transactions it makes then: one for
    the connection, and those of its looks."""
    rhythm, is_quiet = Rhythm(list(TRANSACTIONS), 0.0), False
    while (now_s := rhythm.next_s) < until_s:
        if not is_quiet and now_s >= QUIET_S:
            is_quiet = True
            rhythm.slow()
        ran = rhythm.due(now_s)
        for look in ran:
            rhythm.ran(look, False, now_s)
        if asked := sum(TRANSACTIONS[look] for look in ran):
            yield now_s, asked + 1


def test_an_idle_sidecar_asks_less_than_once_in_a_hundred_seconds() -> None:
    """From the fifth minute on, and for a day."""
    day_s = 86_400.0
    asked = [(at_s, count) for at_s, count in idle(day_s) if at_s > QUIET_S]
    assert [at_s for at_s, _ in asked if at_s < QUIET_S + 600.0] == []
    assert sum(count for _, count in asked) / (day_s - QUIET_S) < 0.01
    # Nothing waits longer than its longest pause.
    times = [at_s for at_s, _ in asked]
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) <= upkeep.QUIET_LOOK_S


def test_a_sidecar_in_use_asks_as_often_as_it_must() -> None:
    often, rarely = Look("often", nothing, 1.0, 900.0), Look("rarely", nothing, 30.0, 900.0)
    rhythm = Rhythm([often, rarely], 0.0)
    ran: dict[str, list[float]] = {"often": [], "rarely": []}
    while (now_s := rhythm.next_s) < 100.0:
        rhythm.hurry()
        for look in rhythm.due(now_s):
            rhythm.ran(look, False, now_s)
            ran[look.name].append(now_s)
    gaps = [later - earlier for earlier, later in itertools.pairwise(ran["often"])]
    assert ran["often"][0] == 1.0
    assert max(gaps) <= 2.0
    assert len(ran["rarely"]) in (3, 4)


def test_what_came_of_it_is_followed_up_soon() -> None:
    look = Look("jobs", nothing, 1.0, 900.0)
    rhythm = Rhythm([look], 0.0)
    for now_s, came_of_it, next_s in [(1.0, False, 3.0), (3.0, False, 7.0), (7.0, True, 8.0), (8.0, False, 10.0)]:
        assert rhythm.due(now_s) == (look,)
        rhythm.ran(look, came_of_it, now_s)
        assert rhythm.next_s == next_s


async def test_use_is_noticed_and_quiet_closes_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when the looks' own writes count as use: it never rested."""
    monkeypatch.setattr(of_looks, "QUIET_S", 0.1)
    writes, rested, asked = [0], [0], [0]

    async def ask() -> bool:
        writes[0] += 1
        asked[0] += 1
        return False

    def rest() -> None:
        rested[0] += 1

    looks = Looks(
        [Look("memory", nothing, 0.01, 0.01, is_local=True), Look("jobs", ask, 0.01, 3600.0)], lambda: writes[0], rest
    )
    running = asyncio.create_task(looks.run())
    try:
        await until(lambda: rested[0] > 3)
        in_all, writes[0] = asked[0], writes[0] + 1
        await until(lambda: asked[0] > in_all + 1)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (StoreUnavailable(store="postgres", reason="away"), logging.INFO),
        (StoreFull(store="sqlite", reason="full"), logging.INFO),
        (LostClaim(job_id="j", token=1), logging.WARNING),
    ],
)
async def test_what_fails_is_asked_again_and_told_of_once(
    error: SidemirrorError, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The store warns of its outage itself. Seen to fail when the error ends `run`, and when each look warns of it."""
    asked = [0]

    async def ask() -> bool:
        asked[0] += 1
        if asked[0] < 5:
            raise error
        return False

    looks = Looks([Look("jobs", ask, 0.005, 0.01)], lambda: 0, lambda: None)
    with caplog.at_level(logging.INFO):
        running = asyncio.create_task(looks.run())
        try:
            await until(lambda: asked[0] > 6)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
    assert [(record.message, record.levelno) for record in caplog.records] == [("look_failed", level)]
