"""How Postgres goes about the statements of every port: as the serving role, under row level security, on full tables.

A condition that row level security must not let run early (one whose function is not leakproof) cannot be looked up in
an index, however good the index is; and a policy's function that is asked once a row makes a scan of everything slow.
So plans are looked at as they are run, with what they read.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import asyncpg
import pytest

from sidemirror_server.storage.postgres import (
    turn_log,
    work,
)
from sidemirror_server.storage.postgres.database import PostgresDatabase
from tests.adapters.postgres_rows import FILL, ROWS
from tests.adapters.postgres_statements import (
    ACROSS,
    EVERYTHING,
    NOBODY,
    NOT_LOOKED_AT,
    ONE,
    PLACE,
    SERVED,
    TENANT,
    VALUES,
    WHOLE,
)
from tests.postgres.databases import Databases

# The first one fills the tables.
pytestmark = [pytest.mark.slow("every statement is explained over filled tables"), pytest.mark.timeout(600)]
STATEMENTS = [(adapter, name) for adapter, every in VALUES.items() for name in every]


@pytest.fixture(scope="module")
def filled(databases: Databases) -> Iterator[str]:
    """The name of a database with rows of many scopes."""
    name = asyncio.run(databases.create())
    asyncio.run(databases.as_superuser(FILL, name))
    yield name
    asyncio.run(databases.drop(name))


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


async def explained(databases: Databases, name: str, statement: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
    """The nodes of the plan as it was run; nothing of it is kept."""
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
    try:
        async with database.transaction(ONE, log="reads") as transaction:
            rows = await transaction.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *values)
            await transaction.fetch("ROLLBACK AND CHAIN")
            return list(nodes(json.loads(rows[0][0])[0]["Plan"]))
    finally:
        await database.close()


def read_by(node: dict[str, Any]) -> float:
    """Rows that a scan of a table has looked at."""
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return float((node["Actual Rows"] + removed) * node["Actual Loops"])


def scans_of(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where tables of ours are read; what a bitmap found is read by the node above it."""
    return [node for node in plan if "Relation Name" in node and "Scan" in node["Node Type"]]


@pytest.mark.parametrize(("adapter", "name"), STATEMENTS, ids=lambda given: getattr(given, "__name__", given))
async def test_no_statement_reads_more_than_it_answers(
    adapter: ModuleType, name: str, databases: Databases, filled: str
) -> None:
    values, most = VALUES[adapter][name]
    plan = await explained(databases, filled, adapter._SQL[name], values)
    scans = scans_of(plan)
    known = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan", *(("Seq Scan",) if (adapter, name) in WHOLE else ())}
    assert {node["Node Type"] for node in scans} <= known
    for node in plan:
        if "Index Cond" in node and (adapter, name) not in ACROSS:
            assert "tenant_id" in node["Index Cond"], "goes beyond the scope"
        assert "tenant_id()" not in node.get("Filter", ""), "the policy is asked once a row"
    assert sum(read_by(node) for node in scans) <= most, scans


@pytest.mark.parametrize("served", [TENANT, PLACE], ids=["tenant", "project"])
@pytest.mark.parametrize(("adapter", "name"), SERVED, ids=lambda given: getattr(given, "__name__", given))
async def test_what_others_have_is_not_read(
    adapter: ModuleType, name: str, served: tuple[str, str | None], databases: Databases, filled: str
) -> None:
    values, _ = VALUES[adapter][name]
    if name == "projects_after":
        values = ("", "", *values[2:])
    excepted = values[-2:] if values[-2:] == NOBODY else ()
    before = values[: len(values) - len(excepted)]
    assert before[-2:] == EVERYTHING
    plan = await explained(databases, filled, adapter._SQL[name], (*before[:-2], *served, *excepted))
    scans = scans_of(plan)
    assert {node["Node Type"] for node in scans} <= {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
    assert sum(read_by(node) for node in scans) <= SERVED[adapter, name], scans


def test_everything_that_takes_what_is_served_is_looked_at() -> None:
    taking = {(adapter, name) for adapter, name in STATEMENTS if "text IS NULL OR project_id" in adapter._SQL[name]}
    assert taking == SERVED.keys()


def test_every_adapter_is_looked_at() -> None:
    """Each port's statements are a file of its adapter's name; the other two are about the database itself."""
    files = {path.stem for path in Path(work.__file__).parent.glob("*.sql")} - {"database", "examine"}
    assert {adapter.__name__.rpartition(".")[2] for adapter in VALUES} == files


def test_every_statement_is_looked_at() -> None:
    for adapter, every in VALUES.items():
        assert set(every) == set(adapter._SQL) - NOT_LOOKED_AT.get(adapter, set()), adapter.__name__


async def test_a_scan_would_be_seen(databases: Databases, filled: str) -> None:
    plan = await explained(databases, filled, "SELECT body FROM sidemirror.turns WHERE body = $1", (b"y",))
    (scan,) = scans_of(plan)
    assert scan["Node Type"] == "Seq Scan" or read_by(scan) >= ROWS


async def test_a_policy_that_is_asked_once_a_row_would_be_seen(databases: Databases, filled: str) -> None:
    """The same rows, with the functions of the policy not in sub-selects."""
    name = await databases.create(copy_of=filled)
    try:
        await databases.as_superuser(
            "ALTER POLICY scope ON sidemirror.turns USING (tenant_id = sidemirror.tenant_id() || left(body::text, 0) "
            "AND project_id = sidemirror.project_id())",
            name,
        )
        plan = await explained(databases, name, turn_log._SQL["heads"], VALUES[turn_log]["heads"][0])
        assert any("tenant_id()" in node.get("Filter", "") for node in plan)
    finally:
        await databases.drop(name)


async def test_the_serving_role_is_held_by_the_policies(databases: Databases, filled: str) -> None:
    """As the owner of nothing: with the tables' own row level security, each statement's plan has it too."""
    connection = await asyncpg.connect(databases.cluster.url("sidecar", filled))
    try:
        assert await connection.fetchval("SELECT count(*) FROM sidemirror.turns") == 0
    finally:
        await connection.close()
