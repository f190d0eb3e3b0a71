"""Runs jobs: claims due jobs, holds the lease while the handler works, and records the result.

Rooms give `assembly` their handlers by kind. A handler gets a `ClaimedJob` and returns the job's result. It may run
again for the same job, after a crash or a lost lease. An effect that must not happen twice is guarded by the job's
token, or is part of the transaction that finishes the job.
"""

import asyncio
import logging
import random
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import (
    LostClaim,
    ModelFailed,
    NotFound,
    PlaceTaken,
    SidemirrorError,
    StoreUnavailable,
)
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves, serves_only, whose
from sidemirror_server.vocabulary.telemetry import JOBS
from sidemirror_server.vocabulary.text import enter
from sidemirror_server.work.queue import Job, Work
from sidemirror_server.work.rotation import Rotation

_log = logging.getLogger(__name__)

# The longest stored error, which is for people. Chosen here: enough for a message, too short for a payload.
_ERROR_CHARACTERS = 1000
# How long a running job waits for a store that is away, and how often it retries. The job continues when the store is
# back, and uses up no attempt. Chosen here.
PATIENCE_S = 20.0
_LOOK_AGAIN_S = 0.25
# How long after a job was released for want of a store it is claimed again. Chosen here.
_CLAIM_AGAIN_S = 1.0
# A claim comes this much after a job is due, because the store's clock is not the event loop's.
_LATE_S = 0.01

_T = TypeVar("_T")


class Hopeless(Exception):
    """Raised by a handler whose job can never succeed: the job becomes DEAD without another attempt."""


class NotNow(Exception):
    """Raised by a handler that has waited in vain for a store: the job is released, and the attempt is not used up."""


class Pace(msgspec.Struct, frozen=True):
    """A worker's concurrency and intervals.

    `concurrency`: jobs at once. Chosen here: jobs wait for models, whose calls the gateway limits. `lease_s`: how long
    a crashed worker's job waits for another worker. The lease is extended after each third of this time. `poll_s`: how
    long it may take to notice a job that another process put; None: the worker notices when `look` is called.
    `retry_s`, `longest_retry_s`: the backoff after the n-th attempt is `retry_s` × 2^n, at most `longest_retry_s`,
    times a random 0.5 to 1, so that jobs that failed together do not return together.
    """

    concurrency: int = 8
    lease_s: float = 30.0
    poll_s: float | None = 1.0
    retry_s: float = 1.0
    longest_retry_s: float = 300.0


class ClaimedJob:
    """A handler's input: the job as claimed, and a place for notes that survive a crash."""

    def __init__(self, job: Job, work: Work, clock: Clock) -> None:
        self.job = job
        self._work = work
        self._clock = clock

    async def checkpoint(self, notes: bytes) -> None:
        """Keeps `notes` for the next attempt (`job.checkpoint`). Raises LostClaim if another worker has the job."""
        job = self.job
        await self._work.checkpoint(job.scope, job.job_id, job.token, notes, self._clock.now_us())


async def patiently(step: Callable[[], Awaitable[_T]], clock: Clock, until_s: float) -> _T:
    """The result of a handler's step, retried while its store is away. Raises NotNow after `until_s` of the monotonic
    clock. Raises PlaceTaken at once, because a retry would block other jobs."""
    while True:
        try:
            return await step()
        except PlaceTaken:
            raise
        except StoreUnavailable as error:
            if clock.monotonic_s() >= until_s:
                raise NotNow(str(error)) from error
            await asyncio.sleep(_LOOK_AGAIN_S)


Handler = Callable[[ClaimedJob], Awaitable[bytes | None]]


class Worker:
    """Runs the jobs for which it has handlers, until it is cancelled."""

    def __init__(
        self,
        work: Work,
        handlers: Mapping[str, Handler],
        clock: Clock,
        chance: random.Random,
        name: str,
        pace: Pace = Pace(),  # noqa: B008 - frozen
        serves: Serves = SERVES_ALL,
        rotation: Rotation | None = None,
    ) -> None:
        """`chance` spreads the retries. `name` is stored with claimed jobs, for people. `serves`: whose jobs run.
        `rotation`: is told of jobs that are put in this process."""
        self._work = work
        self._handlers = dict(handlers)
        self._clock = clock
        self._chance = chance
        self._name = name
        self._pace = pace
        self._serves = serves
        self._rotation = Rotation() if rotation is None else rotation
        self._in_hand: set[asyncio.Task[None]] = set()
        self._running = dict.fromkeys(self._handlers, 0)
        self._claiming = asyncio.Lock()
        self._outage = Outage(_log, "work_claim_failed", "work_claimed_again", clock)
        self._losses = Outage(_log, "job_lost", "jobs_not_lost", clock)

    @property
    def running(self) -> dict[str, int]:
        """How many jobs are in hand, by kind; also of kinds with none. Any thread may call it."""
        return dict(self._running)

    async def run(self) -> None:
        """Runs jobs until cancelled; then releases the claimed jobs without using up their attempts."""
        try:
            while True:
                self._work.arrived.clear()
                try:
                    _, is_all = await self._begin_due()
                except SidemirrorError as exc:
                    self._outage.failed({"reason": str(exc)})
                    is_all = True
                else:
                    self._outage.worked()
                if len(self._in_hand) >= self._pace.concurrency:
                    await asyncio.wait(self._in_hand, return_when=asyncio.FIRST_COMPLETED)
                elif is_all:
                    await self._wait_for_work()
        finally:
            await self._stop()

    async def look(self) -> bool:
        """Begins due jobs, whoever put them, while `run` runs; whether there were any. Raises the store's errors."""
        count, _ = await self._begin_due()
        return count > 0

    async def _begin_due(self) -> tuple[int, bool]:
        """Claims and begins due jobs; returns how many, and whether these were all. Raises the store's errors."""
        async with self._claiming:
            free = self._pace.concurrency - len(self._in_hand)
            begun = 0
            # One job of each scope that waits for its turn, and one of those that only the store knows; then what is
            # due longest. A single scope needs no turns.
            turns = len(self._rotation)
            while turns > 1 and begun < free and len(self._rotation):
                scope = self._rotation.take()
                if scope is None:
                    begun += self._begin(await self._claim(1, self._serves))
                    continue
                if not self._serves.covers(scope):
                    continue
                try:
                    begun += self._begin(await self._claim(1, serves_only(scope)))
                except SidemirrorError:
                    self._rotation.expect(scope)
                    raise
            if begun < free:
                begun += self._begin(await self._claim(free - begun, self._serves))
            return begun, begun < free

    def _begin(self, jobs: Sequence[Job]) -> int:
        for job in jobs:
            self._rotation.expect(job.scope)
            task = asyncio.create_task(self._run_one(job), name=f"job {job.job_id}")
            self._in_hand.add(task)
            task.add_done_callback(self._in_hand.discard)
        return len(jobs)

    def _look_again_in(self, wait_s: float, scope: Scope) -> None:
        """Wakes `run` after this time, for a job of which only this process knows when it falls due."""

        def look() -> None:
            self._rotation.expect(scope)
            self._work.arrived.set()

        asyncio.get_running_loop().call_later(wait_s + _LATE_S, look)

    async def _stop(self) -> None:
        in_hand = tuple(self._in_hand)
        for task in in_hand:
            task.cancel()
        await asyncio.gather(*in_hand, return_exceptions=True)

    async def _wait_for_work(self) -> None:
        try:
            async with asyncio.timeout(self._pace.poll_s):
                await self._work.arrived.wait()
        except TimeoutError:
            pass

    async def _claim(self, limit: int, serves: Serves) -> tuple[Job, ...]:
        """Claims jobs. If cancelled, it releases the jobs that the store has already handed out. Raises the store's
        errors."""
        claiming = asyncio.ensure_future(
            self._work.claim(
                *(serves, tuple(self._handlers), limit),
                *(self._pace.lease_s, self._clock.now_us(), self._name),
            )
        )
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            (claimed,) = await asyncio.gather(claiming, return_exceptions=True)
            for job in claimed if isinstance(claimed, tuple) else ():
                await self._give_back(job)
            raise

    # --- one job -----------------------------------------------------------------------------------------------------

    async def _run_one(self, job: Job) -> None:
        """Runs a job, which counts as running meanwhile."""
        self._running[job.kind] += 1
        try:
            await self._handle(job)
        finally:
            self._running[job.kind] -= 1

    async def _handle(self, job: Job) -> None:
        """The job boundary: catches and records every error that a handler raises."""
        handling = asyncio.ensure_future(self._handlers[job.kind](ClaimedJob(job, self._work, self._clock)))
        holding = asyncio.create_task(self._hold_lease(job))
        try:
            await asyncio.wait((handling, holding), return_when=asyncio.FIRST_COMPLETED)
            if not handling.done():
                self._losses.failed(_of(job))
                self._look_again_in(self._pace.lease_s, job.scope)
                return
            if handling.cancelled():
                raise RuntimeError("the handler cancelled itself")
            result = handling.result()
            await self._work.finish(job.scope, job.job_id, job.token, result, self._clock.now_us())
            JOBS.add(1, {"kind": job.kind, "result": "done"})
            self._losses.worked(_of(job))
        except asyncio.CancelledError:
            await self._end(handling)
            await self._give_back(job)
            raise
        except LostClaim:
            self._losses.failed(_of(job))
            self._look_again_in(self._pace.lease_s, job.scope)
        except NotNow as exc:
            _log.info("job_given_back", extra={**_of(job), "reason": str(exc)})
            await self._give_back(job)
            self._look_again_in(_CLAIM_AGAIN_S, job.scope)
        except Exception as exc:
            await self._failed(job, exc)
        finally:
            await self._end(handling)
            await self._end(holding)

    async def _end(self, task: "asyncio.Future[bytes | None] | asyncio.Task[None]") -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _hold_lease(self, job: Job) -> None:
        """Extends the lease, and returns when the lease is lost. A store that does not answer is asked again."""
        held_until_s = self._clock.monotonic_s() + self._pace.lease_s
        while self._clock.monotonic_s() < held_until_s:
            await asyncio.sleep(self._pace.lease_s / 3)
            asked_s = self._clock.monotonic_s()
            try:
                await self._work.extend(job.scope, job.job_id, job.token, self._pace.lease_s, self._clock.now_us())
                held_until_s = asked_s + self._pace.lease_s
            except (LostClaim, NotFound):
                return
            except SidemirrorError as exc:
                _log.info("job_lease_not_extended", extra={**_of(job), "reason": str(exc)})

    async def _failed(self, job: Job, error: Exception) -> None:
        is_last = isinstance(error, Hopeless) or job.attempts >= job.max_attempts
        JOBS.add(1, {"kind": job.kind, "result": "dead" if is_last else "failed"})
        # The error's message and its cause may hold users' texts, so neither is logged; the job keeps the message.
        # A model or a store that fails has a warning of its own, for all jobs together.
        level = logging.INFO if isinstance(error, SidemirrorError) else logging.WARNING
        # The status tells a cap from a model that fails.
        status = {"status": error.status.value} if isinstance(error, ModelFailed) else {}
        told = {**_of(job), "error": type(error).__name__, **status, "place": _place_of(error)}
        _log.log(level, "job_failed", extra=told)
        # The message comes from outside like any other text, so it is cleaned and redacted here.
        text = enter(f"{type(error).__name__}: {error}")[:_ERROR_CHARACTERS]
        now_us = self._clock.now_us()
        wait_us = self._wait_us(job.attempts)
        retry_at_us = None if isinstance(error, Hopeless) else now_us + wait_us
        try:
            await self._work.fail(job.scope, job.job_id, job.token, text, retry_at_us, now_us)
        except SidemirrorError as exc:
            _log.info("job_failure_not_kept", extra={**_of(job), "reason": str(exc)})
            self._look_again_in(self._pace.lease_s, job.scope)  # it can be claimed when its lease has ended
        else:
            self._look_again_in(wait_us / 1_000_000, job.scope)

    def _wait_us(self, attempts: int) -> int:
        longest_s: float = min(self._pace.longest_retry_s, self._pace.retry_s * 2.0**attempts)
        return round(longest_s * self._chance.uniform(0.5, 1.0) * 1_000_000)

    async def _give_back(self, job: Job) -> None:
        try:
            await self._work.release(job.scope, job.job_id, job.token, self._clock.now_us())
        except SidemirrorError as exc:
            _log.info("job_not_released", extra={**_of(job), "reason": str(exc)})


def _place_of(error: Exception) -> str:
    """The file and line that raised the error; empty without a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _of(job: Job) -> dict[str, object]:
    told = {"job_id": job.job_id, "kind": job.kind, "attempts": job.attempts, "token": job.token}
    return {**whose(job.scope), **told}
