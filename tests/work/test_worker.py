"""The worker: what it does with what handlers return and raise, and how it stops."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sidemirror_server.operations.logs import JsonLines
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed, StoreUnavailable
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves, serves_listed
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.work.bounded_queue import Bounded
from sidemirror_server.work.queue import Job, JobState, NewJob, Work
from sidemirror_server.work.rotation import Rotation
from sidemirror_server.work.worker import ClaimedJob, Handler, Hopeless, NotNow, Pace, Worker
from tests.adapters.sqlite_store import sqlite_database
from tests.faults.waiting import until

SCOPE = Scope("acme", "shop")
T0 = 1_700_000_000_000_000


class SetClock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.us = T0

    def now_us(self) -> int:
        return self.us

    def monotonic_s(self) -> float:
        return self.us / 1_000_000


@pytest.fixture
async def work(tmp_path: Path) -> AsyncIterator[SqliteWork]:
    async with sqlite_database(tmp_path) as database:
        yield SqliteWork(database)


@asynccontextmanager
async def working(
    work: Work, handlers: Mapping[str, Handler], clock: Clock | None = None, **pace: float | None
) -> AsyncIterator[Worker]:
    quick = Pace(**{"poll_s": 0.01, **pace})  # type: ignore[arg-type]
    worker = Worker(work, handlers, clock or SetClock(), random.Random(1), "w", quick)
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()


async def put(work: Work, job_id: str = "a", attempts: int = 3, payload: bytes = b"p") -> None:
    await work.put(SCOPE, NewJob(JobId(job_id), "kind", payload, attempts), T0)


async def when(work: Work, arrived: Callable[[Job], bool], job_id: str = "a") -> Job:
    async with asyncio.timeout(60):
        while True:
            job = await work.get(SCOPE, JobId(job_id))
            if job is not None and arrived(job):
                return job
            await asyncio.sleep(0.001)


def raising(error: BaseException) -> Handler:
    async def handle(task: ClaimedJob) -> bytes | None:
        raise error

    return handle


def noting(notes: list[str], gate: asyncio.Event) -> Handler:
    async def handle(task: ClaimedJob) -> bytes | None:
        notes.append(task.job.job_id)
        await gate.wait()
        return task.job.payload.upper()

    return handle


async def test_result_is_kept(work: SqliteWork) -> None:
    gate = asyncio.Event()
    gate.set()
    await put(work)
    async with working(work, {"kind": noting([], gate)}):
        job = await when(work, lambda job: job.state is JobState.DONE)
    assert (job.result, job.worker, job.attempts) == (b"P", "w", 1)


class EmptyAtFirst(SqliteWork):
    """Tells when a claim has found nothing."""

    found_nothing = asyncio.Event()

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        jobs = await super().claim(serves, kinds, limit, lease_s, now_us, worker)
        if not jobs:
            asyncio.get_running_loop().call_soon(self.found_nothing.set)
        return jobs


async def test_a_put_wakes_it_at_once(work: SqliteWork) -> None:
    gate, empty = asyncio.Event(), EmptyAtFirst(work._database)
    gate.set()
    async with working(empty, {"kind": noting([], gate)}, poll_s=3600.0):
        async with asyncio.timeout(60):
            await empty.found_nothing.wait()  # it waits for an hour
        await put(empty)
        await when(work, lambda job: job.state is JobState.DONE)


async def test_without_polling_it_knows_its_own_retries(work: SqliteWork) -> None:
    """Seen to fail when a failure plans no claim."""
    tries = []

    async def handle(task: ClaimedJob) -> bytes | None:
        tries.append(task.job.attempts)
        if len(tries) < 3:
            raise ConnectionError("not yet")
        return None

    await work.put(SCOPE, NewJob(JobId("a"), "kind", b"p", 3), SystemClock().now_us())
    async with working(work, {"kind": handle}, SystemClock(), poll_s=None, retry_s=0.001):
        await when(work, lambda job: job.state is JobState.DONE)
    assert tries == [1, 2, 3]


async def test_without_polling_it_looks_when_it_is_told_to(work: SqliteWork) -> None:
    """The job is put by another process. Seen to fail when `look` begins nothing."""
    gate, empty = asyncio.Event(), EmptyAtFirst(work._database)
    gate.set()
    empty.found_nothing = asyncio.Event()
    async with working(empty, {"kind": noting([], gate)}, poll_s=None) as worker:
        async with asyncio.timeout(60):
            await empty.found_nothing.wait()
        assert not await worker.look()
        await put(work)  # another object's event is set
        assert await worker.look()
        await when(work, lambda job: job.state is JobState.DONE)


@pytest.mark.parametrize(
    ("attempts", "shortest_s", "longest_s"), [(1, 1.0, 2.0), (2, 2.0, 4.0), (3, 4.0, 8.0), (9, 150.0, 300.0)]
)
async def test_a_failure_is_retried_later_and_later(
    attempts: int, shortest_s: float, longest_s: float, work: SqliteWork
) -> None:
    await put(work, attempts=20)
    clock = SetClock()

    def tried(job: Job) -> bool:
        return job.state is JobState.RETRYING and job.run_at_us > clock.us

    async with working(work, {"kind": raising(ValueError("no"))}, clock):
        job = await when(work, tried)
        while job.attempts < attempts:
            clock.us = job.run_at_us
            job = await when(work, tried)
    assert job.last_error == "ValueError: no"
    assert shortest_s <= (job.run_at_us - clock.us) / 1_000_000 <= longest_s


async def test_the_last_attempt_and_the_hopeless_end_dead(work: SqliteWork) -> None:
    await put(work, "last", attempts=1)
    async with working(work, {"kind": raising(ValueError("x" * 5000))}):
        job = await when(work, lambda job: job.state is JobState.DEAD, "last")
    assert len(job.last_error or "") == 1000
    await put(work, "hopeless")
    async with working(work, {"kind": raising(Hopeless("never"))}):
        job = await when(work, lambda job: job.state is JobState.DEAD, "hopeless")
    assert (job.last_error, job.attempts) == ("Hopeless: never", 1)


async def test_what_cannot_go_on_now_is_given_back_unattempted(work: SqliteWork) -> None:
    """Seen to fail when the worker treats NotNow like any other failure: the job waits for its retry, one attempt
    used up."""
    tries = 0

    async def handle(task: ClaimedJob) -> bytes | None:
        nonlocal tries
        tries += 1
        if tries < 6:
            raise NotNow("its store is away")
        return b"r"

    await put(work, attempts=2)
    async with working(work, {"kind": handle}):
        job = await when(work, lambda job: job.state in {JobState.DONE, JobState.DEAD})
    assert (job.state, job.attempts, job.result, job.last_error) == (JobState.DONE, 1, b"r", None)
    assert tries == 6


async def test_a_handler_that_cancels_itself_has_failed(work: SqliteWork) -> None:
    await put(work)
    async with working(work, {"kind": raising(asyncio.CancelledError())}):
        job = await when(work, lambda job: job.state is JobState.RETRYING)
    assert job.last_error == "RuntimeError: the handler cancelled itself"


async def test_stopping_gives_jobs_back_unattempted(work: SqliteWork) -> None:
    notes: list[str] = []
    for number in range(3):
        await put(work, f"j{number}", attempts=1)
    async with working(work, {"kind": noting(notes, asyncio.Event())}):
        for number in range(3):
            await when(work, lambda job: job.state is JobState.RUNNING and len(notes) == 3, f"j{number}")
    for number in range(3):
        job = await work.get(SCOPE, JobId(f"j{number}"))
        assert job is not None
        assert (job.state, job.attempts) == (JobState.QUEUED, 0)
    assert len(await work.claim(SERVES_ALL, ("kind",), 10, 30.0, T0, "w2")) == 3


class SlowToClaim(SqliteWork):
    """The store has handed the job out, and its answer is not here yet."""

    handed_out = asyncio.Event()

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        jobs = await super().claim(serves, kinds, limit, lease_s, now_us, worker)
        self.handed_out.set()
        await asyncio.sleep(0.05)
        return jobs


async def test_stopping_in_the_middle_of_a_claim_strands_nothing(work: SqliteWork) -> None:
    slow = SlowToClaim(work._database)
    await put(work)
    async with working(slow, {"kind": noting([], asyncio.Event())}):
        async with asyncio.timeout(60):
            await slow.handed_out.wait()
    job = await work.get(SCOPE, JobId("a"))
    assert job is not None
    assert (job.state, job.attempts) == (JobState.QUEUED, 0)


async def test_never_more_at_once_than_its_concurrency(work: SqliteWork) -> None:
    notes: list[str] = []
    gate = asyncio.Event()
    for number in range(5):
        await put(work, f"j{number}")
    async with working(work, {"kind": noting(notes, gate)}, concurrency=2):
        async with asyncio.timeout(60):
            while len(notes) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        await put(work, "j5")
        await asyncio.sleep(0.05)
        assert len(notes) == 2
        gate.set()
        for number in range(6):
            await when(work, lambda job: job.state is JobState.DONE, f"j{number}")


async def test_the_lease_is_extended_while_the_handler_works(work: SqliteWork) -> None:
    await put(work)
    clock, gate = SetClock(), asyncio.Event()
    async with working(work, {"kind": noting([], gate)}, clock, lease_s=0.09):
        first = await when(work, lambda job: job.state is JobState.RUNNING)
        clock.us += 50_000
        await when(work, lambda job: (job.lease_until_us or 0) > (first.lease_until_us or 0))
        gate.set()
        assert (await when(work, lambda job: job.state is JobState.DONE)).attempts == 1


async def test_a_lost_lease_stops_the_handler(work: SqliteWork) -> None:
    await put(work)
    stopped = asyncio.Event()

    async def handle(task: ClaimedJob) -> bytes | None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return None

    async with working(work, {"kind": handle}, lease_s=0.09):
        first = await when(work, lambda job: job.state is JobState.RUNNING)
        (taken,) = await work.claim(SERVES_ALL, ("kind",), 1, 3600.0, T0 + 3600_000_000, "w2")
        async with asyncio.timeout(60):
            await stopped.wait()
    assert taken.token > first.token
    assert await work.get(SCOPE, JobId("a")) == taken


async def test_checkpoints_come_back_with_the_next_attempt(work: SqliteWork) -> None:
    await put(work)
    clock = SetClock()
    seen: list[bytes | None] = []

    async def handle(task: ClaimedJob) -> bytes | None:
        seen.append(task.job.checkpoint)
        await task.checkpoint(b"half")
        if len(seen) == 1:
            raise ValueError
        return None

    async with working(work, {"kind": handle}, clock):
        clock.us = (await when(work, lambda job: job.state is JobState.RETRYING)).run_at_us
        await when(work, lambda job: job.state is JobState.DONE)
    assert seen == [None, b"half"]


class OftenAway(SqliteWork):
    """Every second question or so gets no answer."""

    chance = random.Random(3)

    def _answer(self) -> None:
        if self.chance.random() < 0.5:
            raise StoreUnavailable(store="test")

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        self._answer()
        return await super().claim(serves, kinds, limit, lease_s, now_us, worker)

    async def finish(self, scope: Scope, job_id: JobId, token: int, result: bytes | None, now_us: int) -> None:
        self._answer()
        await super().finish(scope, job_id, token, result, now_us)


async def test_a_store_that_is_away_does_not_end_the_worker(work: SqliteWork) -> None:
    gate, clock = asyncio.Event(), SetClock()
    gate.set()
    away = OftenAway(work._database)
    for number in range(5):
        await put(work, f"j{number}", attempts=50)
    async with working(away, {"kind": noting([], gate)}, clock, retry_s=0.0):
        for number in range(5):
            await when(work, lambda job: job.state is JobState.DONE, f"j{number}")


async def test_what_an_error_says_is_not_in_the_log(work: SqliteWork, caplog: pytest.LogCaptureFixture) -> None:
    """An error may quote what a job is about, and so may the one it was raised from. The log has its type and where it
    was raised. Seen to fail when the log has `repr(error)`, and when it has the traceback."""

    async def handle(task: ClaimedJob) -> bytes | None:
        try:
            raise KeyError("canary-cause")
        except KeyError as cause:
            raise ValueError("canary-error") from cause

    await put(work, attempts=1)
    with caplog.at_level("DEBUG"):
        async with working(work, {"kind": handle}):
            job = await when(work, lambda job: job.state is JobState.DEAD)
    assert job.last_error == "ValueError: canary-error"
    (record,) = (record for record in caplog.records if record.message == "job_failed")
    line = json.loads(JsonLines().format(record))
    assert line["error"] == "ValueError"
    assert line["place"].startswith(f"{__file__}:")
    said = "".join(JsonLines().format(record) for record in caplog.records)
    assert "canary" not in said


async def test_a_cap_is_told_from_a_model_that_fails(work: SqliteWork, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when the line has `ModelFailed` alone, beside an alert about a cap."""

    async def handle(task: ClaimedJob) -> bytes | None:
        raise ModelFailed(ResultStatus.SKIPPED_SPEND, "canary-detail")

    await put(work, attempts=1)
    with caplog.at_level("DEBUG"):
        async with working(work, {"kind": handle}):
            await when(work, lambda job: job.state is JobState.DEAD)
    (record,) = (record for record in caplog.records if record.message == "job_failed")
    line = json.loads(JsonLines().format(record))
    assert (line["error"], line["status"]) == ("ModelFailed", "skipped_spend")
    assert "canary" not in "".join(JsonLines().format(record) for record in caplog.records)


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_scopes_take_turns(concurrency: int, work: SqliteWork) -> None:
    """One has a hundred jobs, due before the three of the others. Seen to fail when a claim is by due time alone."""
    order: list[Scope] = []

    async def handle(claimed: ClaimedJob) -> bytes:
        order.append(claimed.job.scope)
        await asyncio.sleep(0)
        if claimed.job.job_id == "b0" and claimed.job.attempts == 1:
            raise RuntimeError("once more")
        return b""

    loud, quiet, other = Scope("t", "loud"), Scope("t", "quiet"), Scope("u", "other")
    rotation, clock = Rotation(), SystemClock()
    now_us = clock.now_us()
    jobs = [(loud, f"a{number}") for number in range(100)]
    jobs += [(quiet, "b0"), (quiet, "b1"), (other, "c0")]
    bounded = Bounded(work, 1_000, clock, rotation)
    for number, (scope, job_id) in enumerate(jobs):
        await bounded.put(scope, NewJob(JobId(job_id), "kind", b"", 3, now_us - 1_000 + number), now_us - 1_000)
    pace = Pace(poll_s=0.01, concurrency=concurrency, retry_s=0.001)
    worker = Worker(work, {"kind": handle}, clock, random.Random(1), "w", pace, rotation=rotation)
    running = asyncio.create_task(worker.run())
    await until(lambda: len(order) == len(jobs) + 1)
    running.cancel()
    await asyncio.wait([running])
    assert order.count(quiet) == 3
    # Each has one job in the first round, and one in each that follows.
    assert {quiet, other} <= set(order[: 3 + concurrency])
    assert order[: 9 + 3 * concurrency].count(quiet) >= 2
    assert max(place for place, scope in enumerate(order) if scope == quiet) < 60


async def test_a_job_that_only_the_store_knows_has_its_turn(work: SqliteWork) -> None:
    """From before a restart, say, and due before all jobs of two that are busy. Seen to fail when such jobs wait until
    nobody takes turns: it is the last one."""
    busy, other, early = Scope("t", "busy"), Scope("t", "other"), Scope("u", "early")
    rotation, clock = Rotation(), SystemClock()
    order: list[Scope] = []

    async def handle(claimed: ClaimedJob) -> bytes:
        order.append(claimed.job.scope)
        return b""

    now_us = clock.now_us()
    bounded = Bounded(work, 1_000, clock, rotation)
    for number in range(50):
        for scope in (busy, other):
            await bounded.put(
                scope, NewJob(JobId(str(number)), "kind", b"", 3, now_us - 1_000 + number), now_us - 1_000
            )
    pace = Pace(poll_s=0.01, concurrency=1)
    worker = Worker(work, {"kind": handle}, clock, random.Random(1), "w", pace, rotation=rotation)
    # Not the first turn, which is for what the store knows when the worker begins.
    assert await worker.look()
    await until(lambda: len(order) == 1 and not worker.running["kind"])
    await work.put(early, NewJob(JobId("e"), "kind", b"", 3, now_us - 2_000), now_us - 2_000)
    running = asyncio.create_task(worker.run())
    await until(lambda: len(order) == 101)
    running.cancel()
    await asyncio.wait([running])
    assert early in order[1:5]
    # The two that are busy take turns as before.
    assert abs(order[:60].count(busy) - order[:60].count(other)) <= 20


async def test_a_scope_that_is_not_served_gets_no_turn(work: SqliteWork) -> None:
    """Its jobs are another sidecar's. Seen to fail when a turn is claimed for whoever is expected."""
    mine, theirs = Scope("t", "p"), Scope("u", "p")
    rotation = Rotation()
    ran: list[Scope] = []

    async def handle(claimed: ClaimedJob) -> bytes:
        ran.append(claimed.job.scope)
        return b""

    for scope in (theirs, mine, Scope("t", "q")):
        rotation.expect(scope)
    for scope in (mine, theirs):
        await work.put(scope, NewJob(JobId("j"), "kind", b"", 3), T0)
    serves = serves_listed("t/*")
    worker = Worker(work, {"kind": handle}, SetClock(), random.Random(1), "w", Pace(), serves, rotation)
    assert await worker.look()
    await until(lambda: ran == [mine])
    assert not await worker.look()
    kept = await work.get(theirs, JobId("j"))
    assert kept is not None
    assert kept.state is JobState.QUEUED
