"""The sidecar is killed as soon as a session has ended: what it taught is kept all the same, and once."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.memory.recovering import SENTENCE, UNTOLD, is_held_back, observed, session, until_observed
from tests.postgres.databases import Databases

pytestmark = [pytest.mark.slow("the sidecar is killed after each session"), pytest.mark.timeout(300)]


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """A store of either kind."""
    if request.param == "sqlite":
        yield {}
        return
    databases: Databases = request.getfixturevalue("databases")
    name = asyncio.run(databases.create())
    yield {"database_url": databases.cluster.url("sidecar", name)}
    asyncio.run(databases.drop(name))


async def test_each_observation_is_kept_once(settings: dict[str, str], tmp_path: Path) -> None:
    """Eight sessions, each followed by kill -9. Those after the gate are told, but for what is held back. Seen to fail
    without the triggers that keep the list of unlearned turns."""
    async with Process(tmp_path, settings) as process:
        for number in range(1, 9):
            async with connected(process.address) as stub:
                told = number > UNTOLD and not is_held_back(f"s{number}")
                advice = await session(stub, f"s{number}", told=told)
            assert [SENTENCE in one.advice.block.text for one in advice] == [True] * told
            process.kill()
            await process.start()
            if number >= UNTOLD:
                await until_observed(process.address, number)
        found = await observed(process.address)
        assert found.observation_count == 8
        assert not all(is_held_back(f"s{number}") for number in range(UNTOLD + 1, 9))
