"""What every adapter of the port `Work` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on that
store.
"""

import asyncio
from collections.abc import Callable

import pytest

from sidemirror_server.vocabulary.errors import AlreadyExists, LostClaim, NotFound, WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import LIST_BYTES, Job, JobKey, JobState, NewJob, Work
from tests.conformance.served import ACME, REST, SHOP

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


async def wq1_put_keeps_a_job(open_work: OpenWork) -> None:
    work = open_work()
    payload = bytes(range(256)) + "Grüße 🙂".encode()
    job = await work.put(ONE, new("a", payload), T0)
    assert job == Job(
        scope=ONE,
        job_id=JobId("a"),
        kind="goal",
        payload=payload,
        state=JobState.QUEUED,
        attempts=0,
        max_attempts=3,
        run_at_us=T0,
        lease_until_us=None,
        token=0,
        worker=None,
        checkpoint=None,
        last_error=None,
        result=None,
        created_us=T0,
        updated_us=T0,
    )
    assert await kept(open_work(), "a") == job
    assert (await work.put(ONE, new("empty", b""), T0)).payload == b""
    await work.put(ONE, new("later", at=T0 + 5), T0)
    assert [job.job_id for job in await claim(work, T0 + 4)] == ["a", "empty"]
    assert [job.job_id for job in await claim(work, T0 + 5)] == ["later"]


async def wq2_put_again_makes_no_second_job(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    claimed = await claim_one(work)
    assert await work.put(ONE, new("a"), T0 + 1) == claimed
    await work.finish(ONE, claimed.job_id, claimed.token, b"r", T0 + 2)
    assert (await work.put(ONE, new("a"), T0 + 3)).state is JobState.DONE
    assert await claim(work, T0 + 4) == ()
    assert len(await work.list(ONE, "goal", (), None, 10)) == 1


async def wq3_put_of_a_taken_id_is_refused(open_work: OpenWork) -> None:
    work = open_work()
    job = await work.put(ONE, new("a", b"1"), T0)
    with pytest.raises(AlreadyExists):
        await work.put(ONE, new("a", b"2"), T0 + 1)
    with pytest.raises(AlreadyExists):
        await work.put(ONE, new("a", b"1", kind="dream"), T0 + 1)
    assert await kept(work, "a") == job


async def wq4_scopes_never_meet(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a", b"one"), T0)
    await work.put(OTHER, new("a", b"other"), T0)
    assert (await kept(work, "a", ONE)).payload == b"one"
    assert (await kept(work, "a", OTHER)).payload == b"other"
    assert [job.payload for job in await work.list(ONE, "goal", (), None, 10)] == [b"one"]
    assert (await work.count(OTHER, "goal"))[JobState.QUEUED] == 1
    assert await work.get(ONE, JobId("b")) is None
    assert await work.get(Scope("other", "shop"), JobId("a")) is None
    first = (await claim(work, T0))[0]
    await work.finish(first.scope, first.job_id, first.token, None, T0)
    assert {(await kept(work, "a", ONE)).state, (await kept(work, "a", OTHER)).state} == {"done", "running"}


async def wq5_claim_takes_what_is_due(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("third", at=T0 - 10), T0 - 30)
    await work.put(OTHER, new("first", at=T0 - 30), T0 - 30)
    await work.put(ONE, new("second", at=T0 - 20), T0 - 30)
    await work.put(ONE, new("not yet", at=T0 + 1), T0 - 30)
    await work.put(ONE, new("foreign", kind="dream", at=T0 - 40), T0 - 40)
    claimed = await work.claim(SERVES_ALL, ("goal", "unused"), 2, 7.5, T0, "w7")
    assert [(job.scope, job.job_id) for job in claimed] == [(OTHER, "first"), (ONE, "second")]
    assert [(job.state, job.attempts, job.worker) for job in claimed] == [(JobState.RUNNING, 1, "w7")] * 2
    assert all(job.token > 0 and job.lease_until_us == T0 + 7_500_000 for job in claimed)
    assert await kept(work, "second") == claimed[1]
    assert [job.job_id for job in await claim(work, T0)] == ["third"]
    assert await work.claim(SERVES_ALL, (), 10, 30.0, T0, "w1") == ()


async def wq6_a_claimed_job_is_one_workers(open_work: OpenWork) -> None:
    work, second = open_work(), open_work()
    for number in range(60):
        await work.put(ONE, new(f"j{number}"), T0)
    hauls = await asyncio.gather(*[claim(one, T0, limit=7) for one in (work, second) * 6])
    ids = [job.job_id for haul in hauls for job in haul]
    assert len(ids) == len(set(ids)) == 60
    assert await claim(work, T0 + 30 * SECOND - 1) == ()


async def wq7_an_ended_lease_is_claimed_again(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    first = await claim_one(work)
    await work.checkpoint(ONE, first.job_id, first.token, b"half", T0 + 1)
    second = await claim_one(work, T0 + 30 * SECOND)
    assert (second.attempts, second.checkpoint, second.state) == (2, b"half", JobState.RUNNING)
    assert second.token > first.token
    assert second.lease_until_us == T0 + 60 * SECOND


async def wq8_used_up_attempts_end_dead(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a", attempts=1), T0)
    await work.put(ONE, new("b"), T0 + 1)
    await claim(work, T0, limit=1)
    later = T0 + 30 * SECOND
    assert [job.job_id for job in await claim(work, later, limit=1)] == ["b"]
    job = await kept(work, "a")
    assert (job.state, job.attempts, job.lease_until_us) == (JobState.DEAD, 1, None)
    assert job.last_error == "the worker vanished, and no attempt is left"
    assert job.updated_us == later


async def wq9_extend_moves_the_lease(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    job = await claim_one(work)
    await work.extend(ONE, job.job_id, job.token, 30.0, T0 + 20 * SECOND)
    assert (await kept(work, "a")).lease_until_us == T0 + 50 * SECOND
    assert await claim(work, T0 + 50 * SECOND - 1) == ()
    assert len(await claim(work, T0 + 50 * SECOND)) == 1


async def wq10_checkpoint_is_kept(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    job = await claim_one(work)
    await work.checkpoint(ONE, job.job_id, job.token, b"1", T0)
    await work.checkpoint(ONE, job.job_id, job.token, b"2\0", T0)
    await work.fail(ONE, job.job_id, job.token, "e", T0 + 1, T0)
    assert (await claim_one(work, T0 + 1)).checkpoint == b"2\0"


async def wq11_finish_makes_it_done(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    job = await claim_one(work)
    await work.finish(ONE, job.job_id, job.token, b"result", T0 + 9)
    done = await kept(work, "a")
    assert (done.state, done.result, done.lease_until_us, done.updated_us) == (JobState.DONE, b"result", None, T0 + 9)
    assert await claim(work, T0 + 3600 * SECOND) == ()


async def wq12_fail_with_a_time_retries(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    job = await claim_one(work)
    await work.fail(ONE, job.job_id, job.token, "no answer", T0 + 100, T0 + 5)
    waiting = await kept(work, "a")
    assert (waiting.state, waiting.run_at_us, waiting.last_error) == (JobState.RETRYING, T0 + 100, "no answer")
    assert (waiting.attempts, waiting.lease_until_us) == (1, None)
    assert await claim(work, T0 + 99) == ()
    again = await claim_one(work, T0 + 100)
    assert again.attempts == 2
    assert again.token > job.token


async def wq13_fail_for_good_ends_dead(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("hopeless"), T0)
    await work.put(ONE, new("last", attempts=1), T0)
    for job, retry_at_us in zip(await claim(work, T0), (None, T0 + 1), strict=True):
        await work.fail(ONE, job.job_id, job.token, "broken", retry_at_us, T0 + 5)
    for job_id in ("hopeless", "last"):
        dead = await kept(work, job_id)
        assert (dead.state, dead.last_error, dead.attempts) == (JobState.DEAD, "broken", 1)
    assert await claim(work, T0 + 3600 * SECOND) == ()


async def wq14_release_gives_it_back(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a", attempts=1), T0)
    job = await claim_one(work)
    await work.release(ONE, job.job_id, job.token, T0 + 5)
    assert ((await kept(work, "a")).state, (await kept(work, "a")).attempts) == (JobState.QUEUED, 0)
    again = await claim_one(work, T0 + 5)
    assert again.attempts == 1
    assert again.token > job.token


async def all_claimants_verbs(work: Work, job_id: str, token: int, expected: type[Exception]) -> None:
    a = JobId(job_id)
    with pytest.raises(expected):
        await work.extend(ONE, a, token, 99.0, T0 + 7)
    with pytest.raises(expected):
        await work.checkpoint(ONE, a, token, b"stale", T0 + 7)
    with pytest.raises(expected):
        await work.finish(ONE, a, token, b"stale", T0 + 7)
    with pytest.raises(expected):
        await work.fail(ONE, a, token, "stale", T0 + 8, T0 + 7)
    with pytest.raises(expected):
        await work.fail(ONE, a, token, "stale", None, T0 + 7)
    with pytest.raises(expected):
        await work.release(ONE, a, token, T0 + 7)


async def wq15_a_stale_token_changes_nothing(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    stale = await claim_one(work)
    current = await claim_one(work, T0 + 30 * SECOND)
    await all_claimants_verbs(work, "a", stale.token, LostClaim)
    await all_claimants_verbs(work, "a", current.token + 1, LostClaim)
    assert await kept(work, "a") == current
    await work.finish(ONE, current.job_id, current.token, None, T0 + 31 * SECOND)
    done = await kept(work, "a")
    await all_claimants_verbs(work, "a", current.token, LostClaim)
    assert await kept(work, "a") == done


async def wq16_an_ended_lease_counts_until_taken(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a"), T0)
    job = await claim_one(work)
    await work.finish(ONE, job.job_id, job.token, b"late", T0 + 40 * SECOND)
    assert (await kept(work, "a")).result == b"late"


async def wq17_unknown_jobs_are_not_found(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(OTHER, new("a"), T0)
    job = await claim_one(work)
    await all_claimants_verbs(work, "a", job.token, NotFound)
    with pytest.raises(NotFound):
        await work.revive(ONE, JobId("a"), T0)
    assert await kept(work, "a", OTHER) == job


async def wq18_revive_wakes_the_dead(open_work: OpenWork) -> None:
    work = open_work()
    await work.put(ONE, new("a", attempts=1), T0)
    with pytest.raises(WrongState):
        await work.revive(ONE, JobId("a"), T0)
    job = await claim_one(work)
    await work.checkpoint(ONE, job.job_id, job.token, b"half", T0)
    await work.fail(ONE, job.job_id, job.token, "broken", None, T0)
    await work.revive(ONE, JobId("a"), T0 + 9)
    revived = await kept(work, "a")
    assert (revived.state, revived.attempts, revived.run_at_us) == (JobState.QUEUED, 0, T0 + 9)
    again = await claim_one(work, T0 + 9)
    assert (again.attempts, again.checkpoint) == (1, b"half")
    assert again.token > job.token


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
    for number in range(6):
        await work.put(ONE if number % 2 else OTHER, new(f"j{number}"), T0)
    await work.put(ONE, new("d", kind="dream"), T0)
    jobs = await claim(work, T0, limit=5)
    for number, job in enumerate(jobs[:4]):
        await work.finish(job.scope, job.job_id, job.token, None, T0 + number)
    await work.fail(jobs[4].scope, jobs[4].job_id, jobs[4].token, "e", None, T0)
    (dream,) = await claim(work, T0, kinds=("dream",))
    await work.finish(ONE, dream.job_id, dream.token, None, T0)
    assert await work.purge(SERVES_ALL, ("goal",), T0 + 3, 2) == 2
    assert await work.purge(SERVES_ALL, ("goal",), T0 + 3, 2) == 1
    assert await work.purge(SERVES_ALL, ("goal",), T0 + 3, 2) == 0
    left = [job async for job in _everything(work)]
    assert sorted((job.job_id, job.state.value) for job in left) == [
        ("d", "done"),
        ("j3", "done"),
        ("j4", "dead"),
        ("j5", "queued"),
    ]


async def _everything(work: Work):  # type: ignore[no-untyped-def]
    for scope in (ONE, OTHER):
        for kind in ("goal", "dream"):
            for job in await work.list(scope, kind, (), None, 100):
                yield job


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
    for number in range(6):
        await work.put(ONE if number % 2 else OTHER, new(f"j{number}"), T0)
    await work.put(ONE, new("d", kind="dream"), T0)
    jobs = await claim(work, T0, limit=5)
    for number, job in enumerate(jobs[:4]):
        await work.fail(job.scope, job.job_id, job.token, "e", None, T0 + number)
    await work.finish(jobs[4].scope, jobs[4].job_id, jobs[4].token, None, T0)
    (dream,) = await claim(work, T0, kinds=("dream",))
    await work.fail(ONE, dream.job_id, dream.token, "e", None, T0)
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 3, 2) == 2
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 3, 2) == 1
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 3, 2) == 0
    left = [job async for job in _everything(work)]
    assert sorted((job.job_id, job.state.value) for job in left) == [
        ("d", "dead"),
        ("j3", "dead"),
        ("j4", "done"),
        ("j5", "queued"),
    ]
    # One that was tried again is not dead any more, and is dead anew.
    await work.revive(jobs[3].scope, jobs[3].job_id, T0 + 5)
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 99, 9) == 0
    (again,) = [job for job in await claim(work, T0 + 6) if job.job_id == jobs[3].job_id]
    await work.fail(again.scope, again.job_id, again.token, "e", None, T0 + 7)
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 7, 9) == 0
    assert await work.purge_dead(SERVES_ALL, ("goal",), T0 + 8, 9) == 1


async def wq22_arrived_tells_of_new_work(open_work: OpenWork) -> None:
    work = open_work()
    assert not work.arrived.is_set()
    await work.put(ONE, new("a"), T0)
    assert work.arrived.is_set()
    work.arrived.clear()
    job = await claim_one(work)
    await work.fail(ONE, job.job_id, job.token, "e", None, T0)
    assert not work.arrived.is_set()
    await work.revive(ONE, job.job_id, T0)
    assert work.arrived.is_set()


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


async def wq27_jobs_of_others_are_left_to_them(open_work: OpenWork) -> None:
    work = open_work()
    for number, scope in enumerate((OTHER, THIRD, ONE, ONE)):
        await work.put(scope, new(f"j{number}", at=T0 + number, attempts=1), T0)
    claimed: list[str] = []
    # What others have is due for longer, and there is no room for it in the limit.
    for serves, limit, found in ((SHOP, 1, ["j2"]), (SHOP, 9, ["j3"]), (ACME, 9, ["j0"]), (REST, 9, ["j1"])):
        jobs = await work.claim(serves, ("goal",), limit, 7.5, T0 + 9, "w")
        assert [job.job_id for job in jobs] == found
        claimed += found
    assert len(claimed) == 4
    # Their leases are over now, and no attempt is left.
    late_us = T0 + 60_000_000
    assert await work.claim(SHOP, ("goal",), 9, 7.5, late_us, "w") == ()
    states = [(await kept(work, f"j{number}", scope)).state for number, scope in enumerate((OTHER, THIRD, ONE, ONE))]
    assert states == [JobState.RUNNING, JobState.RUNNING, JobState.DEAD, JobState.DEAD]
    # The longest due first, whichever entry it is of.
    for name, scope, at_us in (("c", THIRD, T0 + 1), ("b", OTHER, T0 + 2), ("a", THIRD, T0 + 3)):
        await work.put(scope, new(name, kind="dream", at=at_us), T0)
    jobs = await work.claim(REST, ("dream",), 2, 7.5, T0 + 9, "w")
    assert [job.job_id for job in jobs] == ["c", "b"]


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
