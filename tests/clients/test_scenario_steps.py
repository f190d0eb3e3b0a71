"""The scenario leaves no RPC of the contract out, and no kind of call."""

import json
from typing import Any

import pytest
from google.protobuf.descriptor import MethodDescriptor

from sidemirror_client.client import SERVICES
from tests.clients.harness import ROOT, SCENARIO

STEPS: list[dict[str, Any]] = json.loads((SCENARIO / "scenario.json").read_text())
METHODS = {f"{method.containing_service.name}/{method.name}": method for each in SERVICES for method in each.methods}
# The turn helper speaks it.
HELPED = "ThinkingService/RunTurn"
# A report is dead after 20 tries, which take an hour and more. Here is seen that one which is not dead is refused.
REFUSED = "GoalReflectionService/RetryGoalReport"


def steps_of(path: str) -> list[dict[str, Any]]:
    return [step for step in STEPS if step.get("call") == path]


def says_something(step: dict[str, Any], method: MethodDescriptor) -> bool:
    """The step is about what is in the answer, where there can be something in it."""
    expected = step.get("expect_stream" if method.server_streaming else "expect")
    return bool(expected) or (expected == {} and not method.output_type.fields)


def test_every_service_of_the_contract_is_walked() -> None:
    files = {path.stem for path in (ROOT / "protos/sidemirror/v1").glob("*.proto") if "service " in path.read_text()}
    assert {each.file.name.rpartition("/")[2].removesuffix(".proto") for each in SERVICES} == files


@pytest.mark.parametrize("path", METHODS)
def test_every_rpc_is_in_a_step(path: str) -> None:
    """In one, and with an answer that is checked."""
    if path == HELPED:
        assert {step["turn"] for step in STEPS if "turn" in step} >= {"begin", "report", "await", "finish", "summary"}
    elif path == REFUSED:
        assert [step["error"]["reason"] for step in steps_of(path)] == ["WRONG_STATE"]
    else:
        assert any(says_something(step, METHODS[path]) for step in steps_of(path))


def test_nothing_is_called_that_is_not_there() -> None:
    assert {step["call"] for step in STEPS if "call" in step} <= set(METHODS)


@pytest.mark.parametrize("streams", [(False, False), (False, True), (True, False)])
def test_every_kind_of_call_fails_once(streams: tuple[bool, bool]) -> None:
    """With the reason, and with the field that is wrong."""
    kind = [
        step["error"]
        for path, method in METHODS.items()
        for step in steps_of(path)
        if "error" in step and (method.client_streaming, method.server_streaming) == streams
    ]
    assert any(error.get("reason") and error.get("fields") for error in kind)


def test_deadlines_cancelling_and_a_sidecar_that_is_killed() -> None:
    assert {step["error"]["code"] for step in STEPS if "deadline_ms" in step} == {"DEADLINE_EXCEEDED"}
    assert {step["call"] for step in STEPS if "cancel_after" in step} >= {
        "ThinkingService/WatchTurns",
        "ReflectiveMemoryService/Dream",
    }
    assert {step["server"] for step in STEPS if "server" in step} == {"kill", "start", "pause", "continue", "stop"}
    assert any(step["connect"]["address"].startswith("unix:") for step in STEPS if "connect" in step)
