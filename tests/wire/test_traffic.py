"""GetServerInfo tells who sends most: by token, project and session, and each token of what it covers alone."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.access import ACME, EVERYWHERE, INTRUDER, bearer, entry, write_access
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar

EVENT = pb.TurnEvent(user_message=pb.UserMessage(text="and now?"))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[SidecarThread]:
    entries = [entry("acme", ACME), entry("intruder", INTRUDER), entry("platform", EVERYWHERE, ("*", "*"))]
    given = {"access_file": str(write_access(tmp_path / "access.json", entries))}
    with sidecar(tmp_path, settings=given) as server:
        yield server


def traffic(channel: grpc.Channel, token: str, tenant: str) -> sidecar_pb2.Traffic:
    request = sidecar_pb2.GetServerInfoRequest(tenant_id=tenant)
    return SidecarServiceStub(channel).GetServerInfo(request, timeout=PATIENCE_S, metadata=bearer(token)).traffic


def test_who_sends_most_is_told_to_whoever_may_see_it(guarded: SidecarThread) -> None:
    """Seen to fail when messages of a stream after the first are not counted, and when a token sees every sender."""
    with grpc.insecure_channel(guarded.address) as channel:
        stub = ThinkingServiceStub(channel)
        start = pb.TurnEvent(turn_started=pb.TurnStarted(session_id="loud one", task="t"))
        first = pb.RunTurnRequest(tenant_id="acme", project_id="shop", events=[start])
        rest = [pb.RunTurnRequest(events=[EVENT, EVENT]) for _ in range(20)]
        for _ in stub.RunTurn(iter([first, *rest]), timeout=PATIENCE_S, metadata=bearer(ACME)):
            pass
        turn = pb.StartTurnRequest(tenant_id="intruder", session_id="their own", task="t")
        stub.StartTurn(turn, timeout=PATIENCE_S, metadata=bearer(INTRUDER))

        seen = traffic(channel, EVERYWHERE, "acme")
        loudest = seen.callers[0]
        assert (loudest.token, loudest.tenant_id, loudest.project_id) == ("acme", "acme", "shop")
        assert (loudest.session_id, loudest.sent_count) == ("", 21)
        assert {one.token for one in seen.callers} == {"acme", "intruder", "platform"}
        assert {one.token: one.sent_count - one.read_count for one in seen.callers} == {
            "acme": 21,
            "intruder": 1,
            "platform": 0,
        }, "who asks for this only reads"
        assert seen.message_count == 23
        assert [(one.session_id, one.sent_count) for one in seen.sessions] == [("loud one", 40)]
        assert 0 < seen.period.ToMicroseconds() < 120_000_000

        of_intruder = traffic(channel, INTRUDER, "intruder")
        assert {one.tenant_id for one in of_intruder.callers} == {"intruder"}
        assert (list(of_intruder.sessions), of_intruder.HasField("message_count")) == ([], False)


def test_the_answer_has_the_servers_time(guarded: SidecarThread) -> None:
    from sidemirror_server.vocabulary.clock import SystemClock

    with grpc.insecure_channel(guarded.address) as channel:
        request = sidecar_pb2.GetServerInfoRequest(tenant_id="acme")
        info = SidecarServiceStub(channel).GetServerInfo(request, timeout=PATIENCE_S, metadata=bearer(ACME))
    assert abs(info.server_time.ToMicroseconds() - SystemClock().now_us()) < 60_000_000


def test_whose_calls_are_refused_at_a_limit_is_told(tmp_path: Path) -> None:
    """To whoever may see every tenant. Seen to fail when nothing counts them."""
    entries = [entry("acme", ACME), entry("platform", EVERYWHERE, ("*", "*"))]
    access = str(write_access(tmp_path / "access.json", entries))
    limits = {"access_file": access, "limits__requests_per_second": "1"}
    with sidecar(tmp_path, settings=limits) as server, grpc.insecure_channel(server.address) as channel:
        refused = 0
        for _ in range(20):
            try:
                traffic(channel, ACME, "acme")
            except grpc.RpcError:
                refused += 1
        told = traffic(channel, EVERYWHERE, "another").refused
    assert refused
    assert [(one.token, one.refused_count) for one in told] == [("acme", refused)]
