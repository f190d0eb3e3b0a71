"""Two sidecars on one Postgres get the spans of the same traces, and are killed: each run is one turn."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.process import Process
from tests.postgres.databases import Databases
from tests.telemetry_in.received import recorded
from tests.telemetry_in.test_kills import (
    SETTINGS,
    SIZES,
    captured,
    check,
    check_captures,
    made_of,
    sent_and_killed,
)

pytestmark = pytest.mark.slow("processes are killed at random")


@pytest.fixture
async def two(databases: Databases, tmp_path: Path) -> AsyncIterator[list[Process]]:
    async with databases.fresh() as name:
        secrets = {"SIDEMIRROR_DATABASE_URL": databases.cluster.url("sidecar", name)}
        async with (
            Process(tmp_path / "a", SETTINGS, secrets=secrets) as one,
            Process(tmp_path / "b", SETTINGS, secrets=secrets) as other,
        ):
            yield [one, other]


@pytest.mark.parametrize(("runs", "kills"), SIZES)
async def test_spans_at_either_of_two_sidecars_are_one_turn(runs: int, kills: int, two: list[Process]) -> None:
    """Seen to fail when the notes of a trace are kept in the memory of the sidecar that got them."""
    await sent_and_killed(two, made_of(runs), kills, 20)
    check(await asyncio.to_thread(recorded, two[0].address, ended=runs), runs)


async def test_the_recorded_set_ups_at_either_of_two_sidecars(two: list[Process]) -> None:
    """Seen to fail when the notes of an export are written 0.3 s after it is acknowledged."""
    await sent_and_killed(two, captured(), 2, 22)
    await asyncio.to_thread(check_captures, two[0].address)
