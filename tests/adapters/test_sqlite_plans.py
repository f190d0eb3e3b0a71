"""How SQLite goes about the statements of the turn log, the sessions, the requests and the receipts: by an index, and
no further than what it answers."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sidemirror_server.storage.sqlite import (
    erasures,
    goal_reflections,
    journal,
    ledger,
    observations,
    policies,
    receipts,
    requests,
    sessions,
    sources,
    trials,
    turn_log,
    work,
)
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations

# Of a file that nobody serves, and what merges the full text index.
OF_A_WHOLE_STORE = {"has_tombstones", "all_tombstones", "optimize_words", "stored", "noted"}
STATEMENTS = [
    (adapter, name)
    for adapter in (
        *(turn_log, sessions, requests, receipts, goal_reflections, journal),
        *(ledger, trials, policies, erasures, sources, observations),
    )
    for name in adapter._SQL
    if name not in OF_A_WHOLE_STORE
]
# Looked at beside their clauses, in a file of tests/adapters/.
ELSEWHERE = {
    "critiques": "test_sqlite_critiques",
    "memories": "test_sqlite_memories",
    "memory_graph": "test_sqlite_memory_graph",
    "dreams": "test_sqlite_dreams",
    "pruning": "test_sqlite_dreams",
}
# Of `work` what was slow once is looked at below; searches go through FTS5, whose plans say nothing of what it reads.
NOT_IN_FULL = {"work", "memory_search"}
# Not tables: the rows of a parameter, of a query within and the topics of a scope; and an index all of which is
# answered.
SCANNED = (
    *("SCAN json_each VIRTUAL", "SCAN but VIRTUAL", "SCAN wanted VIRTUAL", "SCAN topics", "SCAN lesson"),
    *("SCAN known", "SCAN CONSTANT ROW"),
    *("SCAN policies USING INDEX policies_retained", "SCAN policies USING COVERING INDEX", "SCAN (subquery"),
    "SCAN spanned",
)
# By how much is found in each: no index has that order.
RANKED = {"with_words"}
# Of all the days that are asked for, by scope.
RANKED |= {"costs"}
ACROSS_SCOPES = {
    *("retained", "deciding", "costs", "others", "idle", "forget", "forget_sums", "forget_reservations"),
    *("oldest", "due", "old_imported"),
}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, read_migrations(), 0)
    yield connection
    connection.close()


def plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", defaultdict(lambda: None))
    return [detail for _, _, _, detail in rows]


@pytest.mark.parametrize(("adapter", "name"), STATEMENTS)
def test_no_statement_scans_or_sorts_a_table(connection: sqlite3.Connection, adapter: ModuleType, name: str) -> None:
    for detail in plan(connection, adapter._SQL[name]):
        assert not detail.startswith("SCAN") or detail.startswith(SCANNED)
        assert "B-TREE" not in detail or name in RANKED, "sorts"
        assert "AUTOMATIC" not in detail, "makes an index of its own"
        if detail.startswith("SEARCH") and "USING" in detail and name not in ACROSS_SCOPES:
            assert "(tenant_id=? AND project_id=?" in detail, "goes beyond the scope"


def test_every_adapter_is_looked_at() -> None:
    """Each port's statements are a file of its adapter's name."""
    files = {path.stem for path in Path(work.__file__).parent.glob("*.sql")}
    here = {adapter.__name__.rpartition(".")[2] for adapter, _ in STATEMENTS}
    assert files == here | ELSEWHERE.keys() | NOT_IN_FULL
    for name in ELSEWHERE.values():
        assert "EXPLAIN QUERY PLAN" in Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"), name


def test_a_scan_would_be_seen(connection: sqlite3.Connection) -> None:
    assert plan(connection, "SELECT body FROM turns WHERE body = :body") == ["SCAN turns"]


def test_what_has_ended_is_not_read_to_count_what_waits(connection: sqlite3.Connection) -> None:
    (detail,) = plan(connection, work._SQL["waiting"])
    used = "SEARCH jobs USING COVERING INDEX jobs_waiting"
    assert detail == f"{used} (tenant_id=? AND project_id=? AND kind=? AND due_us>?)"


def test_what_is_old_and_dead_is_found_by_its_time(connection: sqlite3.Connection) -> None:
    assert any("INDEX jobs_dead (updated_us<?)" in detail for detail in plan(connection, work._SQL["purge_dead"]))


# What each pages through: how many rows it answers must decide how long it takes, not how many there are.
PAGED = [
    (turn_log, "read"),
    (turn_log, "tail"),
    (turn_log, "tail_of_group"),
    (turn_log, "last_position"),
    (turn_log, "head"),
    (turn_log, "heads"),
    (turn_log, "heads_standing"),
    (turn_log, "heads_with_outcome"),
    (turn_log, "heads_of"),
    (turn_log, "newest"),
    (turn_log, "idle"),
    (requests, "recall"),
    (receipts, "of_session"),
]


@pytest.mark.parametrize(("adapter", "name"), PAGED)
def test_more_rows_take_no_more_steps(connection: sqlite3.Connection, adapter: ModuleType, name: str) -> None:
    def fill(first: int, last: int) -> None:
        connection.execute(
            """INSERT INTO log_entries SELECT value, 't', 'p', iif(value % 2, 'turn', 'goal'), 'k', 'g', value, 0, x'00'
               FROM (WITH RECURSIVE n (value) AS (SELECT ? UNION ALL SELECT value + 1 FROM n WHERE value < ?)
                     SELECT value FROM n)""",
            (first, last),
        )
        connection.execute(
            """INSERT INTO turns
               SELECT 't', 'p', printf('t%06d', position), 's', position, 'open', 1, position, position, x'00', 0, ''
               FROM log_entries WHERE position >= ?""",
            (first,),
        )
        connection.execute(
            """INSERT INTO requests SELECT 't', 'p', 'm', printf('t%06d', position), position, x'00', x'00'
               FROM log_entries WHERE position >= ?""",
            (first,),
        )
        # What was asked for the session long ago, and what was asked just now.
        connection.execute(
            """INSERT INTO receipts
               SELECT 't', 'p', printf('r%06d', position), 'memory', iif(position > 10, position, 10000), '', 's', '',
                      CAST('{}' AS BLOB)
               FROM log_entries WHERE position >= ?""",
            (first,),
        )

    def steps() -> int:
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        values = {
            "tenant_id": "t",
            "project_id": "p",
            "topic": "turn",
            "key": "k",
            "group_id": "g",
            "after": 0,
            "limit": 5,
        }
        more = {
            "outcome": "",
            "from_us": 0,
            "turn_ids": '["t000001"]',
            "turn_id": "t000001",
            "session_id": "s",
            "standing": "open",
            "started_us": 2**62,
            "before_us": 2**62,
        }
        asked = {"method": "m", "request_id": "t000001", "now_us": 0}
        if name == "of_session":
            asked |= {"from_us": 10_000, "until_us": 10_000}
        connection.set_progress_handler(count, 1)
        rows = connection.execute(adapter._SQL[name], {**values, **more, **asked}).fetchall()
        connection.set_progress_handler(None, 0)
        assert rows
        return counted

    fill(1, 50)
    few = steps()
    fill(51, 2_000)
    assert steps() == few
