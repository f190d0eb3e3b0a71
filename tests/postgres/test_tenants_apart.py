"""Each tenant with its own role and psql gets at nothing of another one's: 0 rows read, written or counted. What it can
still hold up is tried too, and printed.

Seen to fail with each of the breaks that are planted here; what blocks, with a policy on envelopes that lets everything
through, so that their rows can be locked."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import pytest

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.transactions import log_lock
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from tests.faults.figures import show
from tests.postgres.databases import Databases
from tests.postgres.escapes import (
    PROJECT,
    ROWS,
    UNSEEN,
    Told,
    attempts,
    make_tenants,
    role_of,
    rows_of_others,
    tables_of,
    tried,
)

pytestmark = [pytest.mark.slow("hundreds of sessions of psql"), pytest.mark.timeout(180)]


@pytest.fixture
async def tenants(databases: Databases) -> AsyncIterator[str]:
    """A database where every tenant has its role and its rows."""
    name = await databases.create()
    await make_tenants(databases, name)
    yield name
    await databases.drop(name)
    for tenant in ROWS:
        await databases.as_superuser(f"DROP ROLE {role_of(tenant)}")


async def all_tried(databases: Databases, name: str, own: str, foreign: str, of: str = "") -> list[Told]:
    """What came of each attempt (of the family `of`)."""
    wanted = [one for one in attempts(await tables_of(databases, name), own, foreign) if of in ("", one.family)]
    return [await tried(databases, name, one, own) for one in wanted]


@pytest.mark.parametrize(("own", "foreign"), [("acme", "globex"), ("globex", "acme")])
async def test_nothing_of_another_tenant(own: str, foreign: str, databases: Databases, tenants: str) -> None:
    """Seen to fail with the policy of a table of payloads dropped, and of envelopes, which the next test keeps."""
    before = await rows_of_others(databases, tenants, own)
    told = await all_tried(databases, tenants, own, foreign)
    assert len(told) >= 200
    assert [(one.attempt.name, one.read) for one in told if one.read] == []
    assert [(one.attempt.name, one.counted) for one in told if one.counted] == []
    assert await rows_of_others(databases, tenants, own) == before
    summed = {one.attempt.name for one in told if one.summed}
    assert summed <= {"how large tables are"}  # docs/postgres-tenants.md, "What remains"
    families = Counter(one.attempt.family for one in told)
    show(
        f"{own}: {len(told)} attempts ({', '.join(f'{family} {count}' for family, count in families.items())}), "
        f"0 foreign rows read, written or counted; the number of all rows is told by: {', '.join(sorted(summed))}"
    )


async def test_nothing_by_attempts_of_another_author(databases: Databases, tenants: str) -> None:
    """220 attempts by somebody who had seen neither the policies nor the tables."""
    before = await rows_of_others(databases, tenants, "acme")
    told = [
        await tried(databases, tenants, one, "acme")
        for one in attempts(await tables_of(databases, tenants), "acme", "globex", UNSEEN)
    ]
    assert len(told) == 220
    assert [(one.attempt.name, one.read) for one in told if one.read] == []
    assert [(one.attempt.name, one.counted) for one in told if one.counted] == []
    assert await rows_of_others(databases, tenants, "acme") == before
    # The size of tables, from statistics and from plans: docs/postgres-tenants.md, "What remains".
    assert {one.attempt.name.split(":")[0] for one in told if one.summed} <= {"p093", "p095", "p096", "p109", "p152"}
    show(f"another author: {len(told)} attempts, 0 foreign rows read, written or counted")


# What is broken, and an attempt of a family that then reads or counts.
BREAKS = {
    "a table's policy lets everything through": (
        "ALTER POLICY scope ON sidemirror.memories USING (true)",
        *("settings", "set the tenant and read memories"),
    ),
    "envelopes have no policies in force": (
        "ALTER TABLE sidemirror.job_envelopes DISABLE ROW LEVEL SECURITY",
        *("envelopes", "read job_envelopes"),
    ),
    "policies believe the setting": (
        "CREATE OR REPLACE FUNCTION sidemirror.tenant_id() RETURNS text LANGUAGE sql AS $$ SELECT 'globex' $$",
        *("settings", "set the tenant and read turns"),
    ),
    "an index of times without the tenant": (
        "DROP INDEX sidemirror.job_envelopes_due; CREATE INDEX ON sidemirror.job_envelopes (due_us)",
        *("afterwards", "what a plan by an index of times says"),
    ),
    "the planner's statistics are gathered": (
        "ALTER TABLE sidemirror.turns ALTER tenant_id SET STATISTICS 100, ALTER project_id SET STATISTICS 100; ANALYZE",
        *("explain", "what a plan says turns"),
    ),
}


@pytest.mark.parametrize("planted", BREAKS)
async def test_a_planted_break_is_found(planted: str, databases: Databases, tenants: str) -> None:
    """With it the test above fails."""
    statement, family, found = BREAKS[planted]
    await databases.as_superuser(statement, tenants)
    told = await all_tried(databases, tenants, "acme", "globex", family)
    assert found in {one.attempt.name for one in told if one.read or one.counted or one.summed}


async def test_a_planted_break_that_lets_write_is_found(databases: Databases, tenants: str) -> None:
    """An envelope's policy dropped, so that rows of others change."""
    before = await rows_of_others(databases, tenants, "acme")
    await databases.as_superuser("CREATE POLICY planted ON sidemirror.request_envelopes USING (true)", tenants)
    await all_tried(databases, tenants, "acme", "globex", "envelopes")
    after = await rows_of_others(databases, tenants, "acme")
    assert {table for table in before if after[table] != before[table]} == {"request_envelopes"}


async def test_plans_tell_no_tenant_from_one_that_is_not_there(databases: Databases, tenants: str) -> None:
    """What the planner expects of a tenant's rows, and between two ids, is the same for any. Seen to fail with
    statistics on a column of ids, which a planted break above keeps."""
    connection = await asyncpg.connect(databases.cluster.url(role_of("acme"), tenants))
    try:
        for table in await tables_of(databases, tenants):
            for condition in ("tenant_id = '{}'", "tenant_id > '{}'", "project_id = '{}'"):
                if table == "ledger_envelopes" and "project" in condition:
                    continue  # sums over projects
                plans = []
                for name in ("globex", "g1obex", PROJECT):
                    rows = await connection.fetch(
                        f"EXPLAIN SELECT * FROM sidemirror.{table} WHERE {condition.format(name)}"
                    )
                    plans.append("\n".join(row[0] for row in rows).replace(f"'{name}'", "'…'"))
                assert len(set(plans)) == 1, plans
    finally:
        await connection.close()


# What a tenant's role may try in order to hold up another one's sidecar, and whether it does. Where it does, Postgres
# has no right against it (docs/postgres-tenants.md).
HOLDS_UP = {
    "LOCK TABLE sidemirror.turns": ("LOCK TABLE sidemirror.turns IN ACCESS EXCLUSIVE MODE", True),
    "an advisory lock of ours": ("SELECT pg_advisory_xact_lock({lock})", True),
    "a lock on the other's rows": ("SELECT * FROM sidemirror.turns FOR UPDATE", False),
    "a lock on the other's envelopes": ("SELECT * FROM sidemirror.open_turn_envelopes FOR UPDATE", False),
    "LOCK TABLE sidemirror.role_tenants": ("LOCK TABLE sidemirror.role_tenants IN ACCESS EXCLUSIVE MODE", False),
    "LOCK TABLE sidemirror.schema_migrations": (
        "LOCK TABLE sidemirror.schema_migrations IN ACCESS EXCLUSIVE MODE",
        False,
    ),
}


@pytest.mark.parametrize("how", HOLDS_UP)
async def test_what_blocking_remains(how: str, databases: Databases, tenants: str) -> None:
    """Rows of another tenant cannot be locked; tables, and locks that Postgres lets everybody take, can."""
    statement, expected = HOLDS_UP[how]
    scope = Scope("globex", PROJECT)
    holder = await asyncpg.connect(databases.cluster.url(role_of("acme"), tenants))
    database = await PostgresDatabase.open(databases.cluster.url(role_of("globex"), tenants))
    try:
        await holder.execute(
            f"BEGIN; SET LOCAL sidemirror.tenant_id = '{b'acme'.hex()}'; "
            f"SET LOCAL sidemirror.project_id = '{PROJECT.encode().hex()}'"
        )
        with contextlib.suppress(asyncpg.InsufficientPrivilegeError):
            await holder.execute(statement.format(lock=log_lock(scope)))
        held_up = False
        try:
            async with database.transaction(scope, log="appends", within_s=1.0) as transaction:
                assert (
                    await transaction.change("UPDATE sidemirror.turns SET updated_us = updated_us + 1")
                    == ROWS["globex"]
                )
        except StoreUnavailable:
            held_up = True
        assert held_up is expected
    finally:
        await holder.close()
        await database.close()
    show(f"{how}: {'another tenant waits, at most 5 s for each try' if held_up else 'nobody else waits'}")
