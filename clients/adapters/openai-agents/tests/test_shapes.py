"""Agents of 20 shapes: what is on record equals what the endpoint saw, event by event."""

import json

import pytest
from scripted import shapes
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, on_record, seen_by, without_handoff
from scripted.wire import Call
from sidemirror_openai_agents import SidemirrorRunner
from tests.test_runner import HIDDEN, agent_of, ask

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client import Sidemirror as Client


def flaky(key: str) -> str:
    """Fails."""
    raise ValueError(f"no entry for {key}")


@pytest.mark.parametrize("number", range(shapes.COUNT))
async def test_the_record_equals_what_the_endpoint_saw(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, number: int
) -> None:
    shape = shapes.shape(number)
    endpoint.script(shape.model, *shape.handing_over([Call("transfer_to_second", {})]))
    endpoint.script(shape.helper_model, *shape.helper)
    endpoint.script(shape.second_model, *shape.second)
    runner = SidemirrorRunner(client=client)
    tools = [shapes.look_up, shapes.add, shapes.record_of, flaky]
    helper = agent_of(endpoint, shape.helper_model, *tools, agent="helper")

    async def delegate(question: str) -> str:
        """Asks the helper."""
        text: str = (await runner.run(helper, question)).final_output
        return text

    second = agent_of(endpoint, shape.second_model, *tools, agent="second")
    handoffs = [second] if shape.second else []
    agent = agent_of(endpoint, shape.model, *tools, delegate, agent="main", handoffs=handoffs)
    how = "run_streamed" if shape.streamed else "run"
    assert await ask(runner, agent, f"Task {number}", how) == f"Done with {number}."
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    main = on_record(events, "main")
    assert_same(without_handoff(main) if shape.second else main, seen_by(endpoint.seen[shape.model]), HIDDEN)
    assert_same(on_record(events, "second"), seen_by(endpoint.seen.get(shape.second_model, ())), HIDDEN)
    assert_same(on_record(events, "helper"), seen_by(endpoint.seen.get(shape.helper_model, ())), HIDDEN)
    called = [event.tool_called for event in events if event.HasField("tool_called")]
    keys = {call.call_id: json.loads(call.arguments)["key"] for call in called if call.name == "flaky"}
    errors = {
        one.call_id: one.error if isinstance(one, pb.ToolFailed) else one.content
        for event in events
        for one in (event.tool_failed, event.tool_returned)
        if one.call_id in keys
    }
    assert errors == {call_id: f"no entry for {key}" for call_id, key in keys.items()}
