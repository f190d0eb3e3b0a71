"""What a sidecar tells of itself while one port of its store does not answer."""

from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.memory.record import MemoryHistory, MemoryState, Quarantine
from sidemirror_server.trace.erasure import JOB_KIND
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from sidemirror_server.work.queue import NewJob
from tests.conformance.memories import memory
from tests.faults.sidecars import channel, running
from tests.faults.stores import Fault, Switch, put_before

IN_A_YEAR_US = 2_000_000_000_000_000
NO_RECOVERIES = pb.Policy(advice=pb.AdvicePolicy(off=[pb.ADVICE_KIND_RECOVERIES]))
ASKED = pb.GetServerInfoRequest(with_findings=True, with_advice_changes=True)


@pytest.mark.parametrize("slow", ["ledger", "journal", "memory_search", "work"])
async def test_one_slow_read_leaves_the_rest(slow: str, tmp_path: Path) -> None:
    """Seen to fail when the reads share one time: the backlog and what is in quarantine were told as none."""
    switch = Switch()
    async with running(tmp_path) as served, channel(served.address) as connection:
        stub: Any = SidecarServiceStub(connection)
        stores = served.sidecar._stores
        await stub.SetPolicy(pb.SetPolicyRequest(policy=NO_RECOVERIES), timeout=60)
        held = memory("m", state=MemoryState.QUARANTINED, quarantine=Quarantine.STEERING)
        await stores.memories.put(DEFAULT_SCOPE, MemoryHistory(held))
        await stores.work.put(DEFAULT_SCOPE, NewJob(JobId("j"), JOB_KIND, b"{}", 3, IN_A_YEAR_US), IN_A_YEAR_US)
        put_before(getattr(stores, slow), switch)
        switch.turn(Fault.HANGS)
        info = await stub.GetServerInfo(ASKED, timeout=60)
        switch.turn(Fault.NONE)
    told = {
        "ledger": not info.spend_unknown,
        "journal": len(info.advice_changes) == 1,
        "memory_search": info.quarantined_count == 1,
        "work": len(info.backlog) == 1,
    }
    assert [port for port, is_told in told.items() if not is_told] == [slow]
