"""The suite of observations notices a broken adapter on Postgres too: each of these statements, spoilt, fails the
clause it is about, and so does a schema without one of its triggers."""

from typing import Any

import asyncpg
import pytest

from sidemirror_server.storage.postgres import observations as adapter
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.erasures import PostgresErasures
from sidemirror_server.storage.postgres.observations import PostgresObservations
from sidemirror_server.storage.postgres.pruning import PostgresPruning
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from tests.adapters.broken_postgres import of_one_project
from tests.conformance import observations as suite
from tests.conformance.clauses import clauses_of
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken, on a server")

CLAUSES = clauses_of(suite)

# (clause that must notice, statement of observations.sql, a piece of it, what stands there instead)
BROKEN = [
    ("OB1", "claim", "ORDER BY due_us\n    LIMIT", "ORDER BY due_us DESC\n    LIMIT"),
    ("OB1", "claim", "due_us <= $1", "due_us < $1"),
    ("OB1", "claim", "due_us = $2", "due_us = unlearned.due_us + 0 * $2::bigint"),
    ("OB1", "claim", "attempts = attempts + 1", "attempts = attempts"),
    ("OB2", "claim", "tenant_id = $4)", "TRUE)"),
    ("OB2", "claim", "project_id = $5)", "TRUE)"),
    ("OB3", "put", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
    ("OB4", "learned", "turn_id = $3", "turn_id = $3 || 'x'"),
    ("OB4", "again", ", is_late = true", ""),
    ("OB4", "again", "attempts = 0, ", ""),
    ("OB5", "hold", "SELECT turn_id\nFROM sidemirror.turns\nWHERE tenant_id = $1 AND project_id = $2 AND turn_id = ANY",
     "SELECT unnest($3::text[]) AS turn_id\nWHERE $1 || $2 <> '' AND ''::text <> ALL"),
    ("OB7", "of_signature", "ORDER BY at_us, observation_id", "ORDER BY at_us DESC"),
    ("OB7", "of_signature", "signature = $3", "signature >= $3"),
    ("OB8", "shorten", "at_us DESC", "at_us"),
    ("OB8", "shorten", "OFFSET $4", "OFFSET $4 + 1"),
    ("OB9", "signatures", "signature > $3", "signature >= $3"),
    ("OB9", "signatures", "LIMIT $4", "LIMIT $4 + 1"),
    ("OB11", "shorten", "OFFSET $4", "OFFSET $4 + 1"),
    ("OB12", "old_imported", "ORDER BY heard_us", "ORDER BY heard_us DESC"),
    ("OB12", "old_imported", "heard_us < $1", "heard_us <= $1"),
    ("OB12", "old_imported", "OR tenant_id = $3", "OR TRUE"),
    ("OB12", "old_imported", "AND NOT EXISTS", "OR EXISTS"),
    ("OB13", "subjects", "ORDER BY source", "ORDER BY source DESC"),
    ("OB14", "note_imported", "$4)", "0 * $4::bigint)"),
]  # fmt: skip
TRIGGERS = [
    ("OB1", "came_ended", "turns"),
    ("OB1", "has_ended", "turns"),
    ("OB6", "teaches_no_more", "turns"),
    ("OB12", "is_gone", "observations"),
]


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert piece in adapter._SQL[name]
    text = adapter._SQL[name].replace(piece, instead)
    if name == "hold":
        text = text.replace("\nFOR KEY SHARE", "")  # of rows that are made up, none can be locked
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: text})
    async with databases.opened() as database:
        await is_noticed(clause, stores_of(database))


async def test_an_adapter_that_takes_one_project_for_another_is_noticed(databases: Databases) -> None:
    async with databases.opened() as database:
        await is_noticed("OB10", stores_of(database, of_one_project(PostgresObservations)))


@pytest.mark.parametrize(("clause", "trigger", "table"), TRIGGERS)
async def test_a_missing_trigger_is_noticed(clause: str, trigger: str, table: str, databases: Databases) -> None:
    async with databases.fresh() as name:
        await databases.as_superuser(f"DROP TRIGGER {trigger} ON sidemirror.{table}", name)
        database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
        try:
            await is_noticed(clause, stores_of(database))
        finally:
            await database.close()


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in (*BROKEN, *TRIGGERS)} | {"OB10"} == set(CLAUSES)


def stores_of(database: PostgresDatabase, observations: type[Any] = PostgresObservations) -> suite.Stores:
    others = (PostgresTurnLog(database), PostgresPruning(database), PostgresErasures(database))
    return suite.Stores(observations(database), *others)


async def is_noticed(clause: str, stores: suite.Stores) -> None:
    with pytest.raises((Exception, pytest.fail.Exception)) as caught:
        await CLAUSES[clause](lambda: stores)
    assert not isinstance(caught.value, (TypeError, AttributeError, NameError, asyncpg.PostgresError)), "does not run"
