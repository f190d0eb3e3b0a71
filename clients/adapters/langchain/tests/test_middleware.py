"""The middleware with the real framework and a scripted endpoint that speaks OpenAI's Chat Completions."""

import asyncio
import inspect
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from langsmith import tracing_context
from pydantic import BaseModel
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, is_prefix, kinds, on_record, seen_by
from scripted.wire import Answer, Call, Fails, Hangs
from sidemirror_langchain import Settings, SidemirrorMiddleware

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client
from sidemirror_client.background import BACKGROUND, FORKED


def model(endpoint: Endpoint, name: str, **more: Any) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=f"{endpoint.url}/v1", api_key="x", stream_usage=True, **more)


def tool(function: Callable[..., Any]) -> BaseTool:
    """A tool whose failures the model is told of."""

    def told(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except ValueError as error:
            raise ToolException(str(error)) from error

    made = StructuredTool.from_function(function, handle_tool_error=True)
    made.func = told
    return made


def run_sql(query: str) -> str:
    """Runs SQL."""
    return stories.sql(query)


def search_payments(text: str) -> str:
    """Finds payments."""
    return stories.PAYMENTS


def agent_of(endpoint: Endpoint, name: str, middleware: SidemirrorMiddleware, *tools: Any, **more: Any) -> Any:
    made = [tool(one) if callable(one) and not isinstance(one, BaseTool) else one for one in tools]
    after = more.pop("after", ())
    return create_agent(
        model(endpoint, name), made, system_prompt="You are a clerk.", middleware=[middleware, *after], **more
    )


async def ask(agent: Any, task: str, how: str = "ainvoke", **config: Any) -> str:
    """The agent's answer, by one of its four ways."""
    given = {"messages": [("user", task)]}
    if how == "ainvoke":
        out = await agent.ainvoke(given, config)
    elif how == "invoke":
        out = await asyncio.to_thread(agent.invoke, given, config)
    elif how == "astream":
        out = [one async for one in agent.astream(given, config, stream_mode=["messages", "values"])][-1][1]
    else:
        out = await asyncio.to_thread(
            lambda: list(agent.stream(given, config, stream_mode=["messages", "values"]))[-1][1]
        )
    text: str = out["messages"][-1].text
    return text


WAYS = ("ainvoke", "invoke", "astream", "stream")


@pytest.mark.parametrize("how", WAYS)
async def test_advice_stands_behind_the_failing_calls_result(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str
) -> None:
    endpoint.script("m", [stories.BAD], [stories.GOOD], stories.RIGHT)
    agent = agent_of(endpoint, "m", SidemirrorMiddleware(client=client), run_sql)
    assert await ask(agent, stories.TASK, how) == stories.RIGHT
    first, second, third = endpoint.seen["m"]
    assert is_prefix(first, second)
    assert is_prefix(second, third)
    *_, failure, advice = second.request.messages
    assert (failure["role"], failure["content"], advice["role"]) == ("tool", stories.FAILURE, "user")
    assert advice["content"].startswith("[reflection] ")
    (turn,) = sidecar.turns()
    assert (turn.task, turn.outcome) == (stories.TASK, common_pb2.TASK_OUTCOME_UNSPECIFIED)
    assert kinds(sidecar.events(turn.turn_id))[-2:] == ["response_drafted", "turn_finished"]


async def test_the_sixth_session_is_right_because_of_the_recovery(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Lessons are off, so that nothing else can have told it."""
    settings = Settings(lessons=False, outcome=stories.session_outcome)
    middleware = SidemirrorMiddleware(settings, client=client)

    async def session(number: int) -> str:
        agent = agent_of(endpoint, f"m{number}", middleware, run_sql)
        return await ask(agent, stories.TASK, configurable={"thread_id": f"s{number}"})

    for number in range(stories.SESSIONS):
        endpoint.script(f"m{number}", *stories.REPAIRED)
        assert await session(number) == stories.RIGHT
        sidecar.wait_for_observations(number + 1)
    # One in ten is held back from what is told.
    for number in range(stories.SESSIONS, stories.SESSIONS + 10):
        endpoint.scripts[f"m{number}"] = stories.listener
        answer = await session(number)
        told = stories.ADVICE in endpoint.seen[f"m{number}"][1].request.text
        assert answer == (stories.RIGHT if told else stories.GUESS)
        if told:
            break
    else:
        pytest.fail("it was never told")
    turn = sidecar.turns(number + 1)[-1]
    assert (turn.outcome, turn.session_id) == (common_pb2.TASK_OUTCOME_SUCCESS, f"s{number}")


async def test_lessons_stand_behind_the_first_message(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    endpoint.script("m", *stories.REPAIRED)
    middleware = SidemirrorMiddleware(Settings(outcome=stories.session_outcome, goal_id="count"), client=client)
    await ask(agent_of(endpoint, "m", middleware, run_sql), stories.TASK)
    sidecar.wait_for_lessons(stories.TASK)
    endpoint.script("n", stories.RIGHT)
    await ask(agent_of(endpoint, "n", middleware, run_sql), stories.TASK)
    (first,) = endpoint.seen["n"]
    prompt, lessons = first.request.messages
    assert (prompt["content"], lessons["role"]) == (stories.TASK, "user")
    assert "orders" in lessons["content"]
    assert first.request.system == endpoint.seen["m"][0].request.system


@pytest.mark.parametrize("how", WAYS)
async def test_a_wrong_answer_is_revised_once(endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", SidemirrorMiddleware(client=client), search_payments)
    assert await ask(agent, stories.PAYMENTS_TASK, how) == stories.RIGHT_TOTAL
    *_, wrong, revised = endpoint.seen["m"]
    assert len(endpoint.seen["m"]) == 3
    assert is_prefix(wrong, revised)
    assert "64.75" in revised.request.messages[-1]["content"]
    drafted = sidecar.events(sidecar.turns()[0].turn_id)[-2]
    assert drafted.response_drafted.text == stories.RIGHT_TOTAL


@pytest.mark.parametrize("how", WAYS)
async def test_the_answer_stands_where_the_revision_fails(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to end the run, which had an answer."""
    endpoint.script("m", *stories.MISCOUNTED[:2], Fails(400))
    middleware = SidemirrorMiddleware(Settings(revisions=2), client=client)
    agent = agent_of(endpoint, "m", middleware, search_payments)
    assert await ask(agent, stories.PAYMENTS_TASK, how) == stories.WRONG_TOTAL
    assert len(endpoint.seen["m"]) == 3, "it was sent back"
    warned = [one.getMessage() for one in caplog.records if one.name == "sidemirror_client"]
    assert ["has failed" in one for one in warned] == [True]
    (turn,) = sidecar.turns()
    assert turn.outcome == common_pb2.TASK_OUTCOME_UNSPECIFIED
    assert sidecar.events(turn.turn_id)[-2].response_drafted.text == stories.WRONG_TOTAL


async def test_a_run_is_handed_to_no_more_threads_than_without_it(endpoint: Endpoint, client: Client) -> None:
    """The framework's wrapper of hooks does so, unless LangSmith traces the run."""

    async def threads(name: str, *middleware: SidemirrorMiddleware) -> int:
        handed = 0

        class Counted(ThreadPoolExecutor):
            def submit(self, *given: Any, **named: Any) -> Any:
                nonlocal handed
                handed += 1
                return super().submit(*given, **named)

        asyncio.get_running_loop().set_default_executor(Counted())
        endpoint.script(name, [stories.GOOD], stories.RIGHT)
        await ask(create_agent(model(endpoint, name), [tool(run_sql)], middleware=middleware), stories.TASK)
        return handed

    await threads("once")
    assert await threads("with", SidemirrorMiddleware(client=client)) == await threads("without")


def test_where_langsmith_traces_the_hooks_are_as_it_takes_them(client: Client) -> None:
    """What it traces ends where the hook ends only for a coroutine function."""
    with tracing_context(enabled=True):
        traced = SidemirrorMiddleware(client=client)
    assert inspect.iscoroutinefunction(traced.awrap_model_call)
    assert inspect.iscoroutinefunction(traced.awrap_tool_call)


class TestEndings:
    """The outcome is on record however a run ends."""

    @pytest.mark.parametrize("how", WAYS)
    async def test_a_tool_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str) -> None:
        endpoint.script("m", [Call("broken", {})])

        def broken() -> str:
            """Breaks."""
            raise RuntimeError("disk on fire")

        with pytest.raises(RuntimeError, match="disk on fire"):
            await ask(agent_of(endpoint, "m", SidemirrorMiddleware(client=client), broken), "Try it.", how)
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_ERROR
        assert sidecar.events(turn.turn_id)[-2].tool_failed.error == "disk on fire"

    async def test_the_model_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        endpoint.script("m", Fails(400))
        with pytest.raises(Exception, match="400"):
            await ask(agent_of(endpoint, "m", SidemirrorMiddleware(client=client)), "Try it.")
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_ERROR

    async def test_it_takes_too_many_steps(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        """What raises is the loop itself, which no middleware sees."""
        endpoint.scripts["m"] = lambda _: [stories.LOOK]
        agent = agent_of(endpoint, "m", SidemirrorMiddleware(client=client), run_sql)
        with pytest.raises(GraphRecursionError):
            await ask(agent, stories.TASK, recursion_limit=7)
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_ERROR

    @pytest.mark.parametrize("ending", ["cancelled", "timeout"])
    async def test_there_is_no_more_time(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar, ending: str
    ) -> None:
        endpoint.script("m", Hangs())
        work = ask(agent_of(endpoint, "m", SidemirrorMiddleware(client=client)), "Try it.")
        if ending == "timeout":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(work, 1.0)
        else:
            task = asyncio.ensure_future(work)
            await asyncio.to_thread(endpoint.wait_for, "m")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_TIMEOUT


async def test_an_interrupted_run_is_taken_up_in_its_session(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """By another middleware, as in another process."""
    endpoint.script("m", [stories.GOOD], stories.RIGHT)
    config = {"configurable": {"thread_id": "thread-7"}}
    saver = InMemorySaver()
    made = [
        agent_of(
            endpoint, "m", SidemirrorMiddleware(client=client), run_sql, checkpointer=saver,
            after=[HumanInTheLoopMiddleware({"run_sql": True})],
        )
        for _ in range(2)
    ]  # fmt: skip
    assert "__interrupt__" in await made[0].ainvoke({"messages": [("user", stories.TASK)]}, config)
    out = await made[1].ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert out["messages"][-1].text == stories.RIGHT
    before, after = sidecar.turns(2)
    assert before.session_id == after.session_id == "thread-7"
    assert before.task == after.task == stories.TASK
    assert "response_drafted" not in kinds(sidecar.events(before.turn_id))
    ends = kinds(sidecar.events(after.turn_id))
    assert ends[1:3] == ["tool_called", "tool_returned"]
    assert ends[-2:] == ["response_drafted", "turn_finished"]


async def test_a_run_that_is_resumed_behind_advice_has_the_users_task(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Seen to have the advice for its task when that is the last message from a user."""
    endpoint.script("m", [stories.BAD], [stories.GOOD], stories.RIGHT)
    made = agent_of(
        endpoint, "m", SidemirrorMiddleware(client=client), run_sql, checkpointer=InMemorySaver(),
        after=[HumanInTheLoopMiddleware({"run_sql": True})],
    )  # fmt: skip
    config, approved = {"configurable": {"thread_id": "thread-8"}}, Command(resume={"decisions": [{"type": "approve"}]})
    await made.ainvoke({"messages": [("user", stories.TASK)]}, config)
    advised = await made.ainvoke(approved, config)
    assert advised["messages"][-2].name == "sidemirror"
    assert (await made.ainvoke(approved, config))["messages"][-1].text == stories.RIGHT
    assert [turn.task for turn in sidecar.turns(3)] == [stories.TASK] * 3


async def test_calls_that_are_resumed_at_once_are_one_turn(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Each has a thread, and the first of them begins the turn, which takes a while. Seen to make a turn for each
    thread, of which all but one never ended."""
    endpoint.script("m", [stories.LOOK, stories.GOOD], stories.RIGHT)

    def slow(text: str) -> str:
        time.sleep(0.02)
        return text

    middleware = SidemirrorMiddleware(Settings(redact=slow), client=client)
    made = agent_of(
        endpoint, "m", middleware, run_sql, checkpointer=InMemorySaver(),
        after=[HumanInTheLoopMiddleware({"run_sql": True})],
    )  # fmt: skip
    config, approved = {"configurable": {"thread_id": "thread-9"}}, {"decisions": [{"type": "approve"}] * 2}
    await asyncio.to_thread(made.invoke, {"messages": [("user", stories.TASK)]}, config)
    await asyncio.to_thread(made.invoke, Command(resume=approved), config)
    _, after = sidecar.turns(2)
    assert kinds(sidecar.events(after.turn_id)).count("tool_returned") == 2


async def test_runs_at_once_have_a_turn_each(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    middleware = SidemirrorMiddleware(client=client)
    names = [endpoint.script(f"m{number}", *stories.REPAIRED) for number in range(8)]
    agents = [agent_of(endpoint, name, middleware, run_sql) for name in names]
    await asyncio.gather(*(ask(agent, name) for agent, name in zip(agents, names, strict=True)))
    turns = sidecar.turns(8)
    assert sorted(turn.task for turn in turns) == names
    for turn in turns:
        assert_same(on_record(sidecar.events(turn.turn_id), ""), seen_by(endpoint.seen[turn.task]))


async def test_a_graph_of_agents_is_one_turn(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """A handoff: what the second agent answers is the answer."""
    endpoint.script("a", [stories.GOOD], "There are 17; the next one takes over.")
    endpoint.script("b", [stories.LOOK], stories.RIGHT)
    first = agent_of(endpoint, "a", SidemirrorMiddleware(agent="first", client=client), run_sql)
    second = agent_of(endpoint, "b", SidemirrorMiddleware(agent="second", client=client), run_sql)
    graph = StateGraph(MessagesState)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    assert await ask(graph.compile(), stories.TASK) == stories.RIGHT
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    assert_same(on_record(events, "first"), seen_by(endpoint.seen["a"]))
    assert_same(on_record(events, "second"), seen_by(endpoint.seen["b"]))
    assert events[-2].response_drafted.text == stories.RIGHT


async def test_an_agent_of_a_graph_is_not_judged_by_the_calls_of_another(endpoint: Endpoint, client: Client) -> None:
    """Seen to be sent back: its text does not tell of the other agent's call that has failed."""
    endpoint.script("a", [stories.BAD], stories.GUESS)
    endpoint.script("b", "Dear Anna, thank you for your order.", "Revised.")
    graph = StateGraph(MessagesState)
    graph.add_node("first", agent_of(endpoint, "a", SidemirrorMiddleware(agent="first", client=client), run_sql))
    graph.add_node("second", agent_of(endpoint, "b", SidemirrorMiddleware(agent="second", client=client), run_sql))
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    assert await ask(graph.compile(), "Write to Anna") == "Dear Anna, thank you for your order."


async def test_what_others_try_again_is_one_call(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    tries = []

    def flaky() -> str:
        """Works the second time."""
        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError("not yet")
        return "now"

    endpoint.script("m", [Call("flaky", {})], "Now.")
    after = [ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)]
    await ask(agent_of(endpoint, "m", SidemirrorMiddleware(client=client), flaky, after=after), "Try.")
    (turn,) = sidecar.turns()
    ends = [event.tool_returned for event in sidecar.events(turn.turn_id) if event.HasField("tool_returned")]
    assert (len(tries), [(one.content, one.is_error) for one in ends]) == (2, [("now", False)])


async def test_a_tool_that_returns_a_command(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    from typing import Annotated

    from langchain_core.tools import InjectedToolCallId

    def remember(key: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Remembers."""
        return Command(update={"messages": [ToolMessage(f"kept {key}", tool_call_id=tool_call_id)]})

    endpoint.script("m", [Call("remember", {"key": "k"})], "Kept.")
    made = StructuredTool.from_function(remember)
    await ask(agent_of(endpoint, "m", SidemirrorMiddleware(client=client), made), "Keep it.")
    assert_same(on_record(sidecar.events(sidecar.turns()[0].turn_id), ""), seen_by(endpoint.seen["m"]))


class Count(BaseModel):
    """A structured answer."""

    orders: int


async def test_a_structured_answer(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    from langchain.agents.structured_output import ToolStrategy

    endpoint.script("m", [Call("Count", {"orders": 17})])
    agent = agent_of(endpoint, "m", SidemirrorMiddleware(client=client), run_sql, response_format=ToolStrategy(Count))
    out = await agent.ainvoke({"messages": [("user", stories.TASK)]})
    assert out["structured_response"] == Count(orders=17)
    events = sidecar.events(sidecar.turns()[0].turn_id)
    assert "17" in events[-2].response_drafted.text
    assert "tool_called" not in kinds(events)


async def test_only_what_a_redactor_lets_through_is_reported(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", *stories.REPAIRED)
    settings = Settings(redact=lambda text: text.replace("orders", "█"))
    await ask(agent_of(endpoint, "m", SidemirrorMiddleware(settings, client=client), run_sql), stories.TASK)
    assert "orders" not in str(sidecar.events(sidecar.turns()[0].turn_id))


async def test_everything_can_be_off(endpoint: Endpoint, client: Client) -> None:
    endpoint.script("m", [stories.BAD], [Call("search_payments", {"text": "taxi"})], stories.WRONG_TOTAL)
    middleware = SidemirrorMiddleware(Settings(lessons=False, advice=False, revisions=0), client=client)
    agent = agent_of(endpoint, "m", middleware, run_sql, search_payments)
    assert await ask(agent, stories.PAYMENTS_TASK) == stories.WRONG_TOTAL
    roles = [one["role"] for one in endpoint.seen["m"][-1].request.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]


@pytest.mark.parametrize("how", WAYS)
async def test_without_a_sidecar_the_run_is_the_same(endpoint: Endpoint, away: Client, how: str) -> None:
    answers: list[Answer] = [[Call("search_payments", {"text": "taxi"})], stories.WRONG_TOTAL]
    endpoint.script("with", *answers)
    endpoint.script("without", *answers)
    plain = create_agent(model(endpoint, "without"), [search_payments], system_prompt="You are a clerk.")
    agent = agent_of(endpoint, "with", SidemirrorMiddleware(client=away), search_payments)
    assert await ask(agent, "Pay.", how) == await ask(plain, "Pay.", how)
    with_, without = (
        [one.request.text.replace("_without_", "_with_") for one in endpoint.seen[name]] for name in ("with", "without")
    )
    assert with_ == without


@pytest.mark.parametrize("how", WAYS)
async def test_after_a_fork_the_run_is_the_same(
    endpoint: Endpoint, client: Client, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The client does not work in a child of a process that has used it."""
    endpoint.script("m", [Call("search_payments", {"text": "taxi"})], stories.WRONG_TOTAL)
    agent = agent_of(endpoint, "m", SidemirrorMiddleware(client=client), search_payments)
    with monkeypatch.context() as child:
        child.setattr(BACKGROUND, "_why_not", FORKED)
        assert await ask(agent, stories.PAYMENTS_TASK, how) == stories.WRONG_TOTAL


async def test_the_frameworks_own_fake_model(client: Client, sidecar: Sidecar) -> None:
    fake = GenericFakeChatModel(messages=iter([AIMessage("Fine."), AIMessage("Still fine.")]))
    agent = create_agent(fake, middleware=[SidemirrorMiddleware(client=client)])
    assert await ask(agent, "How are you?") == "Fine."
    assert await ask(agent, "And now?", "invoke") == "Still fine."
    assert len(sidecar.turns(2)) == 2


async def test_other_chains_of_the_process_are_left_alone(client: Client, sidecar: Sidecar) -> None:
    """The callback that sees the end of runs is in every one of them."""
    from langchain_core.runnables import RunnableLambda

    assert await RunnableLambda(lambda x: x + 1).ainvoke(1) == 2
    assert RunnableLambda(lambda x: x + 1).invoke(1) == 2
    await ask(create_agent(GenericFakeChatModel(messages=iter([AIMessage("Fine.")]))), "How are you?")
    assert sidecar.turns(0) == []
