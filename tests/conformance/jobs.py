"""Jobs for the suites of the port `Work`, and how they are claimed and looked at."""

from collections.abc import Callable

from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import Job, NewJob, Work

OpenWork = Callable[[], Work]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
SECOND = 1_000_000


def new(job_id: str, payload: bytes = b"{}", *, kind: str = "goal", attempts: int = 3, at: int | None = None) -> NewJob:
    return NewJob(JobId(job_id), kind, payload, attempts, at)


async def claim(work: Work, now_us: int, limit: int = 10, kinds: tuple[str, ...] = ("goal",)) -> tuple[Job, ...]:
    return await work.claim(SERVES_ALL, kinds, limit, 30.0, now_us, "w1")


async def claim_one(work: Work, now_us: int = T0) -> Job:
    (job,) = await claim(work, now_us)
    return job


async def kept(work: Work, job_id: str, scope: Scope = ONE) -> Job:
    job = await work.get(scope, JobId(job_id))
    assert job is not None
    return job
