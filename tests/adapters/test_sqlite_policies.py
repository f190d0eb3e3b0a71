"""The port `Policies` on SQLite; and its suite can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.policy.record import AdviceKind, DataPolicy, ScopePolicies, StoredPolicy
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.storage.sql import columns_of
from sidemirror_server.storage.sqlite import policies as adapter
from sidemirror_server.storage.sqlite.policies import SqlitePolicies
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import policies as suite
from tests.conformance.clauses import clauses_of

CLAUSES = clauses_of(suite)
ITS_ROW = "tenant_id = :tenant_id AND project_id = :project_id"

# (clause that must notice, statement of policies.sql, a piece of it, what stands there instead)
BROKEN = [
    ("PO1", "get", "IN (:project_id, '')", "= :project_id"),
    ("PO2", "put", "version = excluded.version, ", ""),
    ("PO2", "put", ", body = excluded.body", ""),
    ("PO7", "put", "retains = excluded.retains, ", ""),
    ("PO7", "put", ":retains, ", "TRUE, "),
    ("PO3", "remove", ITS_ROW, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("PO3", "remove", ITS_ROW, "FALSE"),
    ("PO5", "get", "tenant_id = :tenant_id", ":tenant_id IS NOT NULL"),
    ("PO5", "remove", "tenant_id = :tenant_id", ":tenant_id IS NOT NULL"),
    ("PO6", "others", "tenant_id = :tenant_id", ":tenant_id IS NOT NULL"),
    ("PO6", "others", "project_id > ''", "TRUE"),
    ("PO7", "retained", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("PO7", "retained", "project_id IN ('', :project_id)", "project_id = :project_id"),
    ("PO7", "retained", "(:project_id IS NULL OR project_id IN ('', :project_id))", "TRUE"),
    ("PO8", "deciding", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("PO8", "deciding", "project_id IN ('', :project_id)", "project_id = :project_id"),
]


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqlitePolicies(database))


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, SqlitePolicies, tmp_path)


class SetsAnyVersion(SqlitePolicies):
    async def set(self, scope: Scope, change: PolicyChange, now_us: int) -> StoredPolicy | None:
        return await super().set(scope, msgspec.structs.replace(change, if_version=None), now_us)


async def test_broken_verb_is_noticed(tmp_path: Path) -> None:
    await noticed("PO4", SetsAnyVersion, tmp_path)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} | {"PO4"} == set(CLAUSES)


async def noticed(clause: str, broken: type[SqlitePolicies], folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: broken(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"


@pytest.mark.parametrize("body", [b'{"policy":{"advice":{"off":["later"]}}}', b'{"policy":7}', b"damaged"])
async def test_a_row_that_this_version_cannot_read_is_served_and_can_be_removed(body: bytes, tmp_path: Path) -> None:
    """Seen to fail when the decoder's error is let through: it is none that a sweep or a call expects."""
    values = {**columns_of(suite.ONE), "version": 3, "retains": True, "body": body}
    async with sqlite_database(tmp_path) as database:
        policies = SqlitePolicies(database)
        await database.write(lambda connection: connection.execute(adapter._SQL["put"], values).rowcount)
        found = await policies.get(suite.ONE)
        assert not any(found.advice.gives(kind) for kind in AdviceKind)
        assert [kept.removes for kept in (await policies.retained(SERVES_ALL)).values()] == [False]
        assert await policies.set(suite.ONE, suite.change(DataPolicy()), suite.T0) is None
        assert await policies.get(suite.ONE) == ScopePolicies()
