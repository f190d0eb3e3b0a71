"""The suites of dreams and of pruning notice a broken adapter on Postgres too: each of these statements, spoilt, fails
the clause it is about. Which row belongs to whom is not among them: there row level security answers
(test_postgres_isolation.py)."""

from types import ModuleType
from typing import Any

import asyncpg
import pytest

from sidemirror_server.storage.postgres import dreams as dreams_adapter
from sidemirror_server.storage.postgres import pruning as pruning_adapter
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.dreams import PostgresDreams
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.pruning import PostgresPruning
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.trials import PostgresTrials
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from tests.adapters.broken_postgres import of_one_project
from tests.conformance import dreams, pruning
from tests.conformance.clauses import clauses_of
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken, on a server")

CLAUSES = {**clauses_of(dreams), **clauses_of(pruning)}

# (clause that must notice, statement, a piece of it, what stands there instead), by adapter
BROKEN: dict[ModuleType, list[tuple[str, str, str, str]]] = {
    dreams_adapter: [
        ("DR10", "waiting", "tenant_id = $3)", "tenant_id IS NOT NULL)"),
        ("DR10", "waiting", "project_id = $4)", "project_id IS NOT NULL)"),
        ("DR2", "unread", "ORDER BY created_us DESC, memory_id DESC", "ORDER BY created_us DESC, memory_id"),
        ("DR2", "unread", "LIMIT $3", "LIMIT $3 + 1"),
        ("DR3", "read", "memories.memory_id = ANY ($3::text[])", "memories.memory_id <> ALL ($3::text[])"),
        ("DR3", "count", "rest_until_us = $7", "rest_until_us = $6 + 0 * $7::bigint"),
        ("DR4", "kept", "number = $3", "number = $3 + 1"),
        ("DR5", "standing", "dreams, idle", "dreams - 1, idle"),
        ("DR6", "count", "idle_dreams + $5", "idle_dreams + 0 * $5::bigint"),
        ("DR6", "count", "idle_dreams + $5", "idle_dreams + 1 + 0 * $5::bigint"),
        ("DR6", "count", "CASE WHEN $4 THEN 0 ELSE", "CASE WHEN $4 AND FALSE THEN 0 ELSE"),
        ("DR7", "waiting", "rest_until_us <= $1", "rest_until_us < $1"),
        ("DR7", "waiting", "ORDER BY first_us", "ORDER BY -first_us"),
        ("DR8", "list", "ORDER BY number DESC", "ORDER BY number"),
        ("DR8", "list", "number < $3", "number <= $3"),
    ],
    pruning_adapter: [
        ("PU12", "projects", "but.tenant = tenant_id", "FALSE"),
        ("PU12", "projects", "coalesce(but.project, project_id)", "but.project"),
        ("PU12", "projects", "coalesce(but.project, project_id)", "project_id"),
        ("PU12", "projects", "but.tenant = tenant_id", "TRUE"),
        ("PU12", "projects_after", "but.tenant = tenant_id", "FALSE"),
        ("PU12", "projects_after", "coalesce(but.project, project_id)", "but.project"),
        ("PU12", "projects_after", "coalesce(but.project, project_id)", "project_id"),
        ("PU12", "projects_after", "but.tenant = tenant_id", "TRUE"),
        ("PU12", "old_turns", "but.tenant = tenant_id", "FALSE"),
        ("PU12", "old_turns", "coalesce(but.project, project_id)", "but.project"),
        ("PU12", "old_turns", "coalesce(but.project, project_id)", "project_id"),
        ("PU12", "old_turns", "but.tenant = tenant_id", "TRUE"),
        ("PU11", "projects", "tenant_id = $2)", "TRUE)"),
        ("PU11", "projects", "project_id = $3)", "TRUE)"),
        ("PU11", "projects_after", "tenant_id = $4)", "TRUE)"),
        ("PU11", "projects_after", "project_id = $5)", "TRUE)"),
        ("PU11", "old_turns", "tenant_id = $3)", "TRUE)"),
        ("PU11", "old_turns", "project_id = $4)", "TRUE)"),
        ("PU1", "old_memories", "importance < $3", "importance <= $3"),
        ("PU1", "old_memories", "AND updated_us < $4", "AND updated_us <= $4"),
        ("PU1", "old_memories", "::bigint, 0) < $4", "::bigint, 0) < 2 * $4"),
        ("PU1", "old_memories", "LIMIT $5", "LIMIT greatest($5, 100)"),
        ("PU2", "old_memories", "= 'learned'\n", "<> 'x'\n"),
        ("PU3", "old_turns", "updated_us < $1", "updated_us <= $1"),
        ("PU3", "old_turns", "ORDER BY updated_us", "ORDER BY updated_us DESC"),
        ("PU3", "forget_entries", "topic = 'turn'", "topic = 'turns'"),
        ("PU4", "forget_sessions", "AND updated_us < $4", "AND $4::bigint IS NOT NULL"),
        ("PU4", "forget_sessions", "AND NOT EXISTS", "AND EXISTS"),
        ("PU5", "note", "$5, $6, $7", "$5, $5 + 0 * $6::bigint, $7"),
        ("PU6", "list", "ORDER BY pruning_no DESC", "ORDER BY pruning_no"),
        ("PU9", "surplus", "ORDER BY importance, updated_us", "ORDER BY importance, updated_us DESC"),
        ("PU9", "surplus", " AND state <> 'retired'", " "),
        ("PU9", "count", "count(*)", "count(*) + 1"),
        ("PU10", "gone_up_to", "max(last_position)", "min(last_position)"),
        ("PU10", "note", "$7, $8", "$7, 0 * $8::bigint"),
        ("PU8", "old_memories", "trial.assigned_us >= $4", "trial.assigned_us > $4"),
        ("PU8", "old_memories", "strategy.importance >= $3", "strategy.importance > $3"),
    ],
}  # fmt: skip

# (clause that must notice, an adapter that breaks it)
BROKEN_VERBS = [("DR9", of_one_project(PostgresDreams)), ("PU7", of_one_project(PostgresPruning))]


@pytest.mark.parametrize(
    ("adapter", "clause", "name", "piece", "instead"),
    [(adapter, *broken) for adapter, every in BROKEN.items() for broken in every],
)
async def test_broken_statement_is_noticed(
    adapter: ModuleType,
    clause: str,
    name: str,
    piece: str,
    instead: str,
    databases: Databases,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, databases)


def test_every_clause_is_seen_to_fail() -> None:
    seen = {clause for every in BROKEN.values() for clause, *_ in every}
    assert seen | {clause for clause, _ in BROKEN_VERBS} | {"DR1"} == set(CLAUSES)


@pytest.mark.parametrize(("clause", "broken"), BROKEN_VERBS)
async def test_broken_verb_is_noticed(clause: str, broken: type[Any], databases: Databases) -> None:
    await noticed(clause, databases, broken)


@pytest.mark.parametrize("event", ["INSERT", "DELETE"])
async def test_a_missing_trigger_is_noticed(event: str, databases: Databases) -> None:
    """DR1: what is learned is unread, and what is deleted is not."""
    async with databases.fresh() as name:
        await databases.as_superuser("DROP TRIGGER dreamt ON sidemirror.memories", name)
        if event == "DELETE":
            left = "FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_dream_envelopes()"
            await databases.as_superuser(f"CREATE TRIGGER dreamt AFTER INSERT ON sidemirror.memories {left}", name)
        database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
        try:
            await is_noticed("DR1", stores_of("DR1", database))
        finally:
            await database.close()


def stores_of(clause: str, database: PostgresDatabase, broken: type[Any] | None = None) -> Any:
    memories, log = PostgresMemories(database), PostgresTurnLog(database)
    if clause.startswith("DR"):
        return dreams.Stores(memories, (broken or PostgresDreams)(database))
    removing = (broken or PostgresPruning)(database)
    return pruning.Stores(memories, log, PostgresSessions(database), removing, PostgresTrials(database))


async def noticed(clause: str, databases: Databases, broken: type[Any] | None = None) -> None:
    async with databases.opened() as database:
        await is_noticed(clause, stores_of(clause, database, broken))


async def is_noticed(clause: str, stores: Any) -> None:
    with pytest.raises((Exception, pytest.fail.Exception)) as caught:
        await CLAUSES[clause](lambda: stores)
    assert not isinstance(caught.value, (TypeError, AttributeError, NameError, asyncpg.PostgresError)), "does not run"
