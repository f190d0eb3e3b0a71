"""Agents of 20 shapes: what is on record equals what the endpoint saw, event by event."""

import pytest
from google.adk.tools.agent_tool import AgentTool
from scripted import shapes
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, on_record, seen_by, without_handoff
from scripted.wire import Call
from sidemirror_google_adk import SidemirrorPlugin
from tests.test_plugin import a_key, agent_of, ask

from sidemirror_client import Sidemirror as Client

__all__ = ["a_key"]
HANDOFF = [Call("transfer_to_agent", {"agent_name": "second"})]


def flaky(key: str) -> dict[str, str]:
    """Fails."""
    return {"error": f"no entry for {key}"}


@pytest.mark.parametrize("number", range(shapes.COUNT))
async def test_the_record_equals_what_the_endpoint_saw(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, number: int
) -> None:
    shape = shapes.shape(number)
    # An agent as a tool has its own name, and takes a request.
    asks = [Call("helper", {"request": "Help."})]
    answers = [
        asks if isinstance(one, list) and one[0].name == "delegate" else one for one in shape.handing_over(HANDOFF)
    ]
    endpoint.script(shape.model, *answers)
    endpoint.script(shape.helper_model, *shape.helper)
    endpoint.script(shape.second_model, *shape.second)
    tools = [shapes.look_up, shapes.add, shapes.record_of, flaky]
    helper = AgentTool(agent_of(endpoint, shape.helper_model, *tools, agent="helper"))
    second = agent_of(endpoint, shape.second_model, *tools, agent="second", description="Takes over.")
    agent = agent_of(endpoint, shape.model, *tools, helper, agent="main", sub_agents=[second] if shape.second else [])
    plugin = SidemirrorPlugin(client=client)
    assert await ask(plugin, agent, f"Task {number}", streamed=shape.streamed) == f"Done with {number}."
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    main = on_record(events, "main")
    assert_same(without_handoff(main) if shape.second else main, seen_by(endpoint.seen[shape.model]))
    assert_same(on_record(events, "second"), seen_by(endpoint.seen.get(shape.second_model, ())))
    assert_same(on_record(events, "helper"), seen_by(endpoint.seen.get(shape.helper_model, ())))
