"""The handler of a report's job: what it does again after a crash, and what not; and what a deletion takes along."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.goals.publish import TOPIC, GoalRecords, Publisher, is_shown
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.goals.report import KIND, GoalReport, reflection_body, reflection_in, reflection_of, report_body
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.models.profiles import Within
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import Note
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.vocabulary.errors import LostClaim, ModelFailed, NotFound, StoreUnavailable, WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.work.queue import Job, JobState, NewJob
from sidemirror_server.work.worker import ClaimedJob, Hopeless, NotNow
from tests.adapters.sqlite_store import sqlite_database

SCOPE = Scope("acme", "shop")
T0 = 1_773_238_980_000_000
SECOND = 1_000_000


class Hands:
    """A clock in the test's hand: each look at it is a second later."""

    def __init__(self) -> None:
        self.us = T0

    def now_us(self) -> int:
        self.us += SECOND
        return self.us

    def monotonic_s(self) -> float:
        return self.now_us() / SECOND


class Model:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.insight = ""
        self.failing: ResultStatus | None = None

    async def ask(
        self,
        scope: Scope,
        ask: Ask[AnswerT],
        deadline_s: float,
        within: Within = Within(),  # noqa: B008 - frozen
    ) -> Completion[AnswerT]:
        self.asked += 1
        if self.failing is not None:
            raise ModelFailed(self.failing, "as told")
        return Completion(ask.answer_type(insight=self.insight or f"Insight {self.asked}."), Usage("test", "model"))


class Crash(BaseException):
    """The process ends here."""


async def as_it_is(_: Scope, report: GoalReport) -> GoalReport:
    """Reports that name no turn."""
    return report


class Faulty:
    """A port whose verbs fail as they are told to, before or after they have had their effect."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.before: dict[str, BaseException] = {}
        self.after: dict[str, BaseException] = {}

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        async def call(*arguments: Any) -> Any:
            if verb in self.before:
                raise self.before.pop(verb)
            answer = await getattr(self._real, verb)(*arguments)
            if verb in self.after:
                raise self.after.pop(verb)
            return answer

        return call


def faulty(real: Any) -> Any:
    return Faulty(real)


class House:
    """A publisher on a real store, with faults in between."""

    def __init__(self, database: Any) -> None:
        self.clock, self.model = Hands(), Model()
        self.work = faulty(SqliteWork(database))
        self.reflections = faulty(SqliteGoalReflections(database))
        self.journal = faulty(SqliteJournal(database))
        self.publisher = Publisher(
            *(self.model, self.reflections, self.journal, Bell(), self.clock, as_it_is, RetiredWords(None).saying)
        )
        self.records = GoalRecords(self.work, self.reflections, self.journal)

    async def put(self, report_id: str = "r", goal_id: str = "g") -> None:
        report = GoalReport(goal_id, "Bake bread", GoalState.COMPLETED)
        await self.work.put(SCOPE, NewJob(JobId(report_id), KIND, report_body(report)), self.clock.now_us())

    async def run(self) -> bytes:
        """Claims what is due, as the next process would, and handles it."""
        self.clock.us += 3600 * SECOND
        (job,) = await self.work.claim(SERVES_ALL, (KIND,), 1, 1.0, self.clock.now_us(), "w")
        return await self.handle(job)

    async def handle(self, job: Job) -> bytes:
        result = await self.publisher.handle(ClaimedJob(job, self.work, self.clock))
        await self.work.finish(SCOPE, job.job_id, job.token, result, self.clock.now_us())
        return result

    async def told(self) -> list[GoalReflection]:
        return [reflection_in(entry.body) for entry in await self.journal.tail(SCOPE, TOPIC, None, 0, 100, 10**9)]

    async def kept(self, goal_id: str = "g") -> tuple[GoalReflection, ...]:
        found: tuple[GoalReflection, ...] = await self.reflections.of_goal(SCOPE, goal_id, self.clock.now_us())
        return found


@contextlib.asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    async with sqlite_database(folder) as database:
        yield House(database)


POINTS = [
    ("work", "checkpoint", "before", 2),
    ("work", "checkpoint", "after", 1),
    ("reflections", "put", "before", 1),
    ("reflections", "put", "after", 1),
    ("journal", "add", "before", 1),
    ("journal", "add", "after", 1),
    ("work", "finish", "before", 1),
]


@pytest.mark.parametrize(("port", "verb", "when", "asked"), POINTS)
async def test_a_crash_makes_nothing_twice(port: str, verb: str, when: str, asked: int, tmp_path: Path) -> None:
    """Seen to fail when the notes are taken after the put (asked twice), and when a reflection that the store has
    already is not told (the crash between put and add loses it)."""
    async with house(tmp_path) as made:
        await made.put()
        getattr(getattr(made, port), when)[verb] = Crash()
        with pytest.raises(Crash):
            await made.run()
        result = await made.run()
        assert made.model.asked == asked
        assert await made.kept() == (reflection_in(result),)
        assert await made.told() == [reflection_in(result)]


@pytest.mark.parametrize(("port", "verb"), [("work", "checkpoint"), ("reflections", "put"), ("journal", "add")])
async def test_a_store_that_is_away_is_waited_for(port: str, verb: str, tmp_path: Path) -> None:
    """Seen to fail when a step is tried once."""
    async with house(tmp_path) as made:
        await made.put()
        getattr(made, port).before[verb] = StoreUnavailable()
        async with asyncio.timeout(60):
            result = await made.run()
        assert made.model.asked == 1
        assert await made.told() == [reflection_in(result)]


async def test_an_insight_that_says_only_how_the_goal_ended_is_not_kept(tmp_path: Path) -> None:
    """Seen to fail when every insight is kept."""
    async with house(tmp_path) as made:
        await made.put()
        made.model.insight = (
            "The goal was completed; no tasks were reported, so there is nothing to repeat or to avoid."
        )
        assert await made.run() == b""
        assert await made.kept() == ()
        assert await made.told() == []
        job = await made.work.get(SCOPE, JobId("r"))
        assert (job.state, reflection_of(job), is_shown(job, made.clock.now_us())) == (JobState.DONE, None, True)


class AlwaysAway(Faulty):
    """Does not come back."""

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        self.before[verb] = StoreUnavailable()
        return super().__getattr__(verb)


async def test_one_that_stays_away_gives_the_job_back(tmp_path: Path) -> None:
    """Seen to fail when the handler raises what the store raised: an attempt is used up."""
    async with house(tmp_path) as made:
        await made.put()
        made.publisher = Publisher(
            *(made.model, AlwaysAway(None), made.journal, Bell(), made.clock, as_it_is, RetiredWords(None).saying)
        )
        async with asyncio.timeout(60):
            with pytest.raises(NotNow):
                await made.run()
        assert made.model.asked == 1


async def test_a_lost_claim_ends_it(tmp_path: Path) -> None:
    """Seen to fail when a handler whose notes are refused goes on."""
    async with house(tmp_path) as made:
        await made.put()
        made.work.before["checkpoint"] = LostClaim("r", 1)
        with pytest.raises(LostClaim):
            await made.run()
        assert await made.told() == []


async def test_who_refuses_is_not_asked_again(tmp_path: Path) -> None:
    """Seen to fail when a refusal is a failure like any other."""
    async with house(tmp_path) as made:
        await made.put()
        made.model.failing = ResultStatus.REFUSED
        with pytest.raises(Hopeless):
            await made.run()
        made.model.failing = ResultStatus.TRUNCATED
        with pytest.raises(ModelFailed):
            await made.run()


async def test_what_was_deleted_meanwhile_is_neither_kept_nor_told(tmp_path: Path) -> None:
    """Seen to fail when what the store does not take is told all the same."""
    async with house(tmp_path) as made:
        await made.put()
        made.reflections.after["put"] = Crash()
        with pytest.raises(Crash):
            await made.run()
        assert await made.records.delete(SCOPE, "g", made.clock.now_us()) == 1
        (job,) = await made.work.claim(SERVES_ALL, (KIND,), 1, 1.0, made.clock.now_us() + 10 * SECOND, "w")
        assert job.checkpoint is not None
        await made.handle(job)
        assert await made.kept() == ()
        assert await made.told() == []


async def test_what_made_room_for_newer_ones_is_told_all_the_same(tmp_path: Path) -> None:
    """Seen to fail when only what the store still has is told."""
    async with house(tmp_path) as made:
        await made.put()
        made.reflections.after["put"] = Crash()
        with pytest.raises(Crash):
            await made.run()
        for number in range(3):
            later = GoalReflection(
                *(f"later {number}", "g", "Bake bread", "x", 0.5, GoalState.COMPLETED),
                *(made.clock.now_us(), Origin.AGENT),
            )
            assert await made.reflections.put(SCOPE, later, made.clock.now_us())
        result = await made.run()
        assert len(await made.kept()) == 3
        assert await made.told() == [reflection_in(result)]


@pytest.mark.parametrize("error", [NotFound("job", "r"), WrongState("job", "r", "queued")])
async def test_a_deletion_meets_another_one_or_another_try(error: Exception, tmp_path: Path) -> None:
    """Seen to fail when a report that has gone since it was listed, or is tried again, is an error of the caller's."""
    async with house(tmp_path) as made:
        for number in range(2):
            await made.put(f"r{number}")
            await made.run()
        made.work.after["forget"] = error
        assert await made.records.delete(SCOPE, "g", made.clock.now_us()) == 2
        assert await made.work.list(SCOPE, KIND, (), None, 10) == ()


async def test_a_deletion_takes_ended_reports_and_the_journal_along(tmp_path: Path) -> None:
    """Seen to fail when it leaves the reports, and when it leaves the journal."""
    async with house(tmp_path) as made:
        for number, goal_id in enumerate(("g", "h", "g")):
            await made.put(f"r{number}", goal_id)
            await made.run()
        await made.put("waits", "g")
        await made.put("dead", "g")
        (first, second) = await made.work.claim(SERVES_ALL, (KIND,), 2, 1.0, made.clock.now_us(), "w")
        dead, waits = (first, second) if first.job_id == "dead" else (second, first)
        await made.work.fail(SCOPE, dead.job_id, dead.token, "x", None, made.clock.now_us())
        await made.work.release(SCOPE, waits.job_id, waits.token, made.clock.now_us())
        assert await made.records.delete(SCOPE, "g", made.clock.now_us()) == 2
        left = await made.work.list(SCOPE, KIND, (), None, 10)
        assert {(job.job_id, job.state) for job in left} == {("waits", JobState.QUEUED), ("r1", JobState.DONE)}
        assert [one.goal_id for one in await made.told()] == ["h"]
        assert await made.journal.add(SCOPE, TOPIC, Note("k", "g", T0, reflection_body((await made.kept("h"))[0])), T0)
