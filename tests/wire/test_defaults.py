"""What sessions start with by an operator's settings, and what they keep of their first turn."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.calls import MEDIUM, TIMEOUT_S, called, failed
from tests.wire.sidecar import sidecar, thinking

LEVELS = {"low": pb.THINK_LEVEL_LOW, "high": pb.THINK_LEVEL_HIGH}
OFF, GATED, ALWAYS = (
    common_pb2.CRITIQUE_MODE_OFF, common_pb2.CRITIQUE_MODE_GATED, common_pb2.CRITIQUE_MODE_ALWAYS,
)  # fmt: skip


def plan_of(stub: ThinkingServiceStub, session_id: str, **more: Any) -> pb.TurnPlan:
    plan = stub.StartTurn(pb.StartTurnRequest(session_id=session_id, **more), timeout=TIMEOUT_S).plan
    stub.FinishTurn(pb.FinishTurnRequest(turn_id=plan.turn_id), timeout=TIMEOUT_S)
    return plan


def shown(plan: pb.TurnPlan) -> tuple[int, int]:
    return plan.config.level, plan.critique_mode


def test_a_session_keeps_what_its_first_turn_says(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        assert shown(plan_of(stub, "s", config=MEDIUM, critique_mode=GATED)) == (pb.THINK_LEVEL_MEDIUM, GATED)
        assert shown(plan_of(stub, "s")) == (pb.THINK_LEVEL_MEDIUM, GATED)
        high = pb.ThinkingConfig(level=pb.THINK_LEVEL_HIGH)
        assert shown(plan_of(stub, "s", config=high, critique_mode=OFF)) == (pb.THINK_LEVEL_HIGH, OFF)
        # A later turn says it for itself alone.
        assert shown(plan_of(stub, "s")) == (pb.THINK_LEVEL_MEDIUM, GATED)
    with sidecar(tmp_path) as server, thinking(server) as stub:
        assert shown(plan_of(stub, "s")) == (pb.THINK_LEVEL_MEDIUM, GATED)


def test_a_session_that_was_created_keeps_what_it_was_told(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        stub.CreateSession(pb.CreateSessionRequest(session_id="s", config=MEDIUM), timeout=TIMEOUT_S)
        low = pb.ThinkingConfig(level=pb.THINK_LEVEL_LOW)
        assert plan_of(stub, "s", config=low).config.level == pb.THINK_LEVEL_LOW
        assert plan_of(stub, "s").config.level == pb.THINK_LEVEL_MEDIUM


@pytest.mark.parametrize("level", ["low", "high"])
def test_the_operators_defaults(level: str, tmp_path: Path) -> None:
    settings = {"defaults__level": level, "defaults__critique_mode": "always", "defaults__context": "true"}
    with sidecar(tmp_path, settings=settings) as server, thinking(server) as stub:
        plan = plan_of(stub, "s")
        assert shown(plan) == (LEVELS[level], ALWAYS)
        assert plan.HasField("context")
        made = stub.CreateSession(pb.CreateSessionRequest(session_id="made"), timeout=TIMEOUT_S).session
        assert made.config.level == LEVELS[level]
        assert shown(plan_of(stub, "made")) == (LEVELS[level], ALWAYS)
        off = pb.ThinkingConfig(level=pb.THINK_LEVEL_OFF)
        assert shown(plan_of(stub, "quiet", config=off, critique_mode=OFF)) == (pb.THINK_LEVEL_OFF, OFF)
        assert shown(plan_of(stub, "quiet")) == (pb.THINK_LEVEL_OFF, OFF)
        reset = pb.UpdateSessionRequest(session_id="quiet")
        reset.update_mask.paths.append("config.level")
        assert stub.UpdateSession(reset, timeout=TIMEOUT_S).session.config.level == LEVELS[level]
        with grpc.insecure_channel(server.address) as channel:
            info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)
        assert info.default_config.level == LEVELS[level]


def test_without_defaults_a_turn_brings_no_context(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        assert not plan_of(stub, "s").HasField("context")


def test_a_failure_of_the_last_turn_is_what_a_reflection_is_about(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        first = stub.StartTurn(pb.StartTurnRequest(session_id="s", config=MEDIUM), timeout=TIMEOUT_S).plan
        events = [called("sql", "SELECT 1 FROM users", "c"), failed("no such table: users", "c")]
        stub.ReportEvents(pb.ReportEventsRequest(turn_id=first.turn_id, events=events), timeout=TIMEOUT_S)
        stub.FinishTurn(pb.FinishTurnRequest(turn_id=first.turn_id), timeout=TIMEOUT_S)
        second = stub.StartTurn(pb.StartTurnRequest(session_id="s"), timeout=TIMEOUT_S).plan
        asked = stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=second.turn_id), timeout=TIMEOUT_S)
        assert asked.reason == pb.REFLECTION_REASON_TOOL_ERROR
        result = stub.Reflect(pb.ReflectRequest(turn_id=second.turn_id), timeout=TIMEOUT_S).result
        assert result.status == common_pb2.RESULT_STATUS_OK
        assert result.reflection == (
            "The failure that counts is `sql`: its error says “no such table: users”, a not found failure."
        )
        again = stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=second.turn_id), timeout=TIMEOUT_S)
        assert not again.should_reflect
