"""When a project dreams by itself, on the real store and a clock that is set."""

import logging
from pathlib import Path

import pytest

from sidemirror_server.memory.dreams.dreams import (
    FIRST_REST_US,
    LATEST_US,
    Dream,
    DreamHistory,
    DreamtLesson,
    rest_until,
)
from sidemirror_server.memory.dreams.schedule import KIND, MAX_ATTEMPTS, DreamSchedule
from sidemirror_server.storage.sqlite.dreams import SqliteDreams
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import Job, JobState, NewJob
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import dreams as suite
from tests.conformance.dreams import ONE, OTHER, T0, memory
from tests.faults.clocks import SetClock

NOW = T0 + LATEST_US


def passed(**fields: object) -> Dream:
    return suite.dream(1, ended_us=NOW, **fields)


def test_a_project_rests_after_passes_that_changed_nothing() -> None:
    lesson = DreamtLesson("r", "", ("a", "b"), 2, is_new=False)
    assert rest_until(DreamHistory(idle_dreams=3), passed(lessons=(lesson,))) == NOW
    rests = [rest_until(DreamHistory(idle_dreams=idle), passed()) - NOW for idle in (0, 1, 2, 9)]
    assert rests == [FIRST_REST_US, 2 * FIRST_REST_US, 4 * FIRST_REST_US, 7 * 24 * 3600 * 1_000_000]
    assert rest_until(DreamHistory(), passed(read=0, left=3)) == NOW + FIRST_REST_US


def test_asking_for_a_pass_without_anything_new_gives_no_rest() -> None:
    """Who asked a few times in vain would else keep the project from dreaming for a week. Seen to fail when every pass
    that made nothing counted."""
    for standing in (DreamHistory(), DreamHistory(4, 2, T0, NOW + 5)):
        assert rest_until(standing, passed(read=0)) == standing.rest_until_us


async def test_a_pass_that_could_not_be_finished_rests(tmp_path: Path) -> None:
    """Seen to fail when whoever looked gave a dead pass all its attempts again, each minute."""
    clock = SetClock(NOW)
    async with sqlite_database(tmp_path) as database:
        work = SqliteWork(database)
        schedule = DreamSchedule(SqliteDreams(database), work, SqliteTurnLog(database), clock)
        await suite.keep(suite.Stores(SqliteMemories(database), SqliteDreams(database)), ONE, memory("a"))
        assert await schedule.look() == 1
        (job,) = await work.claim(SERVES_ALL, (KIND,), 1, 30.0, clock.now_us(), "test")
        assert job.max_attempts == MAX_ATTEMPTS
        await work.fail(ONE, job.job_id, job.token, "poison", None, clock.now_us())
        assert await schedule.look() == 0
        assert (await work.count(ONE, KIND))[JobState.DEAD] == 1
        # Who asks for it does not wait.
        assert await schedule.start(ONE) == job.job_id
        (job,) = await work.claim(SERVES_ALL, (KIND,), 1, 30.0, clock.now_us(), "test")
        await work.fail(ONE, job.job_id, job.token, "poison", None, clock.now_us())
        clock.advance(FIRST_REST_US / 1_000_000)
        assert await schedule.look() == 1
        assert (await work.count(ONE, KIND))[JobState.QUEUED] == 1


class OneIsBroken(SqliteWork):
    """A queue that fails for one project."""

    error: SidemirrorError = WrongState("job", "x", "it is not what it was")

    async def put(self, scope: Scope, new: NewJob, now_us: int) -> Job:
        if scope == ONE:
            raise self.error
        return await super().put(scope, new, now_us)


async def test_a_project_that_fails_keeps_no_other_from_dreaming(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail when the first error ended the look: the other project never dreamt."""
    async with sqlite_database(tmp_path) as database:
        work = OneIsBroken(database)
        schedule = DreamSchedule(SqliteDreams(database), work, SqliteTurnLog(database), SetClock(NOW))
        stores = suite.Stores(SqliteMemories(database), SqliteDreams(database))
        await suite.keep(stores, ONE, memory("a"))
        await suite.keep(stores, OTHER, memory("b", T0 + 1))
        caplog.set_level(logging.WARNING)
        assert [await schedule.look(), await schedule.look()] == [1, 1]
        assert (await work.count(OTHER, KIND))[JobState.QUEUED] == 1
        assert [record.message for record in caplog.records] == ["dream_not_scheduled"], "once, not each minute"
        # A store that is away is away for all.
        work.error = StoreUnavailable()
        with pytest.raises(StoreUnavailable):
            await schedule.look()
