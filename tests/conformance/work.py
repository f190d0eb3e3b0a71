"""What every adapter of the port `Work` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on that
store.
"""

import asyncio

import pytest

from sidemirror_server.vocabulary.errors import AlreadyExists, LostClaim, NotFound, WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import Job, JobState, Work
from tests.conformance import work_ended
from tests.conformance.jobs import ONE, OTHER, SECOND, T0, THIRD, OpenWork, claim, claim_one, kept, new
from tests.conformance.served import ACME, REST, SHOP

PARTS = (work_ended,)


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
