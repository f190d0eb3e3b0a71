"""Two sidecars on one database: what one records the other sees, whole; and what must happen once happens once."""

import asyncio
import contextlib
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.storage.postgres import transactions, turn_log
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.storage.sql import ids_of
from sidemirror_server.trace.log import TURN_TOPIC, Entry
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import JobState, NewJob
from tests.architecture.repository import ROOT
from tests.conformance.turn_log import EVERYTHING, ONE, OTHER, batch, everything, head, start
from tests.faults.agents import a_turn
from tests.faults.figures import show
from tests.faults.sidecars import running
from tests.faults.waiting import until
from tests.postgres.databases import Databases

statements_of = transactions._log_statements
SCOPES = (Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop"))


@pytest.fixture
async def url(databases: Databases) -> AsyncIterator[str]:
    """A sidecar's URL of a database of the test's own."""
    async with databases.fresh() as name:
        yield databases.cluster.url("sidecar", name)


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresDatabase]:
    database = await PostgresDatabase.open(url)
    try:
        yield database
    finally:
        await database.close()


def program(module: str, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "server")])}
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments], env=environment, cwd=ROOT, stdout=subprocess.PIPE
    )


# --- watching --------------------------------------------------------------------------------------------------------


async def test_one_watches_what_the_other_records(url: str, tmp_path: Path) -> None:
    """Eight turns at once on one sidecar, watched from the other, from before the first to after the last. Seen to
    fail when `Waiter.wait` waits for the bell of its own process alone."""
    turns, events = 8, 60
    recorder, watcher = running(tmp_path / "a", database_url=url), running(tmp_path / "b", database_url=url)
    async with recorder as recording, watcher as watching:
        seen: list[pb.TurnEntry] = []
        stream = watching.stub.WatchTurns(pb.WatchTurnsRequest())

        async def watch() -> None:
            async for response in stream:
                seen.extend([response.entry] if response.entry.sequence else [])

        async def record(number: int) -> None:
            turn_id = f"t{number}"
            sent = a_turn(turn_id, f"s{number % 3}", events)
            await recording.stub.StartTurn(
                pb.StartTurnRequest(turn_id=turn_id, session_id=f"s{number % 3}"), timeout=60
            )
            for first in range(1, events, 7):
                request = pb.ReportEventsRequest(turn_id=turn_id, events=sent[first : first + 7])
                await recording.stub.ReportEvents(request, timeout=60)

        following = asyncio.create_task(watch())
        await asyncio.gather(*(record(number) for number in range(turns)))
        expected: Counter[tuple[str, int]] = Counter()
        for number in range(turns):
            kept = await recording.stub.GetTurn(pb.GetTurnRequest(turn_id=f"t{number}", page_size=1000))
            expected.update((f"t{number}", entry.sequence) for entry in kept.entries)
        took_s = await until(lambda: len(seen) >= expected.total(), within_s=60)
        stream.cancel()
        await asyncio.gather(following, return_exceptions=True)
    assert Counter((entry.turn_id, entry.sequence) for entry in seen) == expected
    for number in range(turns):
        sequences = [entry.sequence for entry in seen if entry.turn_id == f"t{number}"]
        assert sequences == sorted(sequences)
    show(f"{expected.total()} entries watched from another sidecar, the last {took_s:.2f} s after it was recorded")


async def slow_append(database: PostgresDatabase, at_the_end: asyncio.Event, wrote: asyncio.Event) -> None:
    """An append that has its positions and takes its time to commit."""
    statements = turn_log._SQL
    kept = batch(head("slow"), b'{"slow":true}')
    async with database.transaction(ONE, log="appends") as transaction:
        values = (*turn_log._sessions([]), *turn_log._heads([kept.head]), TURN_TOPIC)
        entries = turn_log._entries([(kept.head, kept.drafts[0])])
        await transaction.change(statements["put"], *ids_of(ONE), *values, *entries)
        wrote.set()
        await at_the_end.wait()


async def follow(log: PostgresTurnLog, followed: list[Entry]) -> None:
    """One look for more."""
    after = followed[-1].position if followed else 0
    followed.extend(await log.tail(ONE, TURN_TOPIC, None, after, 100, EVERYTHING))


async def out_of_order(url: str) -> tuple[list[Entry], list[Entry]]:
    """What a follower has seen, and what there is, after a transaction that began first committed last."""
    followed: list[Entry] = []
    async with opened(url) as one, opened(url) as two, opened(url) as three:
        at_the_end, wrote = asyncio.Event(), asyncio.Event()
        log = PostgresTurnLog(three)
        slow = asyncio.create_task(slow_append(one, at_the_end, wrote))
        await wrote.wait()
        # Neither an append of the same scope nor one of another waits for it.
        await PostgresTurnLog(two).append(ONE, (start("quick"),))
        await PostgresTurnLog(two).append(OTHER, (start("elsewhere"),))
        assert [entry.key for entry in await everything(log, OTHER)] == ["elsewhere"]
        await follow(log, followed)
        at_the_end.set()
        await slow
        await follow(log, followed)
        return followed, list(await everything(log))


async def test_nothing_is_missed_when_transactions_commit_out_of_order(url: str) -> None:
    """Seen to fail with readers that take the log to be settled."""
    followed, there = await out_of_order(url)
    assert [entry.key for entry in there] == ["slow", "quick"]
    assert followed == there


async def test_without_the_settled_part_it_would_be(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken build on which the test above was seen to fail, kept as a test: readers that look at everything."""
    monkeypatch.setattr(transactions, "_log_statements", settled_or_not)
    followed, there = await out_of_order(url)
    assert [entry.key for entry in there] == ["slow", "quick"]
    assert [entry.key for entry in followed] == ["quick"], "the slow one came to light behind the follower's back"


def settled_or_not(scope: Scope, log: transactions.LogUse) -> list[str]:
    """`_log_statements` of a build that takes the log to be settled."""
    everywhere = [f"SET LOCAL sidemirror.{name} = '{2**62}'" for name in ("last", "settled")]
    return everywhere if log == "reads" else statements_of(scope, log)


async def test_many_sidecars_in_one_scope(url: str, request: pytest.FixtureRequest) -> None:
    """Sidecars that append all the time, in one scope and each in its own. No append of one turn waits for one of
    another. Seen to fail with every append alone in its scope (`changes` in place of `appends`)."""
    sidecars, each = 16, 40
    figures = {}
    for kind in ("one scope", "a scope each"):
        async with contextlib.AsyncExitStack() as stack:
            logs = [PostgresTurnLog(await stack.enter_async_context(opened(url))) for _ in range(sidecars)]
            longest_s = 0.0

            async def append(number: int, log: PostgresTurnLog, kind: str = kind) -> None:
                nonlocal longest_s
                scope = Scope(kind, "shop" if kind == "one scope" else f"shop {number}")
                for sequence in range(1, each + 1):
                    begun_s = time.monotonic()
                    entries = batch(head(f"t{number}", sequence), b'{"n":1}' * 50)
                    await log.append(scope, (entries,))
                    longest_s = max(longest_s, time.monotonic() - begun_s)

            began_s = time.monotonic()
            await asyncio.gather(*(append(number, log) for number, log in enumerate(logs)))
            figures[kind] = (sidecars * each / (time.monotonic() - began_s), longest_s)
            assert len(await everything(logs[0], Scope(kind, "shop"))) == (
                sidecars * each if kind == "one scope" else 0
            )
    told = "; ".join(f"{kind}: {rate:.0f} appends/s, longest {s * 1000:.0f} ms" for kind, (rate, s) in figures.items())
    show(f"{sidecars} sidecars: {told}")


# --- what happens once -----------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "jobs", [pytest.param(250, id="250-jobs"), pytest.param(1000, id="1000-jobs", marks=pytest.mark.long)]
)
async def test_jobs_of_killed_workers(jobs: int, databases: Databases) -> None:
    """Two sidecars' workers, killed at random: each job ends done or dead, its effect once. Seen to fail when
    `claim` leaves a job without the time at which its lease ends: a killed worker's jobs never come back."""
    async with databases.fresh() as name:
        # Without a constraint on purpose: a second effect of a job would be a second row.
        await databases.as_superuser("CREATE TABLE effects (job_id text); GRANT ALL ON effects TO sidecar", name)
        url = databases.cluster.url("sidecar", name)
        async with opened(url) as database:
            work = PostgresWork(database)
            now_us = SystemClock().now_us()
            for number in range(jobs):
                # Enough attempts that only the hopeless die, whatever is killed.
                job = NewJob(JobId(f"job {number}"), "count", b"%d" % number, max_attempts=100)
                await work.put(SCOPES[number % 3], job, now_us)
            chance = random.Random(13)
            workers = [program("tests.postgres.jobs_until_killed", url, str(seed)) for seed in range(2)]
            kills = 0
            try:
                while await unfinished(work, jobs):
                    victim = chance.randrange(2)
                    # From when it works: on a busy machine its start alone takes longer than it has to live.
                    await has_begun(workers[victim])
                    await asyncio.sleep(0.4 + chance.random() * 0.6)
                    workers[victim].kill()
                    workers[victim].communicate()
                    kills += 1
                    workers[victim] = program("tests.postgres.jobs_until_killed", url, str(100 + kills))
            finally:
                for process in workers:
                    process.kill()
                    process.communicate()
            states = {
                int(job.payload): job.state
                for scope in SCOPES
                for job in await work.list(scope, "count", (), None, jobs)
            }
            async with database.transaction(None) as transaction:
                effects = Counter(row[0] for row in await transaction.fetch("SELECT job_id FROM effects"))
    assert states == {n: JobState.DEAD if n % 50 == 0 else JobState.DONE for n in range(jobs)}
    assert effects == {f"job {n}": 1 for n in range(jobs) if n % 50}
    assert kills >= 2
    show(f"{jobs} jobs, {kills} workers killed")


async def has_begun(process: "subprocess.Popen[bytes]") -> None:
    """Returns when a worker's process says that it works. It says so once."""
    assert process.stdout is not None
    assert await asyncio.to_thread(process.stdout.readline) == b"working\n"


async def unfinished(work: PostgresWork, jobs: int) -> int:
    counts = [await work.count(scope, "count") for scope in SCOPES]
    return jobs - sum(count[JobState.DONE] + count[JobState.DEAD] for count in counts)


async def test_two_sidecars_one_dollar(url: str) -> None:
    """200 callers in two processes, ten cents each at most, one dollar a day. Seen to fail when reservations do not
    take turns: 17 calls of ten cents were given."""
    callers = [program("tests.postgres.callers", url, "100") for _ in range(2)]
    told = [await asyncio.to_thread(process.communicate) for process in callers]
    given = [int(out) for out, _ in told]
    assert sum(given) == 10
    show(f"200 callers, one dollar: {given[0]} and {given[1]} calls of ten cents")
