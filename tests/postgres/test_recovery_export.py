"""Observations move from an embedded store to a shared one, and back."""

from pathlib import Path

import pytest

from sidemirror_server.memory.recoveries import moves
from sidemirror_server.vocabulary.scope import SERVES_ALL
from tests.faults.sidecars import running
from tests.memory.recovering import UNTOLD, live_through, observed
from tests.postgres.databases import Databases
from tests.wire.test_recovery_export import DAY_US, changed, erased, exported, found, imported


async def test_a_shared_store_tells_what_an_embedded_one_learned(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with running(tmp_path / "embedded") as served:
        await live_through(served.address, UNTOLD)
        told, lines = await found(served.address), await exported(served.address)
    lines = [line for line in lines if '"observation"' in line]
    assert len(lines) == UNTOLD
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        async with running(tmp_path / "shared", database_url=url) as served:
            assert (await imported(served.address, lines)).imported_count == UNTOLD
            assert await found(served.address) == told
            assert (await imported(served.address, lines)).known_count == UNTOLD
            back = [line for line in await exported(served.address) if '"observation"' in line]
            assert back == lines
            await erased(served.address, session_id="s1")
            assert (await imported(served.address, lines)).erased_count == 1
            old = changed(lines[1], failure_id="old", at_us=DAY_US)
            assert (await imported(served.address, [old])).imported_count == 1
            # What retention calls, with the scopes that it may clear (tests/wire/test_recovery_export.py).
            assert await served.sidecar._stores.observations.forget(SERVES_ALL, 2 * DAY_US, 10) == 1
            assert (await observed(served.address)).observation_count == UNTOLD - 1
