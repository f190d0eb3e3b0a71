"""What repaired a failure in one customer's task is told in another customer's."""

from pathlib import Path

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from tests.faults.sidecars import Stub, channel, running
from tests.memory.customers import CUSTOMERS, SIGNATURE, everything_kept, lived_with_all


async def test_one_failure_in_six_customers_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when the customer's name was part of the failure: each of them was another one."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with running(tmp_path) as served:
        await lived_with_all(served.address)
        kept = (await everything_kept(served.address)).lower()
        async with channel(served.address) as connection:
            stub: Stub = ReflectiveMemoryServiceStub(connection)
            request = pb.FindRecoveriesRequest(
                tool="get_invoice", error_text="invoice not found: Hooli", arguments='{"customer": "Hooli"}'
            )
            found = await stub.FindRecoveries(request, timeout=60)
    assert found.signature == SIGNATURE
    assert "after `list_customers`" in found.block.text
    assert [name for name in CUSTOMERS if name.split()[0].lower() in kept] == []
