"""The suites of `Dreams` and `Pruning` can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite import dreams as dreams_adapter
from sidemirror_server.storage.sqlite import pruning as pruning_adapter
from sidemirror_server.storage.sqlite.dreams import SqliteDreams
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.pruning import SqlitePruning
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import dreams, pruning
from tests.conformance.clauses import clauses_of

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = {**clauses_of(dreams), **clauses_of(pruning)}
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
NO_SCOPE = ":tenant_id IS NOT NULL AND :project_id IS NOT NULL"

# (clause that must notice, statement of dreams.sql or pruning.sql, a piece of it, what stands there instead)
BROKEN = [
    ("DR10", "waiting", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("DR10", "waiting", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("PU12", "old_turns", "but.value ->> 0 = tenant_id", "FALSE"),
    ("PU12", "old_turns", "coalesce(but.value ->> 1, project_id)", "but.value ->> 1"),
    ("PU12", "old_turns", "coalesce(but.value ->> 1, project_id)", "project_id"),
    ("PU12", "old_turns", "but.value ->> 0 = tenant_id", "TRUE"),
    ("PU12", "old_memories", "but.value ->> 0 = tenant_id", "FALSE"),
    ("PU12", "old_memories", "coalesce(but.value ->> 1, project_id)", "but.value ->> 1"),
    ("PU12", "old_memories", "coalesce(but.value ->> 1, project_id)", "project_id"),
    ("PU12", "old_memories", "but.value ->> 0 = tenant_id", "TRUE"),
    ("PU12", "crowded", "but.value ->> 0 = tenant_id", "FALSE"),
    ("PU12", "crowded", "coalesce(but.value ->> 1, project_id)", "but.value ->> 1"),
    ("PU12", "crowded", "coalesce(but.value ->> 1, project_id)", "project_id"),
    ("PU12", "crowded", "but.value ->> 0 = tenant_id", "TRUE"),
    ("PU11", "old_turns", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("PU11", "old_turns", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("PU11", "old_memories", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("PU11", "old_memories", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("PU11", "crowded", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("PU11", "crowded", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("DR2", "unread", "ORDER BY created_us DESC, memory_id DESC", "ORDER BY created_us DESC, memory_id"),
    ("DR2", "unread", "LIMIT :limit", "LIMIT :limit + 1"),
    ("DR3", "read", "DELETE FROM dream_unread\nWHERE", "DELETE FROM dream_unread\nWHERE FALSE AND"),
    ("DR3", "count", ":ended_us, :rest_until_us)", ":ended_us, :ended_us)"),
    ("DR4", "kept", "number = :number", "number = :number + 1"),
    ("DR5", "standing", "dreams, idle", "-1, idle"),
    ("DR6", "count", "idle_dreams + :was_idle", "idle_dreams"),
    ("DR6", "count", "idle_dreams + :was_idle", "idle_dreams + 1"),
    ("DR6", "count", "iif(:changed, 0, idle_dreams + :was_idle)", "idle_dreams + :was_idle"),
    ("DR7", "waiting", "rest_until_us <= :now_us", "rest_until_us < :now_us"),
    ("DR7", "waiting", "ORDER BY first_us", "ORDER BY -first_us"),
    ("DR8", "list", "ORDER BY number DESC", "ORDER BY number"),
    ("DR8", "list", "number < :before", "number <= :before"),
    ("DR9", "unread", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("DR9", "list", ITS_SCOPE, NO_SCOPE),
    ("DR9", "standing", ITS_SCOPE, NO_SCOPE),
    ("PU1", "old_memories", "importance < :below", "importance <= :below"),
    ("PU1", "old_memories", "AND updated_us < :before_us", "AND updated_us <= :before_us"),
    ("PU1", "old_memories", "'$.strengthened_us'), 0) < :before_us", "'$.strengthened_us'), 0) < 2 * :before_us"),
    ("PU1", "old_memories", "LIMIT :limit", "LIMIT 100"),
    ("PU2", "old_memories", "= 'learned'\n", "<> 'x'\n"),
    ("PU3", "old_turns", "updated_us < :before_us", "updated_us <= :before_us"),
    ("PU3", "old_turns", "ORDER BY updated_us", "ORDER BY updated_us DESC"),
    ("PU3", "forget_entries", "topic = 'turn'", "topic = 'turns'"),
    ("PU4", "forget_session", "AND updated_us < :before_us", ""),
    ("PU4", "forget_session", "AND NOT EXISTS", "AND EXISTS"),
    ("PU5", "note", ":now_us, :before_us", ":now_us, :now_us"),
    ("PU6", "list", "ORDER BY pruning_no DESC", "ORDER BY pruning_no"),
    ("PU7", "list", ITS_SCOPE, NO_SCOPE),
    ("PU7", "forget_entries", ITS_SCOPE, NO_SCOPE),
    ("PU7", "forget_turn", ITS_SCOPE, NO_SCOPE),
    ("PU10", "gone_up_to", "max(last_position)", "min(last_position)"),
    ("PU10", "gone_up_to", ITS_SCOPE, NO_SCOPE),
    ("PU10", "last_entry", "key = :turn_id", ":turn_id IS NOT NULL"),
    ("PU8", "old_memories", "trial.assigned_us >= :before_us", "trial.assigned_us > :before_us"),
    ("PU8", "old_memories", "trial.tenant_id = memories.tenant_id AND trial.project_id = memories.project_id", "TRUE"),
    ("PU8", "old_memories", "strategy.importance >= :below", "strategy.importance > :below"),
    ("PU9", "crowded", "total - :most", "total - :most + 1"),
    ("PU9", "surplus", "ORDER BY importance, updated_us", "ORDER BY importance, updated_us DESC"),
    ("PU9", "surplus", " AND state <> 'retired'", " AND state <> 'retired' AND importance < 0.9"),
    ("PU9", "surplus", ITS_SCOPE, NO_SCOPE),
    ("PU9", "surplus", "LIMIT :limit", "LIMIT :limit + 1"),
    ("PU8", "old_memories", "link.tenant_id = memories.tenant_id AND link.project_id = memories.project_id", "TRUE"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = dreams_adapter if clause.startswith("DR") else pruning_adapter
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, tmp_path)


# (clause that must notice, a trigger that is missing)
MISSING = [("DR1", "memory_is_unread"), ("DR1", "memory_is_not_to_be_read")]


@pytest.mark.parametrize(("clause", "trigger"), MISSING)
async def test_missing_trigger_is_noticed(clause: str, trigger: str, tmp_path: Path) -> None:
    await noticed(clause, tmp_path, before=f"DROP TRIGGER {trigger}")


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in (*BROKEN, *MISSING)} == set(CLAUSES)


async def noticed(clause: str, folder: Path, before: str = "") -> None:
    async with sqlite_database(folder) as database:
        if before:
            await database.write(lambda connection: connection.execute(before).rowcount)
        memories, log = SqliteMemories(database), SqliteTurnLog(database)
        stores = (
            dreams.Stores(memories, SqliteDreams(database))
            if clause.startswith("DR")
            else pruning.Stores(
                memories, log, SqliteSessions(database), SqlitePruning(database), SqliteTrials(database)
            )
        )
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: stores)
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
