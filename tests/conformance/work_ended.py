"""Of the port `Work` the clauses about lists and counts, and about jobs that have ended; `work.py` has the others."""

import pytest

from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import LIST_BYTES, Job, JobKey, JobState, Work
from tests.conformance.jobs import ONE, OTHER, T0, THIRD, OpenWork, claim, kept, new
from tests.conformance.served import ACME, REST, SHOP


async def five_of_six(work: Work) -> tuple[Job, ...]:
    """Jobs j0 to j4 of two scopes, as they were claimed. j5 waits, and so does one of another kind."""
    for number in range(6):
        await work.put(ONE if number % 2 else OTHER, new(f"j{number}"), T0)
    await work.put(ONE, new("d", kind="dream"), T0)
    return await claim(work, T0, limit=5)


async def states(work: Work) -> dict[str, str]:
    """The state of every job of both scopes."""
    pages = [await work.list(scope, kind, (), None, 100) for scope in (ONE, OTHER) for kind in ("goal", "dream")]
    return {job.job_id: job.state.value for page in pages for job in page}


async def wq19_list_is_newest_first(open_work: OpenWork) -> None:
    work = open_work()
    for number in range(6):
        await work.put(ONE, new(f"j{number}"), T0 + number // 2)
    await work.put(ONE, new("dream", kind="dream"), T0)
    first = await work.list(ONE, "goal", (), None, 3)
    assert [job.job_id for job in first] == ["j5", "j4", "j3"]
    last = first[-1]
    for job in await claim(work, T0 + 1, limit=4):
        await work.finish(ONE, job.job_id, job.token, None, T0 + 10)
    assert await work.purge(SERVES_ALL, ("goal",), T0 + 11, 4) == 4  # j3, where the page ended, is among them
    await work.put(ONE, new("j6"), T0 + 20)
    assert await work.list(ONE, "goal", (), JobKey(last.created_us, last.job_id), 3) == ()
    assert [job.job_id for job in await work.list(ONE, "goal", (JobState.QUEUED,), None, 10)] == ["j6", "j5", "j4"]
    assert await work.list(ONE, "goal", (JobState.DONE, JobState.DEAD), None, 10) == ()
    for number in range(3):
        await work.put(ONE, new(f"large{number}", bytes(LIST_BYTES // 2)), T0 + 30 + number)
    assert [job.job_id for job in await work.list(ONE, "goal", (), None, 100)] == ["large2", "large1"]
    after_large1 = JobKey(T0 + 31, JobId("large1"))
    assert [job.job_id for job in await work.list(ONE, "goal", (), after_large1, 2)] == ["large0", "j6"]
    after_j5 = JobKey(T0 + 2, JobId("j5"))
    assert [job.job_id for job in await work.list(ONE, "goal", (), after_j5, 10)] == ["j4"]


async def wq20_count_names_every_state(open_work: OpenWork) -> None:
    work = open_work()
    for number in range(5):
        await work.put(ONE, new(f"j{number}"), T0)
    jobs = await claim(work, T0, limit=4)
    await work.finish(ONE, jobs[0].job_id, jobs[0].token, None, T0)
    await work.fail(ONE, jobs[1].job_id, jobs[1].token, "e", None, T0)
    await work.fail(ONE, jobs[2].job_id, jobs[2].token, "e", T0 + 1, T0)
    assert await work.count(ONE, "goal") == dict.fromkeys(JobState, 1)
    assert await work.count(ONE, "dream") == dict.fromkeys(JobState, 0)


async def wq21_purge_removes_old_done_jobs(open_work: OpenWork) -> None:
    work = open_work()
    jobs = await five_of_six(work)
    for number, job in enumerate(jobs[:4]):
        await work.finish(job.scope, job.job_id, job.token, None, T0 + number)
    await work.fail(jobs[4].scope, jobs[4].job_id, jobs[4].token, "e", None, T0)
    (dream,) = await claim(work, T0, kinds=("dream",))
    await work.finish(ONE, dream.job_id, dream.token, None, T0)
    assert await work.purge(SERVES_ALL, ("goal",), T0 + 3, 2) == 2
    assert await work.purge(SERVES_ALL, ("goal",), T0 + 3, 2) == 1
    assert await work.purge(SERVES_ALL, ("goal",), T0 + 3, 2) == 0
    assert await states(work) == {"d": "done", "j3": "done", "j4": "dead", "j5": "queued"}


async def wq23_scopes_that_have_done_jobs(open_work: OpenWork) -> None:
    work = open_work()
    scopes = (Scope("b", "x"), Scope("a", "y"), Scope("a", "x"))
    for scope in (*scopes, OTHER):
        for number in range(2):
            await work.put(scope, new(f"j{number}", kind="dream" if scope == OTHER else "goal"), T0)
    assert await work.scopes(SERVES_ALL, ("goal", "dream")) == ()
    for job in await claim(work, T0):
        await work.finish(job.scope, job.job_id, job.token, None, T0)
    (dream, _) = await claim(work, T0, kinds=("dream",))
    await work.fail(dream.scope, dream.job_id, dream.token, "e", None, T0)
    assert (
        await work.scopes(SERVES_ALL, ("goal",))
        == await open_work().scopes(SERVES_ALL, ("goal", "dream"))
        == tuple(sorted(scopes))
    )
    assert await work.scopes(SERVES_ALL, ("dream",)) == await work.scopes(SERVES_ALL, ()) == ()


async def wq24_forget_removes_what_has_ended(open_work: OpenWork) -> None:
    work = open_work()
    for name in ("done", "dead", "running", "retrying"):
        await work.put(ONE, new(name), T0)
        await work.put(OTHER, new(name), T0)
    await work.put(ONE, new("queued", at=T0 + 9), T0)
    for job in await claim(work, T0):
        if job.job_id == "done":
            await work.finish(job.scope, job.job_id, job.token, None, T0)
        elif job.job_id != "running":
            await work.fail(job.scope, job.job_id, job.token, "e", T0 + 9 if job.job_id == "retrying" else None, T0)
    for name in ("queued", "running", "retrying"):
        before = await kept(work, name)
        with pytest.raises(WrongState):
            await work.forget(ONE, before.job_id)
        assert await kept(work, name) == before
    for name in ("done", "dead"):
        await work.forget(ONE, JobId(name))
        assert await work.get(ONE, JobId(name)) is None
        assert await work.get(OTHER, JobId(name)) is not None
        with pytest.raises(NotFound):
            await work.forget(ONE, JobId(name))


async def wq25_waiting_counts_what_has_not_ended(open_work: OpenWork) -> None:
    work = open_work()
    assert await work.waiting(ONE, "goal") == 0
    for number in range(6):
        await work.put(ONE, new(f"j{number}"), T0)
    await work.put(OTHER, new("j0"), T0 + 1)
    await work.put(ONE, new("d", kind="dream"), T0)
    assert await work.waiting(ONE, "goal") == 6
    jobs = await claim(work, T0, limit=4)
    assert await work.waiting(ONE, "goal") == 6
    await work.finish(ONE, jobs[0].job_id, jobs[0].token, None, T0)
    await work.fail(ONE, jobs[1].job_id, jobs[1].token, "e", None, T0)
    await work.fail(ONE, jobs[2].job_id, jobs[2].token, "e", T0 + 9, T0)
    assert await open_work().waiting(ONE, "goal") == 4
    assert (await work.waiting(OTHER, "goal"), await work.waiting(ONE, "dream")) == (1, 1)
    await work.revive(ONE, jobs[1].job_id, T0)
    assert await work.waiting(ONE, "goal") == 5


async def wq26_purge_dead_removes_old_dead_jobs(open_work: OpenWork) -> None:
    work = open_work()
    jobs = await five_of_six(work)
    for number, job in enumerate(jobs[:4]):
        await work.fail(job.scope, job.job_id, job.token, "e", None, T0 + number)
    await work.finish(jobs[4].scope, jobs[4].job_id, jobs[4].token, None, T0)
    (dream,) = await claim(work, T0, kinds=("dream",))
    await work.fail(ONE, dream.job_id, dream.token, "e", None, T0)
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 3, 2) == 2
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 3, 2) == 1
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 3, 2) == 0
    assert await states(work) == {"d": "dead", "j3": "dead", "j4": "done", "j5": "queued"}
    # One that was tried again is not dead any more, and is dead anew.
    await work.revive(jobs[3].scope, jobs[3].job_id, T0 + 5)
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 99, 9) == 0
    (again,) = [job for job in await claim(work, T0 + 6) if job.job_id == jobs[3].job_id]
    await work.fail(again.scope, again.job_id, again.token, "e", None, T0 + 7)
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 7, 9) == 0
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 8, 9) == 1


async def wq28_ended_jobs_of_others_stay(open_work: OpenWork) -> None:
    work = open_work()
    for scope in (OTHER, THIRD, ONE):
        for name in ("done", "dead"):
            await work.put(scope, new(name), T0)
    for job in await claim(work, T0):
        if job.job_id == "done":
            await work.finish(job.scope, job.job_id, job.token, None, T0)
        else:
            await work.fail(job.scope, job.job_id, job.token, "e", None, T0)
    assert await work.scopes(SHOP, ("goal",)) == (ONE,)
    assert await work.scopes(ACME, ("goal",)) == (OTHER, ONE)
    assert await work.scopes(REST, ("goal",)) == (OTHER, THIRD)
    for purge in (work.purge, work.purge_dead):
        assert await purge(SHOP, ("goal",), T0 + 9, 9) == 1
        assert await purge(SHOP, ("goal",), T0 + 9, 9) == 0
        assert await purge(ACME, ("goal",), T0 + 9, 9) == 1
        assert await purge(REST, ("goal",), T0 + 9, 9) == 1
