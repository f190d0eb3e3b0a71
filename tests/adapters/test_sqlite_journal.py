"""The port `Journal` on SQLite; and its suite can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from collections.abc import Collection
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite import journal as adapter
from sidemirror_server.storage.sqlite.journal import SqliteJournal
from sidemirror_server.trace.log import Entry, Note
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import journal as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"
ANY_PROJECT = "tenant_id = :tenant_id AND :project_id IS NOT NULL"

# (clause that must notice, statement of journal.sql, a piece of it, what stands there instead)
BROKEN = [
    ("JO1", "add", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
    ("JO1", "add", ":at_us", "0"),
    ("JO3", "remove", " AND group_id = :group_id", ""),
    ("JO4", "forget", "at_us <= :until_us", "at_us < :until_us"),
    ("JO4", "forget", "AND at_us <= :until_us", ""),
    ("JO4", "forget", "at_us <= :until_us", "FALSE"),
    ("JO4", "forget", ITS_SCOPE, ANY_PROJECT),
    ("JO4", "forget", " AND topic = :topic", ""),
    ("JO5", "remove", ITS_SCOPE, ANY_PROJECT),
    ("JO5", "remove", " AND topic = :topic", ""),
    ("JO6", "mark", "excluded.body AS TEXT) AS INTEGER) >", "excluded.body AS TEXT) AS INTEGER) <>"),
    ("JO6", "mark", "CAST(:gone_up_to AS BLOB)", "CAST('1' AS BLOB)"),
    ("JO6", "gone_up_to", " AND topic = :topic || '/gone'", ""),
    ("JO6", "gone_up_to", ITS_SCOPE, ANY_PROJECT),
    ("JO7", "drop", " AND key = :key", ""),
    ("JO7", "drop", " AND topic = :topic", ""),
    ("JO7", "drop", ITS_SCOPE, ANY_PROJECT),
]  # fmt: skip


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteJournal(database))


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, SqliteJournal, tmp_path)


class AlwaysNew(SqliteJournal):
    async def add(self, scope: Scope, topic: str, note: Note, kept_us: int, sources: Collection[str] = ()) -> bool:
        await super().add(scope, topic, note, kept_us)
        return True


class ByTime(SqliteJournal):
    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        found = await super().tail(scope, topic, group, after, limit, max_bytes)
        return tuple(sorted(found, key=lambda entry: entry.at_us))


@pytest.mark.parametrize(("clause", "broken"), [("JO1", AlwaysNew), ("JO2", ByTime)])
async def test_broken_verb_is_noticed(clause: str, broken: type[SqliteJournal], tmp_path: Path) -> None:
    await noticed(clause, broken, tmp_path)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} | {"JO2"} == set(CLAUSES)


async def noticed(clause: str, broken: type[SqliteJournal], folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: broken(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
