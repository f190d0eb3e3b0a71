"""What agents do that the framework's own documentation shows, and how the capability may be given wrongly."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time, assert_same, on_record, seen_by
from scripted.wire import Call, Hangs
from sidemirror_pydantic_ai import Settings, Sidemirror
from tests.test_capability import agent_of, model

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client


def run_sql(query: str) -> str:
    """Runs SQL."""
    return stories.unmarked_sql(query)


async def test_advice_for_a_failure_that_is_a_text_is_in_the_next_request(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    async def session(name: str) -> str:
        capability = Sidemirror[None](Settings(lessons=False, session_id=name), client=client)
        return (await agent_of(endpoint, name, capability, run_sql).run(stories.TASK)).output

    await assert_in_time(sidecar, endpoint, session)


@pytest.mark.parametrize("given", ["with the agent", "with the run"])
async def test_two_instances_have_one_turn(endpoint: Endpoint, client: Client, sidecar: Sidecar, given: str) -> None:
    """Seen to have two, with the same session."""
    first, second = Sidemirror[None](client=client), Sidemirror[None](client=client)
    with_agent = [first, second] if given == "with the agent" else [first]
    endpoint.script("m", *stories.REPAIRED)
    agent = Agent(model(endpoint, "m"), name="clerk", tools=[run_sql], capabilities=with_agent)
    more: dict[str, Any] = {} if given == "with the agent" else {"capabilities": [second]}
    assert (await agent.run(stories.TASK, **more)).output == stories.RIGHT
    (turn,) = sidecar.turns()
    assert_same(on_record(sidecar.events(turn.turn_id), "clerk"), seen_by(endpoint.seen["m"]))
    endpoint.script("n", stories.RIGHT)
    await agent.run(stories.TASK, model=model(endpoint, "n"), **more)
    assert len(sidecar.turns(2)) == 2, "the next run is watched again"


async def test_a_run_that_is_cancelled_before_its_turn_comes_leaves_none_open(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Seen to leave the turn of a run that waited for another one's end."""
    endpoint.script("m", Hangs(), stories.RIGHT)
    agent = Agent(model(endpoint, "m"), capabilities=[Sidemirror(client=client)], max_concurrency=1)
    first = asyncio.ensure_future(agent.run("first"))
    await asyncio.to_thread(endpoint.wait_for, "m")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(agent.run("second"), 0.2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await agent.run("third")).output == stories.RIGHT
    assert [turn.task for turn in sidecar.turns(2)] == ["first", "third"]


async def test_the_class_is_no_capability(endpoint: Endpoint) -> None:
    wrong: Any = Sidemirror
    agent = Agent(model(endpoint, "m"), capabilities=[wrong])
    with pytest.raises(TypeError, match=r"an instance is expected, which is Sidemirror\(\)"):
        await agent.run(stories.TASK)


class Count(BaseModel):
    """A structured answer."""

    orders: int


async def test_a_structured_answer_is_judged_as_json(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    judged: list[str] = []

    def outcome(answer: str) -> bool:
        judged.append(answer)
        return Count.model_validate_json(answer) == Count(orders=17)

    endpoint.script("m", [Call("final_result", {"orders": 17})])
    capability = Sidemirror[None](Settings(outcome=outcome), client=client)
    agent = Agent(model(endpoint, "m"), output_type=Count, capabilities=[capability])
    assert (await agent.run(stories.TASK)).output == Count(orders=17)
    assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_SUCCESS
    assert judged == ['{"orders":17}']
