"""Streams that nobody reads to their end."""

import pytest
from agents import copied, ran
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, kinds
from scripted.wire import Call

from sidemirror.v1 import common_pb2


@pytest.mark.parametrize("way", ["streamText", "agent.stream"])
def test_a_stream_that_is_left_early_lets_the_process_end(endpoint: Endpoint, sidecar: Sidecar, way: str) -> None:
    """Seen to fail, with a process that goes on, when the stream of a turn keeps it alive."""
    endpoint.script("m", [Call("works", {"key": "k"})], "k is there.")
    arguments = (way, endpoint.url, "m", sidecar.address, sidecar.project)
    assert ran(("node", copied("left.mjs"), *arguments), timeout_s=60) == "left\n"
    (turn,) = sidecar.turns()
    assert turn.outcome == common_pb2.TASK_OUTCOME_UNSPECIFIED
    events = sidecar.events(turn.turn_id)
    assert [kind for kind in kinds(events) if kind.startswith("tool")] == ["tool_called", "tool_returned"]
    assert kinds(events)[-1] == "turn_finished"
