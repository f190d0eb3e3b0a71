"""The ports on Postgres where tenants are apart by role: the same suites, by a login that is bound to no tenant itself
and takes each tenant's role for a transaction."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror_server import cli
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount, Level, Refusal, Reservation
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.dreams import PostgresDreams
from sidemirror_server.storage.postgres.erasures import PostgresErasures
from sidemirror_server.storage.postgres.goal_reflections import PostgresGoalReflections
from sidemirror_server.storage.postgres.journal import PostgresJournal
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_graph import PostgresMemoryGraph
from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
from sidemirror_server.storage.postgres.migrate import migrate
from sidemirror_server.storage.postgres.observations import PostgresObservations
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.storage.postgres.pruning import PostgresPruning
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.trials import PostgresTrials
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.vocabulary.errors import ModelFailed, NotPermitted
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.work.queue import NewJob
from tests.architecture.repository import ROOT
from tests.conformance import (
    critiques,
    dreams,
    erasure_records,
    erasures,
    goal_reflections,
    journal,
    ledger,
    memories,
    memory_graph,
    memory_search,
    observations,
    policies,
    pruning,
    receipts,
    requests,
    sessions,
    trials,
    turn_log,
    work,
)
from tests.conformance.clauses import Clause, clauses_of, one_of_each_port
from tests.conformance.turn_log import Stores
from tests.faults.sidecars import channel, running
from tests.postgres.databases import Databases
from tests.wire.access import ACME, EVERYWHERE, UNKNOWN, bearer, entry, write_access

pytestmark = pytest.mark.slow("the conformance suite once more, by a role")

# The tenants that the suites name, and so the roles.
TENANTS = ("acme", "other", "a", "b", "a:b", "default", "nobody")
# The total over tenants is the operator's; a test below says what a tenant's role counts.
OVER_TENANTS = {"LE4"}

SUITES: list[tuple[dict[str, Clause], Callable[[PostgresDatabase], Any]]] = [
    ({**clauses_of(turn_log), **clauses_of(sessions)}, lambda db: Stores(PostgresTurnLog(db), PostgresSessions(db))),
    (clauses_of(requests), PostgresRequests),
    (clauses_of(memory_graph), lambda db: memory_graph.Stores(PostgresMemoryGraph(db), PostgresMemories(db))),
    (clauses_of(work), PostgresWork),
    (clauses_of(ledger), PostgresLedger),
    (clauses_of(critiques), PostgresCritiques),
    (clauses_of(memories), PostgresMemories),
    (clauses_of(trials), PostgresTrials),
    (clauses_of(policies), PostgresPolicies),
    (clauses_of(receipts), PostgresReceipts),
    (clauses_of(goal_reflections), PostgresGoalReflections),
    (clauses_of(journal), PostgresJournal),
    (clauses_of(dreams), lambda db: dreams.Stores(PostgresMemories(db), PostgresDreams(db))),
    (
        clauses_of(pruning),
        lambda db: pruning.Stores(
            *(PostgresMemories(db), PostgresTurnLog(db), PostgresSessions(db), PostgresPruning(db)),
            PostgresTrials(db),
        ),
    ),
    (
        clauses_of(observations),
        lambda db: observations.Stores(
            *(PostgresObservations(db), PostgresTurnLog(db), PostgresPruning(db)),
            PostgresErasures(db),
        ),
    ),
    (clauses_of(memory_search), lambda db: memory_search.Stores(PostgresMemories(db), PostgresMemorySearch(db))),
    (
        clauses_of(erasures),
        lambda db: erasure_records.Ports(
            *(PostgresErasures(db), PostgresTurnLog(db), PostgresSessions(db), PostgresCritiques(db)),
            *(PostgresReceipts(db), PostgresMemories(db), PostgresTrials(db), PostgresWork(db)),
            *(PostgresRequests(db), PostgresGoalReflections(db), PostgresJournal(db)),
        ),
    ),
]
CLAUSES = {
    name: (clause, store) for clauses, store in SUITES for name, clause in clauses.items() if name not in OVER_TENANTS
}


def test_every_suite_of_a_port_on_postgres_is_among_them() -> None:
    """A port that Postgres has is a .sql file of its folder, with a suite of the same name. Seen to fail when the
    clauses of one suite are left out."""
    ports = {path.stem for path in (ROOT / "server/sidemirror_server/storage/postgres").glob("*.sql")}
    suites = {path.stem for path in (ROOT / "tests/conformance").glob("*.py")}
    modules = {clause.__module__.rpartition(".")[2] for clause, _ in CLAUSES.values()}
    assert modules & ports == suites & ports


@pytest.fixture(scope="module")
def bound(databases: Databases) -> Iterator[str]:
    """A database where the role `tenant_…` is bound to each tenant, and `gateway` may take all of them but nobody's."""

    async def make() -> str:
        name = await databases.create()
        roles = {f"tenant_{tenant}": tenant for tenant in TENANTS}
        await databases.as_superuser("CREATE ROLE gateway LOGIN NOINHERIT")
        for role in roles:
            await databases.as_superuser(f'CREATE ROLE "{role}" LOGIN; GRANT "{role}" TO gateway')
        await migrate(databases.cluster.url("owner", name), [*roles, "gateway"], 0, tenants=roles)
        return name

    async def remove(name: str) -> None:
        await databases.drop(name)
        for role in ("gateway", *(f"tenant_{tenant}" for tenant in TENANTS)):
            await databases.as_superuser(f'DROP ROLE "{role}"')

    name = asyncio.run(make())
    yield name
    asyncio.run(remove(name))


@pytest.fixture
async def emptied(bound: str, databases: Databases) -> AsyncIterator[str]:
    """The same database, with nothing in it afterwards."""
    yield bound
    await databases.empty(bound)


@pytest.fixture
async def gateway(emptied: str, databases: Databases) -> AsyncIterator[PostgresDatabase]:
    database = await PostgresDatabase.open(databases.cluster.url("gateway", emptied))
    yield database
    await database.close()


@pytest.mark.parametrize("name", one_of_each_port({name: clause for name, (clause, _) in CLAUSES.items()}))
async def test_clause(name: str, gateway: PostgresDatabase) -> None:
    clause, store = CLAUSES[name]
    await clause(lambda: store(gateway))


async def opened_as(databases: Databases, role: str, name: str) -> PostgresDatabase:
    return await PostgresDatabase.open(databases.cluster.url(role, name))


async def test_a_claim_finds_what_is_due_for_every_tenant_at_hand(
    gateway: PostgresDatabase, bound: str, databases: Databases
) -> None:
    """In one look, also after jobs that used their attempts up were buried by another role of it. Seen to fail without
    the return to the login between the two."""
    jobs = PostgresWork(gateway)
    for tenant in ("acme", "other", "default"):
        await jobs.put(Scope(tenant, "p"), NewJob(JobId("j"), "goal", b"x"), 1)
        await jobs.put(Scope(tenant, "p"), NewJob(JobId("lost"), "goal", b"x", max_attempts=1), 0)
    assert len(await jobs.claim(SERVES_ALL, ["goal"], 3, 1.0, 1, "w")) == 3  # the lost ones, which are due for longer
    claimed = await jobs.claim(SERVES_ALL, ["goal"], 10, 1.0, 2_000_000, "w")
    assert {(job.scope.tenant_id, job.job_id) for job in claimed} == {(t, "j") for t in ("acme", "other", "default")}
    own = await opened_as(databases, "tenant_acme", bound)
    try:
        (job,) = await PostgresWork(own).claim(SERVES_ALL, ["goal"], 10, 1.0, 4_000_000, "w")
        assert job.scope == Scope("acme", "p")
    finally:
        await own.close()


async def test_caps_count_what_the_tenant_spent(gateway: PostgresDatabase) -> None:
    """The total and the purpose too: what another tenant spends is neither seen nor counted."""
    store, ten = PostgresLedger(gateway), Amount(10, 10)
    cap = {Level.TOTAL: Cap(tokens=20), Level.PURPOSE: Cap(tokens=15)}
    for tenant in ("acme", "other"):
        given = await store.reserve(Scope(tenant, "p"), "reflect", ten, cap, 30.0, ledger.T0)
        assert isinstance(given, Reservation)
    refused = await store.reserve(Scope("acme", "q"), "reflect", ten, cap, 30.0, ledger.T0)
    assert isinstance(refused, Refusal)
    assert (refused.level, refused.used) == (Level.PURPOSE, 10)
    other = await store.reserve(Scope("acme", "q"), "critique", ten, cap, 30.0, ledger.T0)
    assert isinstance(other, Reservation)
    assert await store.settle(other, Amount(3, 3))
    used = await store.used(Scope("acme", "p"), "critique", ledger.DAY)
    assert used[Level.TOTAL] == used[Level.TENANT] == Amount(13, 13)
    assert used[Level.PURPOSE] == Amount(3, 3)


async def test_a_tenant_that_is_bound_while_it_serves(
    gateway: PostgresDatabase, bound: str, databases: Databases
) -> None:
    scope = Scope("late", "p")
    with pytest.raises(NotPermitted):
        await PostgresWork(gateway).count(scope, "goal")
    await databases.as_superuser("CREATE ROLE tenant_late; GRANT tenant_late TO gateway")
    try:
        owner = databases.cluster.url("owner", bound)
        await migrate(owner, ["tenant_late"], 0, tenants={"tenant_late": "late"})
        await PostgresWork(gateway).put(scope, NewJob(JobId("j"), "goal", b"x"), 1)
        assert (await PostgresWork(gateway).get(scope, JobId("j"))) is not None
    finally:
        await databases.as_superuser("DROP OWNED BY tenant_late", bound)
        await databases.as_superuser("DROP ROLE tenant_late")


async def test_whoever_asks_at_a_gateway_whose_own_tenant_is_not_bound(
    bound: str,
    databases: Databases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The operator is told what helps, and not that the token is a wrong one. Seen to fail with the reason alone."""
    url, token = databases.cluster.url("gateway", bound), tmp_path / "token"
    access = write_access(tmp_path / "access.json", [entry("platform", EVERYWHERE, ("*", "*"), admin=True)])
    token.touch(0o600)
    token.write_text(EVERYWHERE)
    monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(token))

    async def said(*command: str) -> str:
        """What a command prints, on either channel."""
        await asyncio.to_thread(cli.main, list(command))
        printed = capsys.readouterr()
        return printed.out + printed.err

    given: dict[str, Any] = {"database_url": url, "access_file": str(access)}
    async with running(tmp_path, tenant_id="platform", **given) as served:
        told = await said("usage", "--address", served.address)
        assert "is not bound to this tenant" in told
        assert "`--scope TENANT/PROJECT` names another" in told
        told = await said("doctor", "--address", served.address)
        assert "does not answer for its own tenant and project" in told
        assert "start it with SIDEMIRROR_TENANT_ID=TENANT" in told
        assert "another token" not in told
        assert "acme" in await said("usage", "--scope", "acme/p", "--address", served.address)
    async with running(tmp_path, tenant_id="acme", **given) as served:
        assert "dreaming" in await said("usage", "--address", served.address)
        assert f"{served.address} is served by sidemirror 0.1.0" in await said("doctor", "--address", served.address)


async def test_a_cap_at_a_gateway_is_each_tenants_own(
    emptied: str,
    databases: Databases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Seen to fail: what one tenant used up was told to all, whose own figures were hidden from them; a second one's
    refusal had no line in the log, and hid that of the first when a question of it fitted; and the sum of all had a
    cap."""
    caplog.set_level(logging.WARNING)
    access = write_access(
        tmp_path / "access.json",
        [entry("acme", ACME), entry("other", UNKNOWN), entry("platform", EVERYWHERE, ("*", "*"), admin=True)],
    )
    given: dict[str, Any] = {
        "database_url": databases.cluster.url("gateway", emptied),
        "access_file": str(access),
        "tenant_id": "default",
        "spend__tokens_per_day": "100",
        "spend__tenant_tokens_per_day": "1000",
    }
    async with running(tmp_path, **given) as served, channel(served.address) as connection:
        spending = served.sidecar.gateway._spending

        async def spend(tenant: str, *, fits: bool) -> None:
            with contextlib.nullcontext() if fits else pytest.raises(ModelFailed, match="is 100 tokens a day"):
                await spending.reserve(Scope(tenant, "p"), Purpose.DREAMING, Amount(60, 0), 9.0)

        async def told(token: str, tenant: str) -> sidecar_pb2.GetServerInfoResponse:
            request = sidecar_pb2.GetServerInfoRequest(tenant_id=tenant, project_id="p")
            stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
            info: sidecar_pb2.GetServerInfoResponse = await stub.GetServerInfo(
                request, timeout=60, metadata=bearer(token)
            )
            return info

        async def whole(token: str, tenant: str) -> list[tuple[str, int, int, int]]:
            """The caps on all purposes in tokens: whose each is, the cap, what is used, and how often it refused."""
            info = await told(token, tenant)
            assert not info.hidden_caps
            return [
                (cap.tenant_id, cap.tokens_per_day, cap.used_tokens, cap.refused_count)
                for cap in info.spend_caps
                if not cap.purpose and cap.tokens_per_day
            ]

        await spend("acme", fits=True)
        await spend("acme", fits=False)
        assert await whole(UNKNOWN, "other") == [("other", 100, 0, 0)]
        await spend("other", fits=True)
        assert await whole(UNKNOWN, "other") == [("other", 100, 60, 0)]
        assert await whole(ACME, "acme") == [("acme", 100, 60, 1)]
        await spend("other", fits=False)
        refusing = (await told(EVERYWHERE, "default")).refusing_caps
        assert {(cap.tenant_id, cap.refused_count) for cap in refusing} == {("acme", 1), ("other", 1)}
        lines = [vars(record) for record in caplog.records if record.message == "spend_cap_reached"]
        assert [(line["tenant_id"], line["owner"], line["counts"]) for line in lines] == [
            (tenant, "sidecar", "tenant") for tenant in ("acme", "other")
        ]
        (tmp_path / "token").touch(0o600)
        (tmp_path / "token").write_text(EVERYWHERE)
        monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(tmp_path / "token"))
        command = ["usage", "--by", "tenant", "--json", "--address", served.address]
        assert await asyncio.to_thread(cli.main, command) == 0
        found = json.loads(capsys.readouterr().out)
        assert [(row["tenant_id"], row["tokens_per_day"]) for row in found["costs"]] == [("acme", 100), ("other", 100)]
        assert "tokens_per_day" not in found["all"]


async def test_a_list_of_tenants_has_one_cap_at_a_gateway_too(
    emptied: str, databases: Databases, tmp_path: Path
) -> None:
    """What `serves` lists is added up. Seen to fail when every gateway counts tenants by themselves."""
    given: dict[str, Any] = {"database_url": databases.cluster.url("gateway", emptied), "spend__tokens_per_day": "100"}
    async with running(tmp_path, tenant_id="acme", serves="acme/*, other/*", **given) as served:
        spending = served.sidecar.gateway._spending
        await spending.reserve(Scope("acme", "p"), Purpose.DREAMING, Amount(60, 0), 9.0)
        with pytest.raises(ModelFailed, match="the cap of this sidecar is reached"):
            await spending.reserve(Scope("other", "p"), Purpose.DREAMING, Amount(60, 0), 9.0)


@pytest.mark.parametrize("role", ["tenant_acme", "gateway"])
async def test_a_tenant_that_is_not_bound(role: str, bound: str, databases: Databases) -> None:
    """It is said, and not taken for a tenant without anything; what is bound goes on."""
    database = await opened_as(databases, role, bound)
    try:
        for call in (
            PostgresWork(database).count(Scope("foreign", "p"), "goal"),
            PostgresWork(database).put(Scope("foreign", "p"), NewJob(JobId("j"), "goal", b"x"), 1),
        ):
            with pytest.raises(NotPermitted, match="not bound to this tenant"):
                await call
        assert await PostgresWork(database).waiting(Scope("acme", "p"), "goal") == 0
        assert database.is_available()
    finally:
        await database.close()
