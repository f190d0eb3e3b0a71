"""Tenants do not meet in Postgres: also not when the statements forget to keep them apart.

A build is made whose statements lack the filter on tenant and project. Row level security then has to answer alone.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any

import asyncpg
import msgspec
import pytest

from sidemirror_server.critique.store import CritiqueRecord
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.memory.kin.links import Link
from sidemirror_server.memory.record import Lesson, LinkKind, TaskOutcome, Teaching
from sidemirror_server.memory.trials.trials import Trial
from sidemirror_server.models.ledger import Amount
from sidemirror_server.policy.record import Advice, DataPolicy, PolicyLevel, RetentionPeriods, ScopePolicies
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.storage.postgres import (
    critiques,
    dreams,
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
    sources,
    trials,
    turn_log,
    work,
)
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.erasures import PostgresErasures
from sidemirror_server.storage.postgres.goal_reflections import PostgresGoalReflections
from sidemirror_server.storage.postgres.journal import PostgresJournal
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_graph import PostgresMemoryGraph
from sidemirror_server.storage.postgres.observations import PostgresObservations
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.trials import PostgresTrials
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.trace.log import TURN_TOPIC, Note, TurnStanding
from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKind
from sidemirror_server.trace.requests import Answered
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import NotFound, SidemirrorError
from sidemirror_server.vocabulary.ids import JobId, RequestId, SessionId, TurnId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, serves_only
from sidemirror_server.work.queue import NewJob
from tests.conformance import memories as told
from tests.conformance import observations as taught_by
from tests.conformance.turn_log import EVERYTHING, T0, batch, head, start
from tests.postgres.databases import Databases

MINE, SIBLING, FOREIGN = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
ADAPTERS = (
    *(critiques, dreams, erasures, goal_reflections, journal, ledger, memories, memory_graph, memory_search),
    *(observations, policies, pruning, receipts, requests, sessions, sources, trials, turn_log, work),
)
DAY = T0 // 86_400_000_000
S1, T1, J1, R1 = SessionId("s1"), TurnId("t1"), JobId("j1"), RequestId("r1")

_FILTER = re.compile(r"((?:\w+\.)?tenant_id) = \$1 AND ((?:\w+\.)?project_id) = \$2")


def unfiltered(statement: str) -> str:
    """The statement as it would be had its author forgotten whose rows it is about."""
    return _FILTER.sub("($1::text IS NOT NULL AND $2::text IS NOT NULL)", statement)


@pytest.fixture(scope="module")
def filled(databases: Databases) -> Iterator[str]:
    """A database with the same ids in three scopes, for tests that change nothing."""

    async def make() -> str:
        name = await databases.create()
        async with opened(databases, name) as database:
            await fill_scopes(database)
        return name

    name = asyncio.run(make())
    yield name
    asyncio.run(databases.drop(name))


@pytest.fixture(params=["as it is", "without filters"])
def build(request: pytest.FixtureRequest, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statements, once `filled` is."""
    if request.param == "without filters":
        forget_filters(monkeypatch)


@pytest.fixture
async def database(databases: Databases, filled: str, build: None) -> AsyncIterator[PostgresDatabase]:
    async with opened(databases, filled) as database:
        yield database


@pytest.fixture
async def own(databases: Databases, filled: str, build: None) -> AsyncIterator[PostgresDatabase]:
    """The same for a test that changes something."""
    async with databases.fresh(copy_of=filled) as name, opened(databases, name) as database:
        yield database


async def fill_scopes(database: PostgresDatabase) -> None:
    for number, scope in enumerate((MINE, SIBLING, FOREIGN)):
        await fill(database, scope, b'{"of":%d}' % number)


def forget_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    for adapter in ADAPTERS:
        monkeypatch.setattr(adapter, "_SQL", {name: unfiltered(text) for name, text in adapter._SQL.items()})


@contextlib.asynccontextmanager
async def opened(databases: Databases, name: str) -> AsyncIterator[PostgresDatabase]:
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
    try:
        yield database
    finally:
        await database.close()


async def fill(database: PostgresDatabase, scope: Scope, body: bytes) -> None:
    await PostgresTurnLog(database).append(scope, (start("t1", body, body),))
    await PostgresSessions(database).update(scope, S1, body, T0)
    await PostgresRequests(database).remember(scope, "M", R1, Answered(b"d", body), T0, T0 + 10)
    await PostgresWork(database).put(scope, NewJob(J1, "goal", body), T0)
    kept = CritiqueRecord("c1", T0, "rules", 500_000, False, "t1", "s1", body)
    await PostgresCritiques(database).keep(scope, kept)
    shown = (ReceiptItem("i", 1, "lesson", b"everybody's"), ReceiptItem("j", 1, "lesson", body))
    receipt = Receipt("r1", ReceiptKind.GOAL, T0, shown, goal_id=body.decode())
    await PostgresTrials(database).issue(scope, receipt, (Trial("m1", 1),))
    lesson = GoalReflection("x", "g", "send it", body.decode(), 0.5, GoalState.FAILED, T0, Origin.TOOL)
    await PostgresGoalReflections(database).put(scope, lesson, T0)
    await PostgresJournal(database).add(scope, "noted", Note("k", "g", T0, body), T0)
    await PostgresLedger(database).reserve(scope, "reflect", Amount(1, 1), {}, 30.0, T0)
    whom = (key(SourceKind.SUBJECT, "anna"), key(SourceKind.SUBJECT, body.decode()))
    about = Teaching((*whom, key(SourceKind.TURN, "t9")), "k", T0)
    taught = msgspec.structs.replace(told.memory("m1", f"send {body.decode()}"), taught_by=(about,))
    await PostgresMemories(database).learn(scope, Lesson(taught, lesson_id="l1"), T0)
    await PostgresMemories(database).report(scope, TaskOutcome("r1", "success", T0))
    await PostgresMemoryGraph(database).link(scope, (Link("m:m1", LinkKind.MENTIONS, "n:send", T0),))
    await PostgresErasures(database).begin(scope, "e1", (key(SourceKind.TURN, f"of {body.decode()}"),), T0)
    silenced = DataPolicy(advice=Advice(silenced=(body.decode(),)))
    await PostgresPolicies(database).set(scope, PolicyChange(PolicyLevel.PROJECT, silenced, "ops", 0, 10), T0)
    seen = msgspec.structs.replace(taught_by.observation(scope, "t1", 1), then=(body.decode(),))
    await PostgresObservations(database).keep(scope, T1, [seen])


# Reads, each of which must answer MINE's alone. (number of things of its own, the call)
READS: list[tuple[int, Callable[[PostgresDatabase], Awaitable[Any]]]] = [
    (1, lambda db: PostgresTurnLog(db).heads(MINE, None, None, None, 10)),
    (1, lambda db: PostgresTurnLog(db).heads(MINE, None, TurnStanding.OPEN, None, 10)),
    (1, lambda db: PostgresTurnLog(db).heads(MINE, S1, None, None, 10)),
    (2, lambda db: PostgresTurnLog(db).read(MINE, T1, 0, 10, EVERYTHING)),
    (2, lambda db: PostgresTurnLog(db).tail(MINE, TURN_TOPIC, None, 0, 10, EVERYTHING)),
    (2, lambda db: PostgresTurnLog(db).tail(MINE, TURN_TOPIC, "s1", 0, 10, EVERYTHING)),
    (1, lambda db: PostgresSessions(db).list(MINE, None, 10)),
    (1, lambda db: PostgresWork(db).list(MINE, "goal", (), None, 10)),
    (1, lambda db: PostgresLedger(db).spent(MINE, DAY, T0)),
    (1, lambda db: PostgresLedger(db).costs(serves_only(MINE), DAY, DAY, DAY, 9)),
    (1, lambda db: PostgresJournal(db).tail(MINE, "noted", None, 0, 10, EVERYTHING)),
    (1, lambda db: PostgresReceipts(db).find(MINE, None, 10)),
    (1, lambda db: PostgresReceipts(db).find(MINE, None, 10, lesson_id="i")),
    (1, lambda db: PostgresTurnLog(db).heads(MINE, None, None, None, 10, outcomes=[""])),
    (1, lambda db: PostgresTurnLog(db).heads_of(MINE, [T1])),
    (1, lambda db: PostgresGoalReflections(db).of_goal(MINE, "g", T0)),
    (1, lambda db: PostgresGoalReflections(db).recent(MINE, T0)),
    (1, lambda db: PostgresGoalReflections(db).similar(MINE, frozenset({"send"}), 10, T0)),
    (1, lambda db: PostgresGoalReflections(db).every(MINE)),
    (1, lambda db: PostgresCritiques(db).list(MINE, None, None, None, 10)),
    (1, lambda db: PostgresCritiques(db).list(MINE, "t1", None, None, 10)),
    (1, lambda db: PostgresCritiques(db).list(MINE, None, "s1", None, 10)),
    (1, lambda db: PostgresCritiques(db).figures(MINE, T0, T0 + 1, None, None)),
    (1, lambda db: PostgresMemories(db).list(MINE, None, None, None, 10)),
    (1, lambda db: PostgresMemories(db).get(MINE, ("m1",))),
    (1, lambda db: PostgresMemories(db).versions(MINE, "m1", None, 10)),
    (1, lambda db: PostgresMemoryGraph(db).around(MINE, ("m:m1",), (LinkKind.MENTIONS,), 10)),
    (1, lambda db: PostgresTrials(db).of_receipt(MINE, "r1")),
    (1, lambda db: PostgresTrials(db).lessons(MINE, None, 10)),
    (1, lambda db: PostgresErasures(db).tombstones(MINE, None, 10)),
    (1, lambda db: PostgresErasures(db).left(MINE, "e1", 10)),
    (1, lambda db: PostgresObservations(db).of_signature(MINE, taught_by.SIGNATURE)),
    (1, lambda db: PostgresObservations(db).signatures(MINE, "", 10)),
    (1, lambda db: PostgresObservations(db).subjects(MINE, ["memory:m1"])),
]


@pytest.mark.parametrize(("own", "read"), READS)
async def test_lists_show_their_scope_alone(
    own: int, read: Callable[[PostgresDatabase], Awaitable[Any]], database: PostgresDatabase
) -> None:
    found = await read(database)
    assert len(found) == own
    assert b'"of":1' not in str(found).encode()
    assert b'"of":2' not in str(found).encode()


async def test_look_ups_show_their_scope_alone(database: PostgresDatabase) -> None:
    session = await PostgresSessions(database).get(MINE, S1)
    assert session is not None
    assert (session.body, session.turn_count) == (b'{"of":0}', 1)
    assert (await PostgresRequests(database).recall(MINE, "M", R1, T0)) == Answered(b"d", b'{"of":0}')
    receipts_ = PostgresReceipts(database)
    assert await receipts_.shown(MINE, [b'{"of":0}', b'{"of":1}', b"everybody's"]) == {b'{"of":0}', b"everybody's"}
    job = await PostgresWork(database).get(MINE, J1)
    assert job is not None
    assert job.payload == b'{"of":0}'
    assert sum((await PostgresWork(database).count(MINE, "goal")).values()) == 1
    (figures,) = await PostgresCritiques(database).figures(MINE, T0, T0 + 1, None, None)
    assert figures.count == 1
    log = PostgresTurnLog(database)
    found = await PostgresPolicies(database).get(MINE)
    assert (found.advice.silenced, found.tenant) == (('{"of":0}',), None)
    assert await log.last_position(MINE) == (await log.tail(MINE, "noted", None, 0, 10, EVERYTHING))[-1].position


async def test_nobody_sees_nothing(database: PostgresDatabase) -> None:
    nobody = Scope("nobody", "shop")
    for _, read in READS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(globals(), "MINE", nobody)
            assert not await read(database)
    assert await PostgresReceipts(database).get(nobody, "r1") is None
    assert await PostgresReceipts(database).shown(nobody, [b"everybody's"]) == frozenset()
    assert await PostgresSessions(database).get(nobody, S1) is None
    assert await PostgresTurnLog(database).head(nobody, T1) is None
    assert await PostgresTurnLog(database).newest(nobody, S1) is None
    assert await PostgresTurnLog(database).last_position(nobody) == 0
    assert await PostgresRequests(database).recall(nobody, "M", R1, T0) is None
    assert await PostgresWork(database).get(nobody, J1) is None
    assert await PostgresPolicies(database).get(nobody) == ScopePolicies()


async def test_changes_touch_their_scope_alone(own: PostgresDatabase) -> None:
    others = {scope: await everything(own, scope) for scope in (SIBLING, FOREIGN)}
    work_ = PostgresWork(own)
    (job,) = [job for job in await work_.claim(SERVES_ALL, ("goal",), 10, 30.0, T0, "w") if job.scope == MINE]
    for scope in others:  # the claim took theirs too, each in its own scope
        others[scope] = await everything(own, scope)
    await work_.finish(MINE, J1, job.token, b"r", T0)
    await PostgresSessions(own).update(MINE, S1, b'{"of":9}', T0)
    for level in PolicyLevel:
        for policy in (DataPolicy(RetentionPeriods(trace_days=1)), DataPolicy()):
            await PostgresPolicies(own).set(MINE, PolicyChange(level, policy, "ops", None, 10), T0)
    with pytest.raises(SidemirrorError):  # its turn is open
        await PostgresSessions(own).delete(MINE, S1)
    nobody = Scope("nobody", "shop")
    with pytest.raises(NotFound):
        await PostgresSessions(own).update(nobody, S1, b"{}", T0)
    with pytest.raises(NotFound):
        await PostgresSessions(own).delete(nobody, S1)
    with pytest.raises(NotFound):
        await work_.finish(nobody, J1, job.token, None, T0)
    assert {scope: await everything(own, scope) for scope in others} == others


async def test_deleting_a_session_leaves_the_others(own: PostgresDatabase) -> None:
    over = batch(head("t1", 3, standing=TurnStanding.FINISHED), b"{}")
    await PostgresTurnLog(own).append(MINE, (over,))
    others = {scope: await everything(own, scope) for scope in (SIBLING, FOREIGN)}
    await PostgresSessions(own).delete(MINE, S1)
    assert await PostgresSessions(own).get(MINE, S1) is None
    assert {scope: await everything(own, scope) for scope in others} == others


async def test_an_erasure_leaves_the_others(own: PostgresDatabase) -> None:
    others = {scope: await everything(own, scope) for scope in (SIBLING, FOREIGN)}
    erasures_ = PostgresErasures(own)
    await erasures_.begin(MINE, "e2", (key(SourceKind.SESSION, "s1"), key(SourceKind.SUBJECT, "anna")), T0)
    while left := await erasures_.left(MINE, "e2", 10):
        for name in left:
            await erasures_.remove(MINE, "e2", name, T0)
    await erasures_.finish(MINE, "e2", T0)
    ended = await erasures_.get(MINE, "e2")
    assert ended is not None
    assert ended.counts == {"sessions": 1, "turns": 1, "entries": 2, "critiques": 1, "memories": 1, "trials": 1} | {
        "observations": 1
    }
    assert {scope: await everything(own, scope) for scope in others} == others


async def everything(database: PostgresDatabase, scope: Scope) -> tuple[Any, ...]:
    return (
        await PostgresTurnLog(database).tail(scope, TURN_TOPIC, None, 0, EVERYTHING, EVERYTHING),
        await PostgresTurnLog(database).heads(scope, None, None, None, EVERYTHING),
        await PostgresSessions(database).list(scope, None, EVERYTHING),
        await PostgresWork(database).list(scope, "goal", (), None, EVERYTHING),
        await PostgresRequests(database).recall(scope, "M", R1, T0),
        await PostgresLedger(database).spent(scope, 0, T0),
        await PostgresMemories(database).list(scope, None, None, None, 1_000),
        await PostgresTrials(database).of_receipt(scope, "r1"),
        await PostgresErasures(database).tombstones(scope, None, 1_000),
        await PostgresErasures(database).get(scope, "e1"),
        (await PostgresPolicies(database).get(scope)).project,
        await PostgresObservations(database).of_signature(scope, taught_by.SIGNATURE),
    )


async def test_a_build_without_filters_would_leak_without_the_policies(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above can fail: with the policies switched off, the same build shows what it must not."""
    async with databases.fresh() as name, opened(databases, name) as database:
        await fill_scopes(database)
        await databases.as_superuser("ALTER TABLE sidemirror.turns DISABLE ROW LEVEL SECURITY", name)
        assert len(await PostgresTurnLog(database).heads(MINE, None, None, None, 10)) == 1
        forget_filters(monkeypatch)
        assert len(await PostgresTurnLog(database).heads(MINE, None, None, None, 10)) == 3


# Envelopes that a scope reads itself too, of its own memories and passes.
ENVELOPES_OF_A_SCOPE = {
    *("dream_unread_envelopes", "memory_project_envelopes", "unlearned_turn_envelopes"),
    "imported_observation_envelopes",
}


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.__name__.rpartition(".")[2])
def test_every_statement_on_payloads_filters(adapter: ModuleType) -> None:
    """A statement names the scope in a filter or in what it inserts, or looks at envelopes only."""
    for name, text in adapter._SQL.items():
        tables = set(re.findall(r"sidemirror\.(\w+)", text))
        if tables <= ENVELOPES_OF_A_SCOPE:
            continue
        if all(table.endswith("_envelopes") for table in tables):
            assert _FILTER.search(text) is None
        else:
            assert _FILTER.search(text) or "INSERT INTO" in text, name


# --- what a statement cannot do, whatever it says ---------------------------------------------------------------------


async def test_without_a_scope_nothing_is_seen_and_nothing_is_kept(own: PostgresDatabase) -> None:
    payloads = (
        "sessions",
        "turns",
        "log_entries",
        "requests",
        "jobs",
        "critiques",
        "receipts",
        "receipt_items",
        "shown_lessons",
        "ledger_totals",
        "ledger_reservations",
        "goal_reflections",
        "goal_words",
        "goal_deletions",
        "memories",
        "memory_versions",
        "memory_keys",
        "memory_lessons",
        "memory_outcomes",
        "memory_terms",
        "memory_links",
        "lesson_trials",
        "dream_log",
        "pruning_log",
        "sources",
        "erasures",
        "erasing",
        "tombstones",
        "policies",
        "observations",
    )
    for table in payloads:
        async with own.transaction(None) as transaction:
            assert await transaction.fetch(f"TABLE sidemirror.{table}") == []
            assert await transaction.change(f"DELETE FROM sidemirror.{table}") == 0
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with own.transaction(None) as transaction:
            await transaction.change("INSERT INTO sidemirror.sessions VALUES ('acme', 'shop', 'x', 0, 0, '')")


async def test_nothing_is_kept_for_another_scope(own: PostgresDatabase) -> None:
    insert = "INSERT INTO sidemirror.sessions VALUES ($1, $2, 'x', 0, 0, '')"
    for place in (("other", "shop"), ("acme", "blog")):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with own.transaction(MINE) as transaction:
                await transaction.change(insert, *place)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with own.transaction(MINE) as transaction:
                await transaction.change("UPDATE sidemirror.sessions SET tenant_id = $1, project_id = $2", *place)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE sidemirror.turns DISABLE ROW LEVEL SECURITY",
        "DROP POLICY scope ON sidemirror.turns",
        "DROP TABLE sidemirror.turns",
        "TRUNCATE sidemirror.turns",
        "CREATE TABLE sidemirror.mine (x int)",
        "UPDATE sidemirror.schema_migrations SET checksum = ''",
        "SELECT sidemirror.protect('sidemirror.turns')",
        "SET ROLE owner",
    ],
)
async def test_the_role_cannot_change_that(statement: str, databases: Databases) -> None:
    async with databases.opened() as database:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.transaction(MINE) as transaction:
                await transaction.change(statement)


async def test_row_security_off_shows_no_more(database: PostgresDatabase) -> None:
    async def look() -> None:
        async with database.transaction(MINE) as transaction:
            await transaction.fetch("SELECT set_config('row_security', 'off', true)")
            await transaction.fetch("TABLE sidemirror.turns")

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await look()


async def test_a_scope_ends_with_its_transaction(databases: Databases) -> None:
    """On the same connection, which is what a pooler would give to another sidecar."""
    async with databases.opened(connections=1) as database:
        await PostgresSessions(database).create(MINE, SessionRecord(S1, b"{}", 0, 0))
        connection = await database._connections.take()
        try:
            async with connection.transaction():
                assert await connection.fetchval("SELECT count(*) FROM sidemirror.sessions") == 0
                assert not await connection.fetchval("SELECT current_setting('sidemirror.tenant_id', true)")
        finally:
            database._connections.give_back(connection)


async def test_envelopes_hold_ids_times_and_marks_only(databases: Databases) -> None:
    async with databases.fresh() as name:
        connection = await asyncpg.connect(databases.cluster.url("superuser", name))
        try:
            rows = await connection.fetch(
                "SELECT table_name, column_name, data_type FROM information_schema.columns"
                " WHERE table_schema = 'sidemirror' AND table_name LIKE '%\\_envelopes'"
            )
        finally:
            await connection.close()
    columns = {(table, column) for table, column, _ in rows}
    assert {table for table, _ in columns} == {
        *("open_turn_envelopes", "request_envelopes", "job_envelopes", "ledger_envelopes"),
        *("receipt_envelopes", "ledger_day_envelopes", "critique_envelopes"),
        *("lesson_trial_envelopes", "policy_envelopes", "unlearned_turn_envelopes"),
        "imported_observation_envelopes",
        *("memory_project_envelopes", "dream_unread_envelopes", "ended_turn_envelopes"),
    }
    assert {column for _, column, kind in rows if kind == "text"} == {
        *("tenant_id", "project_id", "turn_id", "job_id", "request_id", "method", "kind", "purpose", "receipt_id"),
        *("critique_id", "memory_id", "observation_id"),
    }
    assert {kind for *_, kind in rows} == {"text", "bigint", "boolean"}
