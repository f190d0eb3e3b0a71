"""Who may set a policy: an admin's token, whatever was answered to another caller."""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.wire.access import ACME, EVERYWHERE, bearer, entry, write_access
from tests.wire.calls import TIMEOUT_S, Refusal, refusal_of
from tests.wire.sidecar import sidecar


def test_a_repeated_request_id_asks_for_an_admin_too(tmp_path: Path) -> None:
    agent = entry("acme", ACME, ("acme", "shop"))
    entries = [agent, entry("boss", EVERYWHERE, ("acme", "*"), admin=True)]
    settings = {"access_file": str(write_access(tmp_path / "access.json", entries))}
    policy = pb.Policy(advice=pb.AdvicePolicy(silenced_ids=["a lesson"]))
    request = pb.SetPolicyRequest(
        tenant_id="acme", project_id="shop", policy=policy, level=pb.POLICY_LEVEL_TENANT, request_id="once"
    )
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        stub = SidecarServiceStub(channel)
        made = stub.SetPolicy(request, metadata=bearer(EVERYWHERE), timeout=TIMEOUT_S)
        assert made.stored.set_by == "boss"
        assert stub.SetPolicy(request, metadata=bearer(EVERYWHERE), timeout=TIMEOUT_S) == made
        with pytest.raises(grpc.RpcError) as told:
            stub.SetPolicy(request, metadata=bearer(ACME), timeout=TIMEOUT_S)
        assert refusal_of(told.value) == Refusal(grpc.StatusCode.PERMISSION_DENIED, "SCOPE_NOT_PERMITTED")
