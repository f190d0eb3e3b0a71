"""What agents do that LangChain's own documentation shows: failures as texts, handlers of errors, streams."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from pydantic import BaseModel
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time
from scripted.wire import Call
from sidemirror_langchain import Settings, SidemirrorMiddleware
from tests.test_middleware import agent_of, ask, model

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client


def run_sql(query: str) -> str:
    """Runs SQL."""
    return stories.unmarked_sql(query)


async def handled(request: Any, handler: Callable[[Any], Any]) -> Any:
    """Handles what tools raise, as the documentation does: the message has no status of its own."""
    try:
        return await handler(request)
    except ValueError as error:
        said = f"Tool error: Please check your input and try again. ({error})"
        return ToolMessage(said, tool_call_id=request.tool_call["id"])


HANDLER = wrap_tool_call(handled)


@pytest.mark.parametrize("how", ["ainvoke", "invoke"])
async def test_advice_for_a_failure_that_is_a_text_is_in_the_next_request(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str
) -> None:
    middleware = SidemirrorMiddleware(Settings(lessons=False), client=client)

    async def session(name: str) -> str:
        agent = agent_of(endpoint, name, middleware, run_sql)
        return await ask(agent, stories.TASK, how, configurable={"thread_id": name})

    await assert_in_time(sidecar, endpoint, session)


@pytest.mark.parametrize("stands", ["before", "behind"])
async def test_a_handler_before_the_middleware_leaves_the_error_as_it_was(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, stands: str
) -> None:
    def look(query: str) -> str:
        """Looks."""
        raise ValueError(stories.FAILURE)

    endpoint.script("m", [Call("look", {"query": "orders"})], stories.GUESS)
    ours = SidemirrorMiddleware(client=client)
    order = [HANDLER, ours] if stands == "before" else [ours, HANDLER]
    agent = create_agent(model(endpoint, "m"), [StructuredTool.from_function(look)], middleware=order)
    assert await ask(agent, stories.TASK) == stories.GUESS
    (ended,) = [
        one
        for one in sidecar.events(sidecar.turns()[0].turn_id)
        if one.WhichOneof("kind") in ("tool_failed", "tool_returned")
    ]
    if stands == "before":
        assert ended.tool_failed.error == stories.FAILURE
    else:
        assert ended.tool_returned.content.startswith("Tool error: ")


async def left_early(agent: Any, how: str) -> None:
    """A stream that is left at its first part."""
    given = {"messages": [("user", stories.TASK)]}
    if how == "stream":

        def left() -> None:
            for _ in agent.stream(given):
                break

        await asyncio.to_thread(left)
    else:
        parts = agent.astream(given)
        async for _ in parts:
            break
        await parts.aclose()


@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_a_stream_that_is_left_is_no_error(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str
) -> None:
    endpoint.script("m", [stories.GOOD], stories.RIGHT)
    await left_early(agent_of(endpoint, "m", SidemirrorMiddleware(client=client), run_sql), how)
    assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_TIMEOUT


class Count(BaseModel):
    """A structured answer."""

    orders: int


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
async def test_a_structured_answer_is_judged_as_json(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, strategy: Any
) -> None:
    judged: list[str] = []

    def outcome(answer: str) -> bool:
        judged.append(answer)
        return json.loads(answer) == {"orders": 17}

    said = [Call("Count", {"orders": 17})] if strategy is ToolStrategy else '{"orders": 17}'
    endpoint.script("m", said)
    middleware = SidemirrorMiddleware(Settings(outcome=outcome), client=client)
    agent = agent_of(endpoint, "m", middleware, run_sql, response_format=strategy(Count))
    await agent.ainvoke({"messages": [("user", stories.TASK)]})
    assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_SUCCESS
    assert len(judged) == 1


def test_a_name_of_an_agent_is_a_text(client: Client) -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match=r"^agent: an instance of str is expected, not 3"):
        SidemirrorMiddleware(agent=wrong, client=client)
