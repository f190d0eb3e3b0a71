"""Sidecars with wrong clocks, and some that keep little, beside healthy ones on one database; then its clock leaps.

What a sidecar removes is what it serves and what the policies let go, by the database's time; and each says what is
wrong with it.
"""

import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.goals.report import KIND
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.memory.trials.trials import Trial
from sidemirror_server.models.ledger import US_PER_DAY, Amount, Reservation, day_of
from sidemirror_server.policy.record import DataPolicy, PolicyLevel, RetentionPeriods
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.storage.postgres import admission
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary import store_clock
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import JobId, RequestId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope, serves_only
from sidemirror_server.work.queue import NewJob
from tests.conformance.critiques import critique
from tests.conformance.dreams import memory
from tests.conformance.receipts import receipt
from tests.conformance.requests import FIRST, METHOD
from tests.faults.clocks import Shifted
from tests.faults.figures import show
from tests.faults.sidecars import Running, running, server_info, until_health
from tests.models.endpoint import KEY, LOCAL, Endpoint
from tests.postgres.databases import Databases
from tests.wire.calls import MEDIUM, called, failed

HEALTHY = ("one", "two")
AHEAD, BEHIND, SHORT, UNTOLD = "ahead", "behind", "short", "untold"
# With settings that keep for a day: pinned to the first healthy one's project, whose policy keeps for a year, and to
# the second one's, for which nobody has decided.
GREEDY, HASTY = "greedy", "hasty"
# A tenant whose policy keeps for five days, and one of whose sidecars was not told whom it serves.
RULED = "ruled"
TENANTS = (*HEALTHY, AHEAD, BEHIND, SHORT, RULED)
# Of whom nothing is old enough to be removed.
OTHERS = (*HEALTHY, AHEAD, BEHIND)
# Of these nothing is too old for a sidecar with default settings; most of it is for one that keeps a day.
AGES_DAYS = (0.003, 2, 10, 25)
OF = {GREEDY: HEALTHY[0], HASTY: HEALTHY[1]}
DAY_KEPT = {f"retention__{name}_days": "1" for name in ("spend", "critique", "memory", "trace")}


class Kept(NamedTuple):
    """Rows by table, of each tenant, and which of its turns are open."""

    rows: Mapping[str, Counter[str]]
    open_turns: Counter[str]
    days_of_spend: Mapping[str, set[int]]


async def kept(url: str) -> Kept:
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = 'sidemirror'"
            " AND column_name = 'tenant_id'"
            # A dream that ends meanwhile has read what was unread.
            " AND table_name NOT IN ('ledger_envelopes', 'role_tenants', 'dream_unread_envelopes')"
        )
        rows: dict[str, Counter[str]] = {tenant_id: Counter() for tenant_id in TENANTS}
        for (table,) in tables:
            statement = f"SELECT tenant_id, count(*) FROM sidemirror.{table} GROUP BY tenant_id"
            for tenant_id, count in await connection.fetch(statement):
                rows[tenant_id][table] = count
        is_open = "SELECT tenant_id, count(*) FROM sidemirror.turns WHERE standing = 'open' GROUP BY tenant_id"
        days: dict[str, set[int]] = {}
        for tenant_id, day in await connection.fetch("SELECT DISTINCT tenant_id, day FROM sidemirror.ledger_totals"):
            days.setdefault(tenant_id, set()).add(day)
        return Kept(rows, Counter(dict([tuple(row) for row in await connection.fetch(is_open)])), days)
    finally:
        await connection.close()


async def fill(served: Running, scope: Scope, each: int) -> None:
    """What a tenant has gathered: of everything that is ever forgotten, `each` of every age."""
    stores, now_us = served.sidecar._stores, SystemClock().now_us()
    own = serves_only(scope)
    for days in AGES_DAYS:
        at_us = now_us - int(days * US_PER_DAY)
        for number in range(each):
            name = f"{days}-{number}"
            standing = TurnStanding.OPEN if days == AGES_DAYS[0] else TurnStanding.FINISHED
            head = TurnHead(TurnId(name), SessionId(name), 1, standing, 1, at_us, at_us, b"{}")
            await stores.log.append(scope, (Batch(head, (Draft(1, at_us, b"{}"),), b"{}"),))
            await stores.memories.put(scope, MemoryHistory(memory(name, at_us, importance=0.1)))
            await stores.critiques.keep(scope, critique(name, at_us))
            await stores.trials.issue(scope, receipt(name, at_us, name.encode()), [Trial(name, 1)])
            await stores.requests.remember(scope, METHOD, RequestId(name), FIRST, now_us, now_us + US_PER_DAY // 2)
            given = await stores.ledger.reserve(scope, "reflect", Amount(1, 1), {}, 30.0, at_us)
            assert isinstance(given, Reservation)
            # As old as those that a report is kept for at most.
            done_us = now_us - int(min(days, 15) * US_PER_DAY)
            await stores.work.put(scope, NewJob(JobId(name), KIND, b"x", run_at_us=2**60), done_us)
            (job,) = await stores.work.claim(own, (KIND,), 1, 1.0, 2**61, "w")
            await stores.work.finish(scope, job.job_id, job.token, None, done_us)


async def decide(served: Running, scope: Scope, level: PolicyLevel, kept_days: int) -> None:
    """A policy that keeps everything for so many days."""
    periods = RetentionPeriods(*(kept_days,) * 3, trace_days=kept_days)
    change = PolicyChange(level, DataPolicy(periods), "", 0, 10)
    await served.sidecar._stores.policies.set(scope, change, SystemClock().now_us())


async def ask(served: Running, tenant_id: str, number: int) -> None:
    """A call that is paid for."""
    at: dict[str, Any] = {"tenant_id": tenant_id, "project_id": "p", "turn_id": f"paid-{number}"}
    await served.stub.StartTurn(pb.StartTurnRequest(config=MEDIUM, **at), timeout=60)
    events = [called("look"), failed()]
    await served.stub.ReportEvents(pb.ReportEventsRequest(events=events, **at), timeout=60)
    await served.stub.Reflect(pb.ReflectRequest(**at), timeout=60)


@contextlib.asynccontextmanager
async def everybody(url: str, endpoint: Endpoint, folder: Path) -> AsyncIterator[dict[str, Running]]:
    """A sidecar pinned to each tenant, and one that was not told whom it serves."""
    async with contextlib.AsyncExitStack() as stack:
        served = {}
        # Nobody but the sidecar that serves everything serves the tenant that is ruled by its policy alone.
        for name in (*(name for name in TENANTS if name != RULED), UNTOLD, GREEDY, HASTY):
            settings: dict[str, Any] = {
                "database_url": url,
                "model__provider": "openai_compatible",
                "model__name": LOCAL,
                "model__base_url": endpoint.openai_url,
                "model__api_key": KEY,
                "model__input_usd_per_mtok": "2",
                "model__output_usd_per_mtok": "8",
                "spend__usd_per_day": "1000",
                **(DAY_KEPT if name in (SHORT, UNTOLD, GREEDY, HASTY) else {}),
                **({} if name == UNTOLD else {"pin_scope": "true", "tenant_id": OF.get(name, name), "project_id": "p"}),
                "clock": Shifted({AHEAD: 100, BEHIND: -100}.get(name, 0)),
            }
            served[name] = await stack.enter_async_context(running(folder / name, **settings))
        yield served


async def sweep(served: Mapping[str, Running]) -> None:
    for one in served.values():
        # As if the ten minutes between two looks at turns and memories were over.
        one.sidecar.retention._prune_at_s = 0.0
        await one.sidecar.upkeep.sweep()


def told(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    return [record.__dict__ for record in caplog.records if record.message == message]


async def leap(
    monkeypatch: pytest.MonkeyPatch, served: Mapping[str, Running], superuser: str, rounds: int, days: set[int]
) -> None:
    """The database's own clock is 100 days on: nothing goes, and spending is still on these days."""
    leapt = admission._SQL["clock"].replace("clock_timestamp()", "clock_timestamp() + interval '100 days'")
    monkeypatch.setattr(admission, "_SQL", {**admission._SQL, "clock": leapt})
    before = await kept(superuser)
    for _ in range(rounds):
        await sweep(served)
    for number, tenant_id in enumerate(TENANTS, start=len(TENANTS)):
        await ask(served.get(tenant_id, served[UNTOLD]), tenant_id, number)
    after = await kept(superuser)
    gone = {tenant_id: before.rows[tenant_id] - after.rows[tenant_id] for tenant_id in TENANTS}
    assert not any(gone.values()), gone
    assert [after.days_of_spend[tenant_id] for tenant_id in (*HEALTHY, AHEAD, BEHIND)] == [days] * 4
    # Those that were asked are open too, and no other turn was ended.
    assert {tenant_id: after.open_turns[tenant_id] - before.open_turns[tenant_id] for tenant_id in TENANTS} == (
        dict.fromkeys(TENANTS, 1)
    )
    assert all(one.sidecar._stores.clock.doubt for one in served.values())


async def swept(served: Mapping[str, Running], superuser: str, rounds: int, each: int) -> Kept:
    """What there was before all have swept: nothing of it is gone that somebody keeps."""
    before = await kept(superuser)
    for _ in range(rounds):
        await sweep(served)
    after = await kept(superuser)
    for tenant_id in OTHERS:
        # A dream may have come meanwhile, which adds rows.
        assert not before.rows[tenant_id] - after.rows[tenant_id], tenant_id
    assert after.open_turns == before.open_turns == Counter(dict.fromkeys(TENANTS, each))
    # What is kept for a day, or for five by a policy, is younger.
    for tenant_id, left in ((SHORT, each), (RULED, 2 * each)):
        tables = ("turns", "log_entries", "memories", "critiques")
        assert {after.rows[tenant_id][table] for table in tables} == {left}, tenant_id
        assert len(after.days_of_spend[tenant_id]) == left // each
        lost = before.rows[tenant_id] - after.rows[tenant_id]
        assert not {"requests", "receipts", "lesson_trials", "jobs"} & lost.keys()
    return before


async def wrong_ones_say_so(served: Mapping[str, Running], caplog: pytest.LogCaptureFixture) -> None:
    """Whoever is wrong has said so, and nobody else."""
    ahead = {name: round(one.sidecar._stores.clock.ahead_us / US_PER_DAY, 1) for name, one in served.items()}
    assert ahead == {**dict.fromkeys(served, 0.0), AHEAD: 100.0, BEHIND: -100.0}
    in_doubt = {name for name, one in served.items() if one.sidecar._stores.clock.doubt}
    assert in_doubt == {AHEAD, BEHIND}
    clocks = {name: (await server_info(one.address)).store_clock for name, one in served.items()}
    skews = {name: round(clock.ahead.ToMicroseconds() / US_PER_DAY, 1) for name, clock in clocks.items()}
    assert skews == ahead
    assert {name for name, clock in clocks.items() if "days from the database's" in clock.doubt} == in_doubt
    for name, one in served.items():
        expected = "NOT_SERVING" if name in in_doubt else "SERVING"
        await until_health(one.address, "sidemirror.v1.SidecarService/clock", expected)
    differ = told(caplog, "clock_differs_from_database")
    assert sorted(round(one["ahead_s"] / 86_400) for one in differ) == [-100, 100]
    assert len(told(caplog, "retention_stopped")) == 2
    assert len(told(caplog, "serves_everybody")) == 1


@pytest.mark.parametrize(
    ("each", "rounds"),
    [
        pytest.param(2, 3, id="few"),
        pytest.param(100, 100, id="many", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
@pytest.mark.usefixtures("patient_postgres")
async def test_nobody_removes_what_others_keep(
    databases: Databases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    each: int,
    rounds: int,
) -> None:
    """Seen to fail when the store's clock is each sidecar's own (the one that is ahead spends on another day), when
    retention does not look at what is served, when settings go before policies or count in a shared store (those that
    keep a day remove what others keep), and when the clock follows the leap (everybody's
    rows go)."""
    caplog.set_level(logging.INFO)
    # The time is measured with each transaction instead of each minute.
    monkeypatch.setattr(store_clock, "_MEASURE_EVERY_S", 0.0)
    today = day_of(SystemClock().now_us())
    async with databases.fresh() as name, Endpoint() as endpoint:
        superuser = databases.cluster.url("superuser", name)
        async with everybody(databases.cluster.url("sidecar", name), endpoint, tmp_path) as served:
            # First of all: the sidecars sweep by themselves too.
            await decide(served[UNTOLD], Scope(RULED, "p"), PolicyLevel.TENANT, 5)
            await decide(served[SHORT], Scope(SHORT, "p"), PolicyLevel.PROJECT, 1)
            await decide(served[HEALTHY[0]], Scope(HEALTHY[0], "p"), PolicyLevel.PROJECT, 365)
            for tenant_id in TENANTS:
                await fill(served[HEALTHY[0]], Scope(tenant_id, "p"), each)
            before = await swept(served, superuser, rounds, each)
            for number, tenant_id in enumerate(TENANTS):
                await ask(served.get(tenant_id, served[UNTOLD]), tenant_id, number)
            days = (await kept(superuser)).days_of_spend
            old = {today - round(age) for age in AGES_DAYS}
            assert all(days[tenant_id] == old for tenant_id in OTHERS), "spent on a day of its own"

            await wrong_ones_say_so(served, caplog)
            await leap(monkeypatch, served, superuser, rounds, old)
            assert len(told(caplog, "database_clock_leapt")) == len(served)
            assert len(told(caplog, "retention_stopped")) == len(served)
    rows = sum(before.rows[tenant_id].total() for tenant_id in OTHERS)
    show(f"{len(served)} sidecars, {rounds} sweeps of each, {rows} rows of the others: none removed, before and after")
