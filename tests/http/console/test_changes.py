"""The screens say since when until when agents were told nothing, and who turned what off."""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.http.chromium import Browser
from tests.http.console.filled import LESSON, TASK
from tests.http.console.looking import go, opened, overflow, shows, violations
from tests.http.sidecars import door
from tests.memory.talk import memories
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread, thinking

pytestmark = pytest.mark.slow("a browser is started")
SHADOW = {"advice__mode": "shadow"}


def changes(server: SidecarThread) -> list[sidecar_pb2.AdviceChange]:
    with grpc.insecure_channel(server.address) as channel:
        asked = sidecar_pb2.GetServerInfoRequest(with_advice_changes=True)
        stub = sidecar_pb2_grpc.SidecarServiceStub(channel)
        return list(stub.GetServerInfo(asked, timeout=TIMEOUT_S).advice_changes)


def silence(server: SidecarThread, lesson_id: str) -> None:
    with grpc.insecure_channel(server.address) as channel:
        policy = sidecar_pb2.Policy(advice=sidecar_pb2.AdvicePolicy(silenced_ids=[lesson_id]))
        stub = sidecar_pb2_grpc.SidecarServiceStub(channel)
        stub.SetPolicy(sidecar_pb2.SetPolicyRequest(policy=policy), timeout=TIMEOUT_S)


def test_since_when_until_when(tmp_path: Path, browser: Browser) -> None:
    with door(tmp_path, SHADOW) as server:
        with thinking(server) as stub, memories(server) as memory:
            result = memory_pb.ReflectionResult(reflection_text=LESSON)
            stored = memory.StoreReflection(memory_pb.StoreReflectionRequest(result=result), timeout=TIMEOUT_S)
            start = pb.StartTurnRequest(turn_id="t", session_id="s", task=TASK, context=pb.ContextWish())
            stub.StartTurn(start, timeout=TIMEOUT_S)
        silence(server, stored.reflection_id)
        page = opened(browser, server)
        go(page, "/turns/t", "and it still is so")
    with door(tmp_path) as server:
        # No turn has begun since: it ended with the sidecar's start.
        assert [one.mode for one in changes(server)] == ["on", "", "shadow"]
        page = opened(browser, server)
        for width, dark in ((360, True), (1600, False)):
            page.looks(width, dark=dark)
            for place, text in (
                ("/turns/t", "one without it"),
                (
                    f"/lessons/{stored.reflection_id}",
                    "silenced by a caller without a name in the policy of the project",
                ),
                ("/now", f"turned off by a caller without a name in the policy of the project: {LESSON[:40]}"),
            ):
                go(page, place, text)
                assert (place, overflow(page)) == (place, 0)
                assert (place, violations(page)) == (place, [])
        go(page, f"/lessons/{stored.reflection_id}", "the mode is shadow from here on")
        shows(page, "the mode is on from here on")
