"""The suite of `Critiques` can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from pathlib import Path

import pytest

from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.store import CritiqueRecord
from sidemirror_server.storage.sqlite import critiques as adapter
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import critiques as suite
from tests.conformance.clauses import clauses_of

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = clauses_of(suite)
ITS_SCOPE = "tenant_id = :tenant_id AND project_id = :project_id"

# (clause that must notice, statement of critiques.sql, a piece of it, what stands there instead)
BROKEN = [
    ("CR11", "forget", "but.value ->> 0 = tenant_id", "FALSE"),
    ("CR11", "forget", "coalesce(but.value ->> 1, project_id)", "but.value ->> 1"),
    ("CR11", "forget", "coalesce(but.value ->> 1, project_id)", "project_id"),
    ("CR11", "forget", "but.value ->> 0 = tenant_id", "TRUE"),
    ("CR10", "forget", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("CR10", "forget", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("CR1", "keep", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
    ("CR2", "get", "critique_id = :critique_id", "lower(critique_id) = lower(:critique_id)"),
    ("CR3", "list", "ORDER BY created_us DESC, critique_id DESC", "ORDER BY created_us DESC, critique_id"),
    ("CR3", "list", "(created_us, critique_id) < (:created_us, :critique_id)", "created_us < :created_us"),
    ("CR4", "list_of_turn", "AND (:session_id IS NULL OR session_id = :session_id)", ""),
    ("CR4", "list_of_session", "(created_us, critique_id) < (:created_us, :critique_id)", "TRUE"),
    ("CR5", "report", "iif(:outcome = '', score, :score)", "iif(:outcome = '', score, coalesce(:score, score))"),
    ("CR5", "report", "iif(:outcome = '', score, :score)", ":score"),
    ("CR5", "report", "iif(:revised = '', revised_outcome, :revised)", "nullif(:revised, '')"),
    ("CR12", "reported", "reported_us DESC", "reported_us"),
    ("CR12", "reported", "reported_us >= :since_us", "reported_us > :since_us"),
    ("CR12", "reported", "AND model = :model", ""),
    ("CR12", "reported", "revised_outcome = 'success', count", "outcome = 'success', count"),
    ("CR12", "reported", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("CR13", "reported_models", "model <> ''", "TRUE"),
    ("CR13", "reported_models", "reported_us >= :since_us", "reported_us > :since_us"),
    ("CR13", "reported_models", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("CR14", "verdicts", "sum(revise)", "count(revise)"),
    ("CR14", "verdicts", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("CR5", "report", " AND critique_id = :critique_id", ""),
    ("CR6", "figures", "created_us < :end_us", "created_us <= :end_us"),
    ("CR6", "figures", "created_us >= :start_us", "created_us > :start_us"),
    ("CR6", "figures", "NULLS LAST", "NULLS FIRST"),
    ("CR6", "figures", "(50 * confident + 99)", "(50 * confident + 100)"),
    ("CR6", "figures", "count(confidence_ppm) OVER whole", "count(*) OVER whole"),
    ("CR6", "figures", "succeeded <> revise", "succeeded = revise"),
    ("CR7", "figures", "provider = :provider", "provider >= :provider"),
    ("CR9", "forget", "created_us < :before_us", "created_us <= :before_us"),
    ("CR9", "forget", "ORDER BY created_us LIMIT", "ORDER BY created_us DESC LIMIT"),
    ("CR9", "forget", "LIMIT :limit", "LIMIT max(:limit, 10)"),
    ("CR8", "get", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("CR8", "list", ITS_SCOPE, ":tenant_id IS NOT NULL AND project_id = :project_id"),
    ("CR8", "list_of_turn", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("CR8", "report", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
    ("CR8", "figures", ITS_SCOPE, "tenant_id = :tenant_id AND :project_id IS NOT NULL"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, SqliteCritiques, tmp_path)


class AnswersWithWhatItWasGiven(SqliteCritiques):
    async def keep(self, scope: Scope, critique: CritiqueRecord) -> CritiqueRecord:
        await super().keep(scope, critique)
        return critique


class SilentForUnknownOnes(SqliteCritiques):
    async def report(self, scope: Scope, critique_id: str, outcome: CritiqueOutcome) -> None:
        try:
            await super().report(scope, critique_id, outcome)
        except NotFound:
            return


@pytest.mark.parametrize(("clause", "broken"), [("CR1", AnswersWithWhatItWasGiven), ("CR5", SilentForUnknownOnes)])
async def test_broken_verb_is_noticed(clause: str, broken: type[SqliteCritiques], tmp_path: Path) -> None:
    await noticed(clause, broken, tmp_path)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in BROKEN} == set(CLAUSES)


async def noticed(clause: str, broken: type[SqliteCritiques], folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: broken(database))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
