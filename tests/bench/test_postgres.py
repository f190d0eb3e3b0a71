"""The measurements on Postgres still run, and say what they should. Their figures mean nothing here."""

import asyncio
from pathlib import Path

import pytest

from bench import fleet, pooled, wide
from tests.postgres.pooler import needs_pgbouncer

pytestmark = pytest.mark.slow("servers are started for each measurement")


def test_sidecars_of_one_project(tmp_path: Path) -> None:
    found = asyncio.run(wide.measure(2, 1, 1, 0.5, 5.0, tmp_path))
    assert [rounds[0].rate > 0 for rounds in found.values()] == [True, True]
    assert found[2][0].waits == {}
    assert found[2][0].held_back_ms
    assert len(wide.table(found).splitlines()) == 4


def test_weeks_of_a_fleet() -> None:
    found = asyncio.run(fleet.measure(4, 50, 1))
    # The turns of the last day stay.
    assert (found.turns, found.removed) == (200, 150)
    assert "| log_entries |" in fleet.table(found)


@needs_pgbouncer
def test_connections_through_a_pooler() -> None:
    done = asyncio.run(pooled.measure(30))
    assert [(len(one.took_ms), one.failed) for one in done] == [(30, 0)] * 3
    assert max(one.connections for one in done) <= 20
    assert len(pooled.table(30, done).splitlines()) == 5
