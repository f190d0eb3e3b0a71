"""Observations move from an embedded store to a shared one, and back."""

from pathlib import Path

import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.faults.sidecars import Running, channel, running
from tests.memory.recovering import UNTOLD, live_through, observed
from tests.postgres.databases import Databases
from tests.wire.test_recovery_export import DAY_US, changed, erased, exported, found, imported


async def kept_for(served: Running, days: int) -> None:
    policy = sidecar_pb2.Policy(retention=sidecar_pb2.RetentionPolicy(trace_days=days))
    async with channel(served.address) as connection:
        await SidecarServiceStub(connection).SetPolicy(sidecar_pb2.SetPolicyRequest(policy=policy), timeout=60)


async def test_a_shared_store_tells_what_an_embedded_one_learned(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when retention removed turns only, and when nothing was noted of what was imported."""
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
            # Of a shared store a policy alone says how long it keeps.
            await kept_for(served, 7)
            served.sidecar.retention._prune_at_s = 0.0
            await served.sidecar.retention.forget()
            assert (await observed(served.address)).observation_count == UNTOLD - 1
