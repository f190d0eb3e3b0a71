"""The port `Critiques` on SQLite: its clauses, its plans, and figures over many."""

import sqlite3
import sys
import time
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.statistics import DAY_US, HOUR_US
from sidemirror_server.storage.sqlite import critiques as adapter
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import critiques as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.critiques import ONE, T0, counted, varied
from tests.conformance.figures import figures_of

CLAUSES = clauses_of(suite)
MANY = 100_000
COLUMNS = "tenant_id, project_id, critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body"


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: SqliteCritiques(database))


@pytest.mark.parametrize("name", adapter._SQL)
def test_no_statement_goes_beyond_its_scope_or_scans_the_table(name: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, read_migrations(), 0)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {adapter._SQL[name]}", defaultdict(lambda: None))]
    connection.close()
    of_table = [step for step in plan if "critiques" in step]
    assert of_table or name == "keep"
    if name == "forget":
        # Across scopes: by time alone.
        assert all(step.startswith("SEARCH") for step in of_table)
        assert any("INDEX critiques_made (created_us<?)" in step for step in of_table)
        return
    assert all(step.startswith("SEARCH") and "(tenant_id=? AND project_id=?" in step for step in of_table)
    if name == "reported":
        # What is sorted, to be counted, is at most the limit.
        assert any("COVERING INDEX critiques_reported" in step for step in of_table)
    elif name == "figures":
        assert any("COVERING INDEX critiques_counted" in step for step in of_table)
    else:
        assert not any("B-TREE" in step for step in plan), "sorts"


async def test_outcomes_of_before_are_there_and_count_for_no_model(tmp_path: Path) -> None:
    """In a store that an earlier version filled. Seen to fail when the rules' name stands in for the model's."""
    connection = sqlite3.connect(tmp_path / "sidemirror.db", isolation_level=None)
    migrate(connection, [one for one in read_migrations() if one.name != "critique_flips"], 0)
    connection.execute(
        "INSERT INTO critiques VALUES "
        "('acme', 'shop', 'c', 1, 'rules', 500000, 1, '', '', x'7b7d', 'success', 0.5, 9, 1)"
    )
    connection.close()
    async with sqlite_database(tmp_path) as database:
        critiques = SqliteCritiques(database)
        kept = await critiques.get(ONE, "c")
        assert kept is not None
        assert kept.outcome == CritiqueOutcome("success", 0.5, 9)
        assert await critiques.reported_models(ONE, 0) == ()
        await critiques.report(ONE, "c", CritiqueOutcome("", None, 10, "failure"))
        assert (kept := await critiques.get(ONE, "c")) is not None
        assert kept.outcome == CritiqueOutcome("success", 0.5, 10, "failure")


async def test_figures_over_many_equal_a_plain_recomputation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = varied(MANY)
    rows = [
        (*msgspec.structs.astuple(ONE), *msgspec.structs.astuple(one)[:4], int(one.revise), "", "", b"{}", *outcome)
        for one in records
        for outcome in [(one.outcome.outcome, one.outcome.outcome == "success") if one.outcome else (None, None)]
    ]
    async with sqlite_database(tmp_path) as database:
        insert = f"INSERT INTO critiques ({COLUMNS}, outcome, succeeded) VALUES ({', '.join('?' * 12)})"
        await database.write(lambda connection: connection.executemany(insert, rows), long=True)
        critiques = SqliteCritiques(database)
        every = [counted(record) for record in records]
        for bucket_us in (HOUR_US, DAY_US, None):
            began_s = time.perf_counter()
            found = await critiques.figures(ONE, T0, T0 + 3 * DAY_US, bucket_us, None)
            took_s = time.perf_counter() - began_s
            assert found == figures_of(every, T0, bucket_us)
            with capsys.disabled():
                sys.stdout.write(f"\nfigures over {MANY:,} critiques in {len(found)} groups: {took_s * 1000:.0f} ms")
            assert took_s < 60
