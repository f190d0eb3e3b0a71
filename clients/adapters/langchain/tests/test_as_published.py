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
from langsmith import traceable, tracing_context
from pydantic import BaseModel
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time, assert_same, on_record, seen_by
from scripted.wire import Call
from sidemirror_langchain import Settings, SidemirrorMiddleware
from tests.test_middleware import agent_of, ask, model, search_payments

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


@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_whoever_reads_a_stream_may_run_another_agent_meanwhile(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str
) -> None:
    """Seen to lose what the stream's agent did behind the other's run: its steps begin in the reader's context."""
    endpoint.script("m", *stories.REPAIRED)
    endpoint.scripts["other"] = lambda _: "Noted."
    middleware = SidemirrorMiddleware(client=client)
    agent, other = (agent_of(endpoint, name, middleware, run_sql) for name in ("m", "other"))
    given, noted = {"messages": [("user", stories.TASK)]}, {"messages": [("user", "Note it.")]}
    if how == "stream":

        def read() -> None:
            for _ in agent.stream(given):
                other.invoke(noted)

        await asyncio.to_thread(read)
    else:
        async for _ in agent.astream(given):
            await other.ainvoke(noted)
    events = sidecar.events(sidecar.turn_of(stories.TASK).turn_id)
    assert_same(on_record(events, ""), seen_by(endpoint.seen["m"]))


@pytest.mark.parametrize("how", ["ainvoke", "invoke"])
async def test_a_function_that_langsmith_traces_may_stand_around_runs(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to have no turn: LangChain calls the function the run's parent."""
    monkeypatch.setenv("LANGSMITH_API_KEY", "x")
    names = [endpoint.script(f"m{number}", *stories.REPAIRED) for number in range(2)]
    with tracing_context(enabled="local"):
        middleware = SidemirrorMiddleware(client=client)

        @traceable
        async def answers() -> list[str]:
            return [await ask(agent_of(endpoint, name, middleware, run_sql), name, how) for name in names]

        assert await answers() == [stories.RIGHT] * 2
    for turn in sidecar.turns(2):
        assert_same(on_record(sidecar.events(turn.turn_id), ""), seen_by(endpoint.seen[turn.task]))


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


class Total(BaseModel):
    """A structured answer."""

    answer: str


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
async def test_a_structured_answer_that_is_wrong_is_revised(endpoint: Endpoint, client: Client, strategy: Any) -> None:
    """Seen to stay where a tool of LangChain's takes it."""
    given = [{"answer": text} for text in (stories.WRONG_TOTAL, stories.RIGHT_TOTAL)]
    said = [[Call("Total", one)] if strategy is ToolStrategy else json.dumps(one) for one in given]
    endpoint.script("m", stories.MISCOUNTED[0], *said)
    middleware = SidemirrorMiddleware(client=client)
    agent = agent_of(endpoint, "m", middleware, search_payments, response_format=strategy(Total))
    out = await agent.ainvoke({"messages": [("user", stories.PAYMENTS_TASK)]})
    assert out["structured_response"] == Total(answer=stories.RIGHT_TOTAL)


def test_a_name_of_an_agent_is_a_text(client: Client) -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match=r"^agent: an instance of str is expected, not 3"):
        SidemirrorMiddleware(agent=wrong, client=client)
