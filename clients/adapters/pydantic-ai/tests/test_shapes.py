"""Agents of 20 shapes: what is on record equals what the endpoint saw, event by event."""

from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from scripted import shapes
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, on_record, seen_by
from sidemirror_pydantic_ai import Sidemirror
from tests.test_capability import drained, model

from sidemirror_client import Sidemirror as Client


def flaky(key: str) -> str:
    """Fails."""
    raise ModelRetry(f"no entry for {key}")


@pytest.mark.parametrize("number", range(shapes.COUNT))
async def test_the_record_equals_what_the_endpoint_saw(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, number: int
) -> None:
    shape = shapes.shape(number)
    endpoint.script(shape.model, *shape.answers)
    endpoint.script(shape.helper_model, *shape.helper)
    capability = Sidemirror[None](client=client)
    tools: list[Any] = [shapes.look_up, shapes.add, shapes.record_of, flaky]
    helper = Agent(
        model(endpoint, shape.helper_model), name="helper", tools=tools, retries=9, capabilities=[capability]
    )

    async def delegate(question: str) -> str:
        """Asks the helper."""
        return (await helper.run(question)).output

    agent = Agent(
        model(endpoint, shape.model), name="main", tools=[*tools, delegate], retries=9, capabilities=[capability]
    )
    handler = drained if shape.streamed else None
    result = await agent.run(f"Task {number}", event_stream_handler=handler)
    assert result.output == f"Done with {number}."
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    assert_same(on_record(events, "main"), seen_by(endpoint.seen[shape.model]))
    assert_same(on_record(events, "helper"), seen_by(endpoint.seen.get(shape.helper_model, ())))
