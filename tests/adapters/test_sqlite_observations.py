"""The port `Observations` on SQLite; and its suite can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.storage.sqlite import observations as adapter
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.observations import SqliteObservations
from sidemirror_server.storage.sqlite.pruning import SqlitePruning
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import observations as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)
OF_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ANYBODY = ":tenant_id IS NOT NULL AND :project_id IS NOT NULL"

# (clause that must notice, statement of observations.sql, a piece of it, what stands there instead)
BROKEN = [
    ("OB1", "due", "ORDER BY due_us", "ORDER BY due_us DESC"),
    ("OB1", "due", "due_us <= :now_us", "due_us < :now_us"),
    ("OB1", "due", "attempts + 1", "attempts"),
    ("OB1", "claim", "due_us = :until_us", "due_us = due_us + 0 * :until_us"),
    ("OB1", "claim", "attempts = attempts + 1", "attempts = attempts"),
    ("OB2", "due", "OR tenant_id = :tenant_id", "OR TRUE"),
    ("OB2", "due", "OR project_id = :project_id", "OR TRUE"),
    ("OB3", "put", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
    ("OB4", "learned", "turn_id = :turn_id", "turn_id IS NULL"),
    ("OB4", "again", ", is_late = 1", ""),
    ("OB4", "again", "attempts = 0, ", ""),
    ("OB5", "put", "AND turn_id = :turn_id)", ")"),
    ("OB5", "put", "AND turn_id = :last_turn_id)", ")"),
    ("OB7", "of_signature", "ORDER BY at_us, observation_id", "ORDER BY observation_id DESC"),
    ("OB7", "of_signature", "AND signature = :signature", ""),
    ("OB8", "shorten", "at_us DESC", "at_us"),
    ("OB8", "shorten", "AND signature = :signature", ""),
    ("OB8", "shorten", "OFFSET :most", "OFFSET :most + 1"),
    ("OB9", "signatures", "signature > :after", "signature >= :after"),
    ("OB9", "signatures", "LIMIT :limit", "LIMIT :limit + 1"),
    ("OB10", "of_signature", OF_SCOPE, ANYBODY),
    ("OB10", "learned", OF_SCOPE, ANYBODY),
    ("OB10", "again", OF_SCOPE, ANYBODY),
    ("OB11", "shorten", "OFFSET :most", "OFFSET :most + 1"),
    ("OB12", "old_imported", "ORDER BY heard_us", "ORDER BY heard_us DESC"),
    ("OB12", "old_imported", "heard_us < :before_us", "heard_us <= :before_us"),
    ("OB12", "old_imported", "OR tenant_id = :tenant_id", "OR TRUE"),
    ("OB12", "old_imported", "AND NOT EXISTS", "OR EXISTS"),
    ("OB13", "subjects", "ORDER BY record, source", "ORDER BY record, source DESC"),
    ("OB13", "subjects", OF_SCOPE, ANYBODY),
    ("OB14", "note_imported", ":heard_us)", "0 * :heard_us)"),
    ("OB11", "put_imported", "'', ''", ":turn_id, :last_turn_id"),
]
# (clause that must notice, what the schema is like instead)
BROKEN_SCHEMAS = [
    ("OB1", "DROP TRIGGER turn_came_ended"),
    ("OB1", "DROP TRIGGER turn_has_ended"),
    ("OB6", "DROP TRIGGER turn_teaches_no_more"),
    ("OB12", "DROP TRIGGER observation_is_gone"),
]


def stores_of(database: SqliteDatabase) -> suite.Stores:
    own = (SqliteObservations(database), SqliteTurnLog(database), SqlitePruning(database))
    return suite.Stores(*own, SqliteErasures(database))


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: stores_of(database))


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    async with sqlite_database(tmp_path) as database:
        await noticed(clause, database)


@pytest.mark.parametrize(("clause", "change"), BROKEN_SCHEMAS)
async def test_a_missing_trigger_is_noticed(clause: str, change: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await database.write(lambda connection: connection.execute(change).rowcount)
        await noticed(clause, database)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in (*BROKEN, *BROKEN_SCHEMAS)} == set(CLAUSES)


async def noticed(clause: str, database: SqliteDatabase) -> None:
    with pytest.raises((Exception, pytest.fail.Exception)) as caught:
        await CLAUSES[clause](lambda: stores_of(database))
    mistakes: tuple[type[Any], ...] = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
