"""The suite of `MemoryGraph` can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.memory.record import MemoryRecord, NewLink
from sidemirror_server.storage.sqlite import memories as memories_adapter
from sidemirror_server.storage.sqlite import memory_graph as adapter
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_graph import SqliteMemoryGraph
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memory_graph as suite
from tests.conformance.clauses import clauses_of

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ITS_TENANT = "tenant_id = :tenant_id AND :project_id IS NOT NULL"
LINK_SCOPE = "link.tenant_id = :tenant_id AND link.project_id = :project_id"

# (clause that must notice, statement of memory_graph.sql, a piece of it, what stands there instead)
BROKEN = [
    ("MG1", "link", "DO NOTHING", "DO UPDATE SET created_us = excluded.created_us"),
    ("MG1", "missing", "NOT EXISTS", "EXISTS"),
    ("MG2", "unlink", "(tenant_id, project_id, source, kind, target) IN (", "(tenant_id, project_id, source) IN ("),
    ("MG3", "from_nodes", "ORDER BY target DESC", "ORDER BY target"),
    ("MG3", "from_nodes", "AND kind = wanted.value\n", "\n"),
    ("MG3", "to_nodes", "ORDER BY created_us DESC", "ORDER BY created_us"),
    ("MG3", "to_nodes", "AND +link.target = node.value", "AND +link.target >= node.value"),
    ("MG4", "link_same_error", "ORDER BY created_us DESC", "ORDER BY created_us"),
    ("MG4", "link_same_error", "LIMIT :limit", "LIMIT :limit + 1"),
    ("MG4", "link_same_error", "target = :signature", "target <> :signature"),
    ("MG7", "of_memories", "link.source = node.value", "link.target = node.value"),
    ("MG8", "missing", ITS_SCOPE, ITS_TENANT),
    ("MG8", "to_nodes", LINK_SCOPE, "link.tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("MG8", "from_nodes", LINK_SCOPE, "link.project_id = :project_id AND :tenant_id IS NOT NULL"),
    ("MG8", "of_memories", LINK_SCOPE, "link.tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("MG8", "link_same_error", ITS_SCOPE, ITS_TENANT),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    broken = adapter._SQL[name].replace(piece, instead)
    if name == "unlink":
        broken = broken.replace(", gone.value ->> 1, gone.value ->> 2", "")
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: broken})
    await noticed(clause, tmp_path)


def _never(connection: sqlite3.Connection, scope: Scope, memory: MemoryRecord, more: Iterable[NewLink] = ()) -> None:
    """Nothing is linked when it is learned."""


def _only_its_own(
    connection: sqlite3.Connection, scope: Scope, memory: MemoryRecord, more: Iterable[NewLink] = ()
) -> None:
    adapter.keep_links(connection, scope, memory)


def _where_there_is_something(
    connection: sqlite3.Connection, scope: Scope, memory: MemoryRecord, links: Iterable[NewLink]
) -> None:
    if not memory.related_ids:
        adapter.add_links(connection, scope, memory, links)


@pytest.mark.parametrize(
    ("clause", "step", "instead"),
    [
        ("MG4", "keep_links", _never),
        ("MG4", "keep_links", _only_its_own),
        ("MG6", "add_links", _where_there_is_something),
    ],
)
async def test_broken_step_is_noticed(
    clause: str, step: str, instead: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories_adapter, step, instead)
    await noticed(clause, tmp_path)


async def test_links_that_stay_behind_are_noticed(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await database.write(lambda connection: connection.execute("DROP TRIGGER memory_is_unlinked"))
    await noticed("MG5", tmp_path)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} | {"MG4", "MG5", "MG6"} == set(CLAUSES)


async def noticed(clause: str, folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: suite.Stores(SqliteMemoryGraph(database), SqliteMemories(database)))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.OperationalError, sqlite3.ProgrammingError)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
