"""Three teams on one database, each with a sidecar, a provider and a bill of its own: none does another's work."""

import asyncio
import contextlib
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as goals_pb
from sidemirror.v1 import goal_reflection_pb2_grpc as goals_grpc
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import reflective_memory_pb2_grpc as memory_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.goals.record import GoalState
from sidemirror_server.goals.report import KIND, GoalReport, report_body
from sidemirror_server.memory.dreams.schedule import DreamSchedule
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.dreams import PostgresDreams
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import NewJob
from tests.faults.figures import show
from tests.faults.sidecars import Running, channel, running
from tests.memory.dreamers import lesson
from tests.models.endpoint import EMBEDDING, KEY, LOCAL, Endpoint
from tests.postgres.databases import Databases
from tests.wire.calls import MEDIUM, called, failed

TENANTS = ("acme", "globex", "initech")
PROJECTS = ("shop", "blog")
# The last one by its pinned scope, so it has that project only.
SERVES: dict[str, dict[str, str]] = {
    "acme": {"serves": "acme/*"},
    "globex": {"serves": "globex/blog, globex/shop"},
    "initech": {"tenant_id": "initech", "project_id": "shop", "pin_scope": "true"},
}
SCOPES = [Scope(tenant_id, project_id) for tenant_id in TENANTS[:2] for project_id in PROJECTS]
SCOPES.append(Scope("initech", "shop"))
PRICES = {"model__input_usd_per_mtok": "2", "model__output_usd_per_mtok": "8", "embedding__usd_per_mtok": "1"}

Say = Callable[["Team"], Coroutine[Any, Any, object]]


def canary(tenant_id: str) -> str:
    """What stands in every text of a tenant."""
    return f"canary-of-{tenant_id}"


class Team(NamedTuple):
    """A sidecar, and every service of it."""

    tenant_id: str
    served: Running
    goals: Any
    memory: Any


class Agents:
    """Agents of every tenant, which speak to whichever sidecar they find."""

    def __init__(self, teams: list[Team], elsewhere: PostgresDatabase) -> None:
        self._teams = teams
        self._chance = random.Random(12)
        self._numbers = itertools.count()
        # Another process on the same store, which puts jobs and does none.
        self._work = PostgresWork(elsewhere)
        log = PostgresTurnLog(elsewhere)
        self._schedule = DreamSchedule(PostgresDreams(elsewhere), self._work, log, SystemClock())
        self.refused = 0
        self.done = Counter[str]()

    async def _somewhere(self, what: str, say: Say) -> None:
        """Says it to one sidecar after the other, until one serves it."""
        for team in self._chance.sample(self._teams, len(self._teams)):
            try:
                await say(team)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.PERMISSION_DENIED:
                    raise
                self.refused += 1
            else:
                self.done[what] += 1
                return
        raise AssertionError(f"nobody serves {what}")

    async def round(self, scope: Scope) -> None:
        """A turn with a reflection, a goal, a lesson and a dream, of one scope; and more jobs than one worker takes."""
        number = next(self._numbers)
        at: dict[str, Any] = {"tenant_id": scope.tenant_id, "project_id": scope.project_id}
        own = canary(scope.tenant_id)

        async def turn(team: Team) -> None:
            turn_id = f"t{number}"
            stub = team.served.stub
            await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, config=MEDIUM, **at), timeout=60)
            events = [called(f"look_{own}"), failed(f"nothing there, says {own}")]
            await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events, **at), timeout=60)
            await stub.Reflect(pb.ReflectRequest(turn_id=turn_id, **at), timeout=60)

        async def goal(team: Team) -> None:
            report = goals_pb.ReportGoalRequest(
                goal_id=f"g{number}", objective=f"Reach {own} {number}", state=goals_pb.GOAL_STATE_FAILED, **at
            )
            await team.goals.ReportGoal(report, timeout=60)

        async def learn(team: Team) -> None:
            told = lesson(number, reflection_text=f"The look-up of {own} failed again, in case {number}.")
            result = memory_pb.ReflectionResult(**told)
            request = memory_pb.StoreReflectionRequest(result=result, session_id=f"s{number}", **at)
            await team.memory.StoreReflection(request, timeout=60)

        async def ask(team: Team) -> None:
            request = memory_pb.QueryReflectionsRequest(query_text=f"why does {own} fail, {number}?", **at)
            await team.memory.QueryReflections(request, timeout=60)

        for what, say in (("turn", turn), ("goal", goal), ("lesson", learn), ("question", ask)):
            await self._somewhere(what, say)
        now_us = SystemClock().now_us()
        for more in range(3):
            told = GoalReport(f"g{number}-{more}", f"Reach {own} {number} {more}", GoalState.FAILED)
            new = NewJob(JobId(f"j{number}-{more}"), KIND, report_body(told))
            await self._work.put(scope, new, now_us)
            self.done["job"] += 1
        await self._schedule.start(scope)
        self.done["dream"] += 1


@contextlib.asynccontextmanager
async def team(tenant_id: str, endpoint: Endpoint, url: str, folder: Path) -> AsyncIterator[Team]:
    settings: dict[str, Any] = {
        **SERVES[tenant_id],
        **PRICES,
        "database_url": url,
        "model__provider": "openai_compatible",
        "model__name": LOCAL,
        "model__base_url": endpoint.openai_url,
        "model__api_key": KEY,
        "embedding__name": EMBEDDING,
        "embedding__base_url": endpoint.openai_url,
        "embedding__api_key": KEY,
        "spend__usd_per_day": "1000",
        "purposes__dreaming__usd_per_day": "1000",
    }
    async with running(folder / tenant_id, **settings) as served, channel(served.address) as connection:
        goals = goals_grpc.GoalReflectionServiceStub(connection)
        yield Team(tenant_id, served, goals, memory_grpc.ReflectiveMemoryServiceStub(connection))


async def spent(url: str) -> dict[str, tuple[int, int]]:
    """By tenant: tokens that are settled, and what is still reserved."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "SELECT tenant_id, sum(settled_tokens)::bigint, sum(reserved_tokens)::bigint"
            " FROM sidemirror.ledger_totals GROUP BY tenant_id"
        )
        return {tenant_id: (settled, reserved) for tenant_id, settled, reserved in rows}
    finally:
        await connection.close()


async def all_is_done(url: str) -> None:
    """Every job has ended well, and every memory has its vector."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(120):
            while await connection.fetchval(  # noqa: ASYNC110 - the database tells nobody
                "SELECT (SELECT count(*) FROM sidemirror.jobs WHERE state NOT IN ('done', 'dead'))"
                " + (SELECT count(*) FROM sidemirror.memories AS memory"
                "    WHERE NOT EXISTS (SELECT FROM sidemirror.memory_vectors AS vector"
                "                      WHERE vector.tenant_id = memory.tenant_id"
                "                            AND vector.project_id = memory.project_id"
                "                            AND vector.memory_id = memory.memory_id))"
                " + (SELECT count(*) FROM sidemirror.ledger_reservations)"
            ):
                await asyncio.sleep(0.1)
        assert await connection.fetchval("SELECT count(*) FROM sidemirror.jobs WHERE state = 'dead'") == 0
    finally:
        await connection.close()


async def tended(teams: list[Team], until_s: float) -> None:
    """Every sidecar sweeps, forgets and looks for dreams, far more often than it does by itself."""
    while time.monotonic() < until_s:
        for one in teams:
            sidecar = one.served.sidecar
            await sidecar.upkeep.sweep()
            assert sidecar.memory.schedule is not None
            await sidecar.memory.schedule.look()
        await asyncio.sleep(0.5)


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(5.0, id="5-seconds"),
        pytest.param(600.0, id="10-minutes", marks=[pytest.mark.long, pytest.mark.timeout(1200)]),
    ],
)
@pytest.mark.usefixtures("patient_postgres")
async def test_nobody_does_anothers_work(databases: Databases, tmp_path: Path, seconds: float) -> None:
    """Agents of three tenants speak to whichever of three sidecars they find, and jobs come from elsewhere as well.
    No request reaches a provider with another tenant's words, and each tenant is billed what its own provider has
    counted. Seen to fail when `PostgresWork.claim` looks at every scope in place of what is served: after five seconds
    24 of 98 requests were at a wrong provider."""
    async with databases.fresh() as name, contextlib.AsyncExitStack() as stack:
        url = databases.cluster.url("sidecar", name)
        endpoints = {tenant_id: await stack.enter_async_context(Endpoint()) for tenant_id in TENANTS}
        teams = [
            await stack.enter_async_context(team(tenant_id, endpoints[tenant_id], url, tmp_path))
            for tenant_id in TENANTS
        ]
        elsewhere = await PostgresDatabase.open(url)
        stack.push_async_callback(elsewhere.close)
        agents = Agents(teams, elsewhere)
        until_s = time.monotonic() + seconds

        async def talk(scope: Scope) -> None:
            await agents.round(scope)
            while time.monotonic() < until_s:
                await agents.round(scope)

        async with asyncio.TaskGroup() as group:
            for scope in SCOPES:
                group.create_task(talk(scope))
            group.create_task(tended(teams, until_s))
        superuser = databases.cluster.url("superuser", name)
        await all_is_done(superuser)
        billed = await spent(superuser)
    words = {
        tenant_id: Counter(whose for call in endpoint.calls for whose in TENANTS if canary(whose) in str(call.body))
        for tenant_id, endpoint in endpoints.items()
    }
    show(
        f"{seconds:.0f} s: {dict(agents.done)}, {agents.refused} refused; requests with whose words, by provider:"
        f" { {tenant_id: dict(found) for tenant_id, found in words.items()} }"
    )
    assert {tenant_id: set(found) for tenant_id, found in words.items()} == {one: {one} for one in TENANTS}
    assert agents.refused > 0
    counted = {
        tenant_id: sum(given + made for _, given, made in endpoint.tokens().values())
        for tenant_id, endpoint in endpoints.items()
    }
    assert billed == {tenant_id: (tokens, 0) for tenant_id, tokens in counted.items()}
    asked_for = {tenant_id: set(endpoint.tokens()) for tenant_id, endpoint in endpoints.items()}
    assert all("memory_embedding" in purposes and "mid_turn_reflection" in purposes for purposes in asked_for.values())
