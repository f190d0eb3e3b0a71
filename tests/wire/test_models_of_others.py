"""What a token is told of models: nothing of when and how often other tenants asked them."""

from pathlib import Path

import grpc

from sidemirror.v1 import critique_pb2, critique_pb2_grpc, sidecar_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.wire.access import ACME, EVERYWHERE, INTRUDER, bearer, entry, write_access
from tests.wire.sidecar import PATIENCE_S, sidecar


def test_another_tenants_failures_are_told_to_nobody_else(tmp_path: Path) -> None:
    """Nor to `doctor`, whose findings are made of the same. Seen to fail with one outage for all tenants."""
    entries = [entry("acme", ACME), entry("globex", INTRUDER, ("globex", "*")), entry("all", EVERYWHERE, ("*", "*"))]
    given = {
        "access_file": str(write_access(tmp_path / "access.json", entries)),
        # Nobody listens there.
        "model__provider": "openai_compatible",
        "model__name": "m",
        "model__base_url": "http://127.0.0.1:1/v1",
    }
    with sidecar(tmp_path, settings=given) as server, grpc.insecure_channel(server.address) as channel:
        critiques, info = critique_pb2_grpc.CritiqueServiceStub(channel), SidecarServiceStub(channel)
        for _ in range(2):
            asked = critique_pb2.CritiqueRequest(tenant_id="globex", user_message="Q", response="R" * 400)
            critiques.Critique(asked, timeout=PATIENCE_S, metadata=bearer(INTRUDER))
        told = {}
        for tenant, token in (("acme", ACME), ("globex", INTRUDER), ("acme", EVERYWHERE)):
            request = sidecar_pb2.GetServerInfoRequest(tenant_id=tenant, with_findings=True)
            told[token] = info.GetServerInfo(request, timeout=PATIENCE_S, metadata=bearer(token))
    assert {token: [one.failed_count for one in got.model_outages] for token, got in told.items()} == {
        ACME: [],
        INTRUDER: [2],
        EVERYWHERE: [2],
    }
    assert [one for one in told[ACME].findings if one.subject == "model"] == []
