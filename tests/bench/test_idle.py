"""What idle sidecars ask of one Postgres is counted; the figures of so short a time mean nothing."""

import asyncio
from pathlib import Path

import pytest

from bench import idle, idle_look, postgres_writes
from tests.postgres.pooler import found

pytestmark = pytest.mark.slow("sidecars are started, and left alone for seconds")


@pytest.mark.parametrize("watched", [False, True])
def test_idle_sidecars_are_counted(watched: bool, tmp_path: Path) -> None:
    """In their first seconds they still have a connection each, and look for jobs. Seen to fail when the counters are
    those of another database."""
    counted = asyncio.run(idle.measure(2, 1.0, 4.0, tmp_path, watched=watched, listens=watched))
    assert counted.connections_before >= 2
    assert counted.connections_most >= 2
    assert counted.counted.transactions > 0
    assert counted.counted.statements > 0
    assert "| transactions a second |" in idle.table(counted)


def test_a_look_is_counted() -> None:
    """Seen to fail when the server's children that have ended are left out."""
    costs = asyncio.run(idle_look.measure(20))
    assert set(costs) == {"directly"} | ({"PgBouncer"} if found() else set())
    assert costs["directly"].postgres_ms > 0.1
    assert "| directly |" in idle_look.table(costs)


def test_what_turns_write_is_told(tmp_path: Path) -> None:
    told = asyncio.run(postgres_writes.measure(20, 3, tmp_path))
    assert told.startswith("20 turns of 3 events")
    assert "| turns | 20 |" in told
    assert "| log_entries |" in told
