"""The port `Receipts` on SQLite; and its suite can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.storage.sqlite import receipts as adapter
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.trace.receipts import Receipt
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import receipts as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ANY_PROJECT = "tenant_id = :tenant_id AND :project_id IS NOT NULL"

# (clause that must notice, statement of receipts.sql, a piece of it, what stands there instead)
BROKEN = [
    ("RC8", "oldest", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("RC8", "oldest", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("RC1", "issue", "DO NOTHING", "DO UPDATE SET goal_id = excluded.goal_id"),
    ("RC2", "get", "receipt_id = :receipt_id", "lower(receipt_id) = lower(:receipt_id)"),
    ("RC3", "shown", " AND text_hash = :text_hash", ""),
    ("RC4", "find", "ORDER BY time_us DESC, receipt_id DESC", "ORDER BY time_us DESC, receipt_id"),
    ("RC4", "find", "(time_us, receipt_id) < (:time_us, :receipt_id)", "time_us < :time_us"),
    ("RC4", "find", "time_us >= :from_us", "TRUE"),
    ("RC5", "oldest", "ORDER BY time_us", "ORDER BY time_us DESC"),
    ("RC5", "oldest", "time_us < :before_us", "time_us <= :before_us"),
    ("RC5", "oldest", "LIMIT :limit", "LIMIT max(:limit, 10)"),
    ("RC5", "forget_items", "AND receipt_id = :receipt_id", "AND receipt_id <> :receipt_id"),
    ("RC7", "of_turn", "ORDER BY time_us, receipt_id", "ORDER BY time_us, receipt_id DESC"),
    ("RC7", "of_turn", "AND turn_id = :turn_id", "AND turn_id >= :turn_id"),
    ("RC7", "of_turn", ITS_SCOPE, ANY_PROJECT),
    ("RC11", "of_session", "ORDER BY time_us, receipt_id", "ORDER BY receipt_id"),
    ("RC11", "of_session", "ORDER BY time_us, receipt_id", "ORDER BY time_us, receipt_id DESC"),
    ("RC11", "of_session", "session_id = :session_id", "session_id >= :session_id"),
    ("RC11", "of_session", "BETWEEN :from_us AND :until_us", ">= :from_us"),
    ("RC11", "of_session", "BETWEEN :from_us AND :until_us", "<= :until_us"),
    ("RC11", "of_session", ITS_SCOPE, ANY_PROJECT),
    ("RC9", "find_lesson", "shown.lesson_id = :lesson_id", "lower(shown.lesson_id) = lower(:lesson_id)"),
    ("RC9", "find_lesson", "ORDER BY shown.time_us DESC, shown.receipt_id DESC", "ORDER BY shown.time_us"),
    ("RC9", "find_lesson", "shown.time_us >= :from_us", "TRUE"),
    ("RC9", "find_turn", "turn_id = :turn_id", "turn_id >= :turn_id"),
    ("RC9", "find_turn", "(time_us, receipt_id) < (:time_us, :receipt_id)", "TRUE"),
    ("RC9", "find_turn", "time_us >= :from_us", "TRUE"),
    ("RC6", "get", ITS_SCOPE, ANY_PROJECT),
    ("RC6", "find", ITS_SCOPE, ANY_PROJECT),
    ("RC6", "find_turn", ITS_SCOPE, ANY_PROJECT),
    ("RC6", "find_lesson", "shown.tenant_id = :tenant_id", ":tenant_id IS NOT NULL"),
    ("RC6", "shown", ITS_SCOPE, ANY_PROJECT),
]  # fmt: skip


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteReceipts(database))


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, SqliteReceipts, tmp_path)


class AnswersWithWhatItWasGiven(SqliteReceipts):
    async def issue(self, scope: Scope, receipt: Receipt) -> Receipt:
        await super().issue(scope, receipt)
        return receipt


class KnowsOneTurn(SqliteReceipts):
    async def of_turns(self, scope: Scope, turn_ids: Collection[str], limit: int) -> Mapping[str, tuple[Receipt, ...]]:
        return await super().of_turns(scope, list(turn_ids)[:1], limit)


class KeepsWhatWasShownAlone(SqliteReceipts):
    async def issue(self, scope: Scope, receipt: Receipt) -> Receipt:
        return await super().issue(scope, msgspec.structs.replace(receipt, omitted=(), silence=""))


@pytest.mark.parametrize(
    ("clause", "broken"),
    [("RC1", AnswersWithWhatItWasGiven), ("RC12", KnowsOneTurn), ("RC13", KeepsWhatWasShownAlone)],
)
async def test_broken_verb_is_noticed(clause: str, broken: type[SqliteReceipts], tmp_path: Path) -> None:
    await noticed(clause, broken, tmp_path)


async def test_a_store_that_keeps_what_receipts_showed_is_noticed(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await database.write(lambda connection: connection.execute("DROP TRIGGER receipt_shows_no_more").rowcount)
        with pytest.raises(AssertionError):
            await CLAUSES["RC10"](lambda: SqliteReceipts(database))


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} | {"RC10", "RC12", "RC13"} == set(CLAUSES)


async def noticed(clause: str, broken: type[SqliteReceipts], folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: broken(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
