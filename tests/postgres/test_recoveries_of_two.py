"""Two sidecars on one Postgres: what turns at either taught is told at both, and each observation is there once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidemirror_server.memory.recoveries import moves
from tests.faults.sidecars import connected, running
from tests.memory.customers import lived_with_all
from tests.memory.recovering import SENTENCE, UNTOLD, observed, session, until_found, until_observed
from tests.postgres.databases import Databases


@pytest.fixture
async def url(databases: Databases) -> AsyncIterator[str]:
    async with databases.fresh() as name:
        yield databases.cluster.url("sidecar", name)


async def test_what_either_saw_is_told_at_both(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight sessions, at one and the other in turns. Seen to fail when a turn stays unlearned after it was learned
    from, and each fold of it gives its observations new ids."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with running(tmp_path / "a", database_url=url) as one, running(tmp_path / "b", database_url=url) as other:
        addresses = [one.address, other.address]
        for number in range(1, 9):
            address = addresses[number % 2]
            if number > UNTOLD:
                await until_found(address)
            async with connected(address) as stub:
                told = await session(stub, f"s{number}", told=number > UNTOLD)
            assert [SENTENCE in one.advice.block.text for one in told] == [True] * (number > UNTOLD)
            await until_observed(addresses[0], number)
        (move,) = (await observed(other.address)).moves
        assert (move.tries, move.advised_tries, move.advised_worked) == (5, 3, 3)


async def test_one_failure_in_six_customers_tasks(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the embedded store (`tests/wire/test_failures_across_tasks.py`), where it was seen to fail when what a call
    was given is not masked."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with running(tmp_path, database_url=url) as served:
        await lived_with_all(served.address)
