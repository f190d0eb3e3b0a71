"""The port `Trials` on SQLite; and its suite can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite import trials as adapter
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import trials as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ANY_PROJECT = "tenant_id = :tenant_id AND :project_id IS NOT NULL"

# (clause that must notice, statement of trials.sql, a piece of it, what stands there instead)
BROKEN = [
    ("LT8", "forget", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("LT8", "forget", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("LT1", "assign", "DO NOTHING", "DO UPDATE SET arm = excluded.arm"),
    ("LT2", "of_receipt", "ORDER BY memory_id", "ORDER BY lower(memory_id)"),
    ("LT2", "of_receipt", "receipt_id = :receipt_id", "lower(receipt_id) = lower(:receipt_id)"),
    ("LT3", "settle", "succeeded = excluded.succeeded, ", "succeeded = coalesce(succeeded, excluded.succeeded), "),
    ("LT3", "settle", "returned = excluded.returned", "returned = coalesce(excluded.returned, returned)"),
    ("LT3", "settle", "DO UPDATE SET ", "DO UPDATE SET arm = excluded.arm, "),
    ("LT4", "tally", "version >= :from_version", "version > :from_version"),
    ("LT4", "tally", "count(*) FILTER (WHERE NOT succeeded)", "count(*) - count(*) FILTER (WHERE succeeded)"),
    ("LT4", "tally", "count(*) FILTER (WHERE NOT returned)", "count(*) - count(*) FILTER (WHERE returned)"),
    ("LT4", "tally", "GROUP BY fraction, arm", "GROUP BY arm"),
    ("LT5", "lessons", "memory_id < :before", "memory_id <= :before"),
    ("LT5", "lessons", "LIMIT :limit", "LIMIT :limit + 1"),
    ("LT6", "forget", "assigned_us < :before_us", "assigned_us <= :before_us"),
    ("LT6", "forget", "ORDER BY assigned_us", "ORDER BY assigned_us DESC"),
    ("LT6", "forget", "LIMIT :limit", "LIMIT :limit * 2"),
    ("LT9", "results", "receipt_id IN", "upper(receipt_id) IN"),
    ("LT9", "results", "ORDER BY receipt_id, memory_id", "ORDER BY receipt_id, memory_id DESC"),
    ("LT9", "results", ITS_SCOPE, ANY_PROJECT),
    ("LT7", "of_receipt", ITS_SCOPE, ANY_PROJECT),
    ("LT7", "tally", ITS_SCOPE, ANY_PROJECT),
    ("LT7", "lessons", ITS_SCOPE, ANY_PROJECT),
]  # fmt: skip


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteTrials(database))


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    async with sqlite_database(tmp_path) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: SqliteTrials(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} == set(CLAUSES)
