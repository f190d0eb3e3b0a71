"""Reflect on messages and tool results that the call brings, without a turn."""

from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.models.answers import MidTurnAnswer
from tests.critique.cast import Cast
from tests.wire.calls import TIMEOUT_S, bad_field, refused
from tests.wire.sidecar import sidecar, thinking

CANARY = "order-CANARY-4711"
USER = common_pb2.Message(role=common_pb2.MESSAGE_ROLE_USER, content=f"Refund {CANARY}, please.")
FAILED = common_pb2.ToolResult(name="get_order", error="unknown column 'dash'")
ANSWER = MidTurnAnswer(reflection="The id is wrong.", suggested_action="List the orders.", confidence=0.8)


def request(**fields: Any) -> pb.ReflectRequest:
    return pb.ReflectRequest(messages=[USER], tool_results=[FAILED], **fields)


def test_the_rules_name_what_failed_and_nothing_is_kept(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        answer = stub.Reflect(request(request_id="r"), timeout=TIMEOUT_S)
        assert answer.result.status == common_pb2.RESULT_STATUS_OK
        assert "get_order" in answer.result.reflection
        assert "unknown column" in answer.result.reflection
        assert answer.result.origin == common_pb2.ORIGIN_TOOL
        assert (answer.directive_id, list(answer.result.cited_event_ids)) == ("", [])
        assert answer.budget_left.reflections == 3
        assert not stub.ListTurns(pb.ListTurnsRequest(), timeout=TIMEOUT_S).turns
        assert not stub.ListSessions(pb.ListSessionsRequest(), timeout=TIMEOUT_S).sessions
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert kept
    assert CANARY.encode() not in kept
    assert b"get_order" not in kept


def test_a_model_gets_what_the_call_brings(tmp_path: Path) -> None:
    cast = Cast(mid_turn_reflection=ANSWER)
    budget = pb.TurnBudget(max_tokens=1_000, max_usd=1.0, time_limit={"seconds": 60})
    with sidecar(tmp_path, model=cast) as server, thinking(server) as stub:
        answer = stub.Reflect(request(budget=budget, request_id="r"), timeout=TIMEOUT_S)
        assert (answer.result.reflection, answer.result.suggested_action) == (ANSWER.reflection, "List the orders.")
        assert (answer.budget_left.tokens, answer.budget_left.usd) == (880, 0.75)
        assert 0 < answer.budget_left.time.seconds < 60
        (asked,) = cast.asked
        assert CANARY in asked.prompt
        assert FAILED.error in asked.prompt
        # No answer is kept for the same request.
        stub.Reflect(request(budget=budget, request_id="r"), timeout=TIMEOUT_S)
        assert len(cast.asked) == 2


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        ({"max_reflections": 0}, common_pb2.RESULT_STATUS_SKIPPED_BUDGET),
        ({"max_tokens": 0}, common_pb2.RESULT_STATUS_SKIPPED_BUDGET),
        ({"max_usd": 0}, common_pb2.RESULT_STATUS_SKIPPED_BUDGET),
        ({"time_limit": {}}, common_pb2.RESULT_STATUS_SKIPPED_DEADLINE),
    ],
)
def test_a_budget_of_its_own(budget: dict[str, Any], status: int, tmp_path: Path) -> None:
    cast = Cast(mid_turn_reflection=ANSWER)
    with sidecar(tmp_path, model=cast) as server, thinking(server) as stub:
        answer = stub.Reflect(request(budget=pb.TurnBudget(**budget)), timeout=TIMEOUT_S)
        assert (answer.result.status, cast.asked) == (status, [])
        assert answer.result.reflection in ("[budget exhausted]", "[deadline expired]")


def test_what_is_refused(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        assert refused(stub.Reflect, pb.ReflectRequest()) == bad_field("messages")
        plan = stub.StartTurn(pb.StartTurnRequest(user_message="Hello"), timeout=TIMEOUT_S).plan
        both = request(turn_id=plan.turn_id, budget=pb.TurnBudget())
        assert refused(stub.Reflect, both) == bad_field("budget")
        long = pb.ReflectRequest(messages=[USER] * 101)
        assert refused(stub.Reflect, long) == bad_field("messages")
