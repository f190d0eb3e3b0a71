"""The port `Erasures` on SQLite; and its suite can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite import erasures as adapter
from sidemirror_server.storage.sqlite import sources, turn_log
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import erasures as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.erasure_records import Ports

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ANY_PROJECT = "tenant_id = :tenant_id AND :project_id IS NOT NULL"

# (clause that must notice, module, statement, a piece of it, what stands there instead)
BROKEN = [
    ("ER1", adapter, "begin", "DO NOTHING", "DO UPDATE SET began_us = excluded.began_us"),
    ("ER2", adapter, "left", "LIMIT :limit", "LIMIT :limit * 2"),
    ("ER2", adapter, "left", "AND erasure_id = :erasure_id", ""),
    ("ER3", adapter, "take", "is_left = 0", "is_left = 1"),
    ("ER4", adapter, "turns_of_session", "session_id = :id", "session_id <> :id"),
    ("ER4", adapter, "critiques_of_turn", "turn_id = :id", "critique_id = :id"),
    ("ER4", adapter, "critiques_of_session", "session_id = :id", "critique_id = :id"),
    ("ER4", adapter, "receipts_of_turn", "turn_id = :id", "receipt_id = :id"),
    ("ER4", adapter, "receipts_of_session", "session_id = :id", "receipt_id = :id"),
    ("ER4", adapter, "forget_entries", "key = :id", "key = :id AND sequence > 1"),
    ("ER4", adapter, "forget_receipt_items", "receipt_id = :id", "receipt_id = 'none' || :id"),
    ("ER4", adapter, "forget_emptied_session", "other.turn_id <> :id", "1"),
    ("ER5", adapter, "forget_trials", "memory_id = :id", "memory_id <> :id"),
    ("ER5", adapter, "derived", "source = :key", "source = :key AND record > 'memory:m2'"),
    ("ER6", adapter, "rewrite_entry", "AND sequence = :sequence", "AND :sequence > 0"),
    ("ER6", adapter, "rewrite_receipt", "body = :body", "body = iif(:body IS NULL, '', body)"),
    ("ER6", adapter, "forget_receipt_item", "text_hash = :text_hash", ":text_hash IS NULL"),
    ("ER7", adapter, "later_turns", "later.session_id = turn.session_id", "later.session_id = turn.turn_id"),
    ("ER7", adapter, "rewrite_head", "body = :body", "body = iif(:body IS NULL, '', body)"),
    ("ER8", adapter, "mark_again", "AND is_again = 0", ""),
    ("ER8", adapter, "put_back", "is_left = 1", "is_left = 0"),
    ("ER9", adapter, "forget_records", "erasure_id = :erasure_id", "erasure_id <> :erasure_id"),
    ("ER9", adapter, "finish", "ended_us = :now_us", "ended_us = began_us"),
    ("ER10", sources, "erased", "digest = :digest", "digest <> :digest"),
    ("ER11", adapter, "tombstones", "> (:kind, :digest)", ">= (:kind, :digest)"),
    ("ER11", adapter, "tombstones", "ORDER BY kind, digest", "ORDER BY digest DESC"),
    ("ER11", sources, "bury", "max(erased_us, excluded.erased_us)", "excluded.erased_us"),
    ("ER12", adapter, "stored", "'memory:' || memory_id", "'lesson:' || memory_id"),
    ("ER12", adapter, "stored", "'request:' || method", "'answer:' || method"),
    ("ER12", adapter, "noted", "SELECT source, record", "SELECT record, source"),
    ("ER12", adapter, "noted", "'turn:' || turn_id", "'session:' || turn_id"),
    ("ER13", sources, "add", ":source, :record", ":record, :source"),
    ("ER13", adapter, "forget_answer", "request_id = :request_id", "request_id <> :request_id"),
    ("ER13", adapter, "forget_report", "job_id = :id", "job_id <> :id"),
    ("ER14", sources, "erased", "digest = :digest", "digest <> :digest"),
    ("ER15", adapter, "get", ITS_SCOPE, ANY_PROJECT),
    ("ER15", adapter, "tombstones", ITS_SCOPE, ANY_PROJECT),
    ("ER15", adapter, "forget_turn", ITS_SCOPE, ANY_PROJECT),
    ("ER16", adapter, "derived", "source = :key", "source = :key AND is_gone = 0"),
    ("ER19", adapter, "rewrite_receipt", "body = :body", "body = iif(:body IS NULL, '', body)"),
    ("ER18", adapter, "count_tombstones", ITS_SCOPE, "TRUE"),
    ("ER18", adapter, "is_session", "session_id = :id", "session_id <> :id"),
    ("ER18", adapter, "forget_ended", "ended_us < :before_us", "ended_us <= :before_us"),
    ("ER17", adapter, "rewrite_head", "rewritten + 1", "rewritten"),
    ("ER17", turn_log, "kept", "turns.rewritten", "0"),
    ("ER17", sources, "erased", "erased_us", "0"),
]  # fmt: skip


def ports(database: SqliteDatabase) -> Ports:
    return Ports(
        *(SqliteErasures(database), SqliteTurnLog(database), SqliteSessions(database), SqliteCritiques(database)),
        *(SqliteReceipts(database), SqliteMemories(database), SqliteTrials(database), SqliteWork(database)),
        *(SqliteRequests(database), SqliteGoalReflections(database), SqliteJournal(database)),
    )


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: ports(database))


@pytest.mark.parametrize(("clause", "module", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, module: object, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = module._SQL  # type: ignore[attr-defined]  # an adapter's
    assert piece in statements[name]
    monkeypatch.setattr(module, "_SQL", {**statements, name: statements[name].replace(piece, instead)})
    async with sqlite_database(tmp_path) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: ports(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} == set(CLAUSES)
