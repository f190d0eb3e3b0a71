"""The suite of `Memories` can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from sidemirror_server.memory.record import MemoryRecord
from sidemirror_server.storage.sqlite import memories as adapter
from sidemirror_server.storage.sqlite import memory_rows
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memories as suite
from tests.conformance.clauses import clauses_of

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ITS_TENANT = "tenant_id = :tenant_id AND :project_id IS NOT NULL"

# (clause that must notice, statement of memories.sql, a piece of it, what stands there instead)
BROKEN = [
    ("MS2", "known", "ORDER BY wanted.key > 0, memories.created_us", "ORDER BY memories.created_us"),
    ("MS2", "known", "memories.created_us, memories.memory_id", "memories.created_us DESC, memories.memory_id"),
    ("MS2", "known_among", "IN ('reflection', 'strategy')", "= 'strategy'"),
    ("MS2", "replace", "body = :body", "body = body"),
    ("MS4", "learned", "learned_us > :after_us", "learned_us > :after_us + 1000000000000"),
    ("MS4", "learned", "lesson_id = :lesson_id", "lesson_id <> :lesson_id"),
    ("MS6", "get", "memory_id = :memory_id", "lower(memory_id) = lower(:memory_id)"),
    ("MS7", "list", "ORDER BY created_us DESC, memory_id DESC", "ORDER BY created_us DESC, memory_id"),
    ("MS7", "list", "(created_us, memory_id) < (:created_us, :memory_id)", "created_us < :created_us"),
    ("MS7", "list_in_state", "(:kind IS NULL OR kind = :kind)", "TRUE"),
    ("MS7", "replace", "SET state = :state, ", "SET "),
    ("MS8", "replace_text", "SET content = :content", "SET content = content"),
    ("MS9", "versions", "ORDER BY version DESC", "ORDER BY version"),
    ("MS9", "versions", "version < :before", "version <= :before - 2"),
    ("MS10", "delete_keys", "memory_id = :memory_id", "memory_id = :memory_id || 'x'"),
    ("MS10", "delete_versions", "memory_id = :memory_id", "memory_id = :memory_id || 'x'"),
    ("MS11", "add", "DO NOTHING", "DO UPDATE SET content = excluded.content, body = excluded.body"),
    ("MS12", "report", "score = excluded.score", "score = coalesce(excluded.score, score)"),
    ("MS12", "outcome", "receipt_id = :receipt_id", "receipt_id >= :receipt_id"),
    ("MS14", "get", ITS_SCOPE, ITS_TENANT),
    ("MS14", "list", ITS_SCOPE, ":tenant_id IS NOT NULL AND project_id = :project_id"),
    ("MS14", "versions", ITS_SCOPE, ITS_TENANT),
    ("MS14", "replace", ITS_SCOPE, ITS_TENANT),
    ("MS14", "delete", ITS_SCOPE, ITS_TENANT),
    ("MS14", "delete_versions", ITS_SCOPE, ":tenant_id IS NOT NULL AND :project_id IS NOT NULL"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    broken = {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)}
    monkeypatch.setattr(adapter, "_SQL", broken)
    monkeypatch.setattr(memory_rows, "_SQL", broken)
    await noticed(clause, tmp_path)


def _each_by_itself(connection: sqlite3.Connection, writes: Sequence[Any]) -> Any:
    """A strategy that cannot be kept is let go, and its reflection kept."""
    connection.execute("SAVEPOINT mistake")
    try:
        return _learn_together(connection, writes)
    except Exception:  # noqa: BLE001  # whatever it is: this is the mistake
        connection.execute("ROLLBACK TO mistake")
        alone = [
            write._replace(lesson=msgspec.structs.replace(write.lesson, strategy=None), new=write.new[:1])
            for write in writes
        ]
        return _learn_together(connection, alone)


def _strategy_of_the_draft(connection: sqlite3.Connection, scope: Scope, draft: MemoryRecord, now_us: int) -> Any:
    if draft.strategy_of:
        draft = msgspec.structs.replace(draft, strategy_of="r2")
    return _settle(connection, scope, draft, now_us)


def _never_known(connection: sqlite3.Connection, scope: Scope, draft: MemoryRecord, now_us: int) -> Any:
    adapter._add(connection, scope, draft)
    return draft


def _without_marks(memory: MemoryRecord) -> dict[str, str]:
    return {**texts_of(memory), "content": memory.content.replace("\u200d", "")}


_learn_together, _settle, texts_of = adapter._learn_together, adapter._settle, memory_rows.texts_of


@pytest.mark.parametrize(
    ("clause", "module", "name", "instead"),
    [
        ("MS1", adapter, "_learn_together", _each_by_itself),
        ("MS3", adapter, "_settle", _strategy_of_the_draft),
        ("MS5", adapter, "_settle", _never_known),
        ("MS13", memory_rows, "texts_of", _without_marks),
    ],
)
async def test_broken_step_is_noticed(
    clause: str, module: ModuleType, name: str, instead: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, instead)
    await noticed(clause, tmp_path)


class SilentForUnknownOnes(SqliteMemories):
    async def delete(self, scope: Scope, memory_id: str) -> None:
        try:
            await super().delete(scope, memory_id)
        except NotFound:
            return


class Forgetful(SqliteMemories):
    async def revise(self, scope: Scope, memory_id: str, revision: Any, now_us: int, if_version: Any = None) -> Any:
        revision = msgspec.structs.replace(revision, revision_id="")
        return await super().revise(scope, memory_id, revision, now_us, if_version)


class AnyVersion(SqliteMemories):
    async def revise(self, scope: Scope, memory_id: str, revision: Any, now_us: int, if_version: Any = None) -> Any:
        return await super().revise(scope, memory_id, revision, now_us)


@pytest.mark.parametrize(
    ("clause", "broken"), [("MS10", SilentForUnknownOnes), ("MS8", AnyVersion), ("MS15", Forgetful)]
)
async def test_broken_verb_is_noticed(clause: str, broken: type[SqliteMemories], tmp_path: Path) -> None:
    await noticed(clause, tmp_path, broken)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} | {"MS1", "MS3", "MS5", "MS13", "MS15"} == set(CLAUSES)


async def noticed(clause: str, folder: Path, broken: type[SqliteMemories] = SqliteMemories) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: broken(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.OperationalError, sqlite3.ProgrammingError)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
