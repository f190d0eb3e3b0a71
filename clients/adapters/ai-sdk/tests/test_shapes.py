"""Agents of 20 shapes: what is on record equals what the endpoint saw, event by event."""

import pytest
from conftest import Ask
from scripted import shapes
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, on_record, seen_by

WAYS = ("generateText", "streamText", "agent.generate", "agent.stream")


@pytest.mark.parametrize("number", range(shapes.COUNT))
def test_the_record_equals_what_the_endpoint_saw(endpoint: Endpoint, ask: Ask, sidecar: Sidecar, number: int) -> None:
    shape = shapes.shape(number)
    endpoint.script(shape.model, *shape.answers)
    endpoint.script(shape.helper_model, *shape.helper)
    way = WAYS[(number // 2 % 2) * 2 + shape.streamed]
    tools = ("look_up", "add", "record_of", "flaky")
    ended = ask(way, shape.model, f"Task {number}", *tools, agent="main", helper=shape.helper_model)
    assert ended.get("text") == f"Done with {number}.", ended
    (turn,) = sidecar.turns()
    assert turn.task == f"Task {number}"
    events = sidecar.events(turn.turn_id)
    assert_same(on_record(events, "main"), seen_by(endpoint.seen[shape.model]))
    assert_same(on_record(events, "helper"), seen_by(endpoint.seen.get(shape.helper_model, ())))
