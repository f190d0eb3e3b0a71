"""What a server forgets by itself, and how a shared store that has records already begins to."""

from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.goals.report import KIND
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.memory.trials.trials import Trial
from sidemirror_server.models.ledger import US_PER_DAY, Amount, Reservation, day_of
from sidemirror_server.settings import BadSettings, Settings, load
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.migrate import migrate, read_migrations
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import JobId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import NewJob, Work
from tests.conformance.critiques import critique
from tests.conformance.dreams import memory
from tests.conformance.ledger import DAY, DAY_US, ONE, OTHER, T0
from tests.conformance.trials import assign
from tests.faults.sidecars import running
from tests.postgres.databases import Databases


@pytest.mark.parametrize(
    ("spend", "critiques", "spend_days", "critique_days"),
    [
        ("90", "365", [0, 90], [0, 364]),
        ("null", "null", [0, 90, 91], [0, 364, 366]),
        ("1", "365", [0], [0, 364]),
    ],
)
async def test_the_sweep_removes_what_is_too_old(
    spend: str,
    critiques: str,
    spend_days: list[int],
    critique_days: list[int],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Spending and critiques of as many days as the settings say, and a line of the log with counts."""
    now_us = SystemClock().now_us()
    async with running(tmp_path, retention__spend_days=spend, retention__critique_days=critiques) as served:
        stores = served.sidecar._stores
        for days in (0, 90, 91):
            given = await stores.ledger.reserve(ONE, "reflect", Amount(1, 1), {}, 30.0, now_us - days * US_PER_DAY)
            assert isinstance(given, Reservation)
        for days in (0, 364, 366):
            await stores.critiques.keep(OTHER, critique(f"c{days}", now_us - days * US_PER_DAY))
        with caplog.at_level("INFO"):
            await served.sidecar.retention.forget()
            await served.sidecar.retention.forget()
        spent = await stores.ledger.spent(ONE, 0, now_us)
        kept = await stores.critiques.list(OTHER, None, None, None, 10)
    assert [day_of(now_us) - spend.day for spend in spent] == spend_days
    assert [one.critique_id for one in kept] == [f"c{days}" for days in critique_days]
    removed = {"spend": 3 - len(spend_days), "critiques": 3 - len(critique_days)}
    lines = [record.__dict__ for record in caplog.records if record.message == "forgotten"]
    # Once, since there was nothing left the second time.
    assert [{name: line.get(name, 0) for name in removed} for line in lines] == (
        [removed] if any(removed.values()) else []
    )


async def dead_report(work: Work, scope: Scope, name: str, died_us: int) -> None:
    late_us = 2**60  # not due for the sidecar's own worker
    await work.put(scope, NewJob(JobId(name), KIND, b"x", run_at_us=late_us), died_us)
    (job,) = await work.claim(SERVES_ALL, (KIND,), 1, 10.0, late_us, "w")
    await work.fail(scope, job.job_id, job.token, "e", None, died_us)


async def test_dead_reports_are_kept_for_90_days(tmp_path: Path) -> None:
    """Seen to fail when the sweep does not purge them: they were kept for ever."""
    now_us = SystemClock().now_us()
    async with running(tmp_path) as served:
        work = served.sidecar._stores.work
        for days in (0, 89, 91, 400):
            await dead_report(work, ONE, f"j{days}", now_us - days * US_PER_DAY)
        await served.sidecar.retention.forget()
        left = await work.list(ONE, KIND, (), None, 10)
    assert {job.job_id for job in left} == {"j0", "j89"}


async def test_what_tasks_came_to_counts_for_a_year(tmp_path: Path) -> None:
    now_us = SystemClock().now_us()
    async with running(tmp_path) as served:
        trials = served.sidecar._stores.trials
        for days in (364, 366):
            await assign(trials, ONE, f"r{days}", [Trial("m", 1)], now_us - days * US_PER_DAY)
        await served.sidecar.retention.forget()
        assert [len(await trials.of_receipt(ONE, f"r{days}")) for days in (364, 366)] == [1, 0]


# What servers that knew the first six migrations left: a critique, a day's spending, and a report that died.
_OF_BEFORE = f"""
INSERT INTO sidemirror.critiques (tenant_id, project_id, critique_id, created_us, provider, revise, turn_id, session_id,
                                  body)
VALUES ('acme', 'shop', 'c', {T0}, 'rules', false, '', '', '{{}}');
INSERT INTO sidemirror.ledger_totals VALUES ('acme', 'blog', {DAY}, 'reflect', 1, 1, 1, 0, 0);
INSERT INTO sidemirror.ledger_envelopes
VALUES ('', {DAY}, '', 1, 1), ('', {DAY}, 'reflect', 1, 1), ('acme', {DAY}, '', 1, 1), ('acme', {DAY}, 'reflect', 1, 1);
INSERT INTO sidemirror.jobs (tenant_id, project_id, job_id, kind, state, attempts, max_attempts, run_at_us, token,
                             created_us, updated_us, payload)
VALUES ('acme', 'shop', 'j', '{KIND}', 'dead', 1, 3, 0, 1, {T0}, {T0}, 'x');
"""


async def test_a_shared_store_with_records_begins_to_forget(databases: Databases) -> None:
    """What was there before the migration is forgotten like the rest, and is under row level security again. Seen to
    fail when the migration copies nothing."""
    earlier = read_migrations()[:6]
    async with databases.fresh(migrated=False) as name:
        owner, url = databases.cluster.url("owner", name), databases.cluster.url("sidecar", name)
        await migrate(owner, ["sidecar"], 1, earlier)
        # By statements of its own: no server starts on a schema that lacks migrations.
        await databases.as_superuser(_OF_BEFORE, name)
        await migrate(owner, [], 2)
        assert await databases.strays(name) == []
        # Opening it looks at row level security.
        after = await PostgresDatabase.open(url)
        assert await PostgresCritiques(after).forget(SERVES_ALL, T0 + 1, 10) == 1
        assert await PostgresWork(after).purge_dead(SERVES_ALL, (KIND,), T0 + 1, 10) == 1
        assert await PostgresLedger(after).forget(SERVES_ALL, DAY + 1, 10, T0 + DAY_US) == 1
        await after.close()


@pytest.mark.parametrize(
    ("days", "importance", "kept"),
    [("90", "0.5", ["important", "young"]), ("null", "0.5", ["important", "old", "young"]), ("90", "0.9", ["young"])],
)
async def test_old_memories_and_turns_go(
    days: str, importance: str, kept: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As the settings say, with an entry in the log of the scope."""
    now_us = SystemClock().now_us()
    given: dict[str, Any] = {
        "retention__memory_days": days,
        "retention__memory_importance": importance,
        "retention__trace_days": days,
    }
    async with running(tmp_path, **given) as served:
        stores, forget = served.sidecar._stores, served.sidecar.retention.forget
        old_us, young_us = now_us - 91 * US_PER_DAY, now_us - 89 * US_PER_DAY
        for name, at_us, matters in (("old", old_us, 0.4), ("young", young_us, 0.4), ("important", old_us, 0.8)):
            await stores.memories.put(ONE, MemoryHistory(memory(name, at_us, importance=matters)))
            await stores.log.append(ONE, batch_of(name, at_us))
        with caplog.at_level("INFO"):
            await forget()
            await forget()  # looks no second time so soon
        memories = await stores.memories.list(ONE, None, None, None, 10)
        turns = await stores.log.heads(ONE, None, None, None, 10)
        pruned = await stores.pruning.list(ONE, None, 10)
    assert sorted(one.memory_id for one in memories) == kept
    removed = 3 - len(kept)
    assert sorted(head.turn_id for head in turns) == (["young"] if days == "90" else ["important", "old", "young"])
    assert [(one.kind.value, one.count) for one in pruned] == ([("turns", 2), ("memories", removed)] if removed else [])
    lines = [record.__dict__ for record in caplog.records if record.message == "forgotten"]
    assert [(line["memories"], line["turns"]) for line in lines] == ([(removed, 2)] if removed else [])


async def test_memories_that_are_too_many_go(tmp_path: Path) -> None:
    """However much they matter: without a bound, lessons that all differ were kept for ever."""
    now_us = SystemClock().now_us()
    async with running(tmp_path, retention__memory_count="3") as served:
        stores = served.sidecar._stores
        for number in range(5):
            await stores.memories.put(ONE, MemoryHistory(memory(f"m{number}", now_us, importance=0.9 + number / 100)))
        await served.sidecar.retention.forget()
        left = [one.memory_id for one in await stores.memories.list(ONE, None, None, None, 10)]
        (pruned,) = await stores.pruning.list(ONE, None, 10)
    assert sorted(left) == ["m2", "m3", "m4"]
    assert (pruned.count, pruned.importance_below) == (2, 0.91)


_DAYS = ("spend_days", "critique_days", "memory_days", "trace_days")


async def test_the_longest_time_to_keep(tmp_path: Path) -> None:
    """Is one that stores can count with; with 999,999,999 days the sidecar ended at its first look."""
    given: dict[str, Any] = {f"retention__{name}": "36500" for name in _DAYS}
    now_us = SystemClock().now_us()
    async with running(tmp_path, **given) as served:
        stores = served.sidecar._stores
        await stores.memories.put(ONE, MemoryHistory(memory("old", now_us - 1_000 * US_PER_DAY, importance=0.1)))
        await served.sidecar.retention.forget()
        assert len(await stores.memories.list(ONE, None, None, None, 10)) == 1


@pytest.mark.parametrize("name", _DAYS)
@pytest.mark.parametrize("days", ["0", "36501", "999999999"])
def test_a_time_that_cannot_be_kept(name: str, days: str) -> None:
    """Seen to fail, but for 0, while there was no longest time."""
    with pytest.raises(BadSettings, match=f"retention__{name}"):
        load({}, {f"SIDEMIRROR_RETENTION__{name.upper()}": days})


def batch_of(turn_id: str, at_us: int) -> tuple[Batch, ...]:
    """A turn that has ended."""
    head = TurnHead(TurnId(turn_id), SessionId(turn_id), 1, TurnStanding.FINISHED, 1, at_us, at_us, b"{}")
    return (Batch(head, (Draft(1, at_us, b"{}"),), b"{}"),)


def test_the_defaults() -> None:
    """As the README says them."""
    kept = Settings().retention
    assert (kept.spend_days, kept.critique_days) == (90, 365)
    assert (kept.memory_days, kept.memory_importance, kept.trace_days) == (90, 0.5, 90)
    assert kept.memory_count == 2_000_000
