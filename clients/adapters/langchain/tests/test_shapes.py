"""Agents of 20 shapes: what is on record equals what the endpoint saw, event by event."""

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from scripted import shapes
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, on_record, seen_by
from sidemirror_langchain import SidemirrorMiddleware
from tests.test_middleware import WAYS, agent_of, ask

from sidemirror_client import Sidemirror as Client


def flaky(key: str) -> str:
    """Fails."""
    raise ValueError(f"no entry for {key}")


@pytest.mark.parametrize("number", range(shapes.COUNT))
async def test_the_record_equals_what_the_endpoint_saw(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, number: int
) -> None:
    shape = shapes.shape(number)
    endpoint.script(shape.model, *shape.handing_over("The second goes on."))
    endpoint.script(shape.helper_model, *shape.helper)
    endpoint.script(shape.second_model, *shape.second)
    tools = [shapes.look_up, shapes.add, shapes.record_of, flaky]
    helper = agent_of(endpoint, shape.helper_model, SidemirrorMiddleware(agent="helper", client=client), *tools)

    def delegate(question: str) -> str:
        """Asks the helper."""
        text: str = helper.invoke({"messages": [("user", question)]})["messages"][-1].text
        return text

    agent = agent_of(endpoint, shape.model, SidemirrorMiddleware(agent="main", client=client), *tools, delegate)
    if shape.second:
        second = agent_of(endpoint, shape.second_model, SidemirrorMiddleware(agent="second", client=client), *tools)
        graph = StateGraph(MessagesState)
        graph.add_sequence([("main", agent), ("second", second)])
        graph.add_edge(START, "main")
        agent = graph.compile()
    how = WAYS[number % 4] if shape.streamed else WAYS[number % 4 // 2]
    assert await ask(agent, f"Task {number}", how) == f"Done with {number}."
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    assert_same(on_record(events, "main"), seen_by(endpoint.seen[shape.model]))
    assert_same(on_record(events, "second"), seen_by(endpoint.seen.get(shape.second_model, ())))
    assert_same(on_record(events, "helper"), seen_by(endpoint.seen.get(shape.helper_model, ())))
