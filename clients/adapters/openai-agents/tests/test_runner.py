"""The runner with the real framework and a scripted endpoint that speaks OpenAI's Responses."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agents import (
    Agent,
    MaxTurnsExceeded,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    RunHooks,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from agents.run import CallModelData, ModelInputData
from openai import AsyncOpenAI
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, is_prefix, kinds, on_record, seen_by
from scripted.wire import Call, Fails, Hangs
from sidemirror_openai_agents import Settings, SidemirrorRunner

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client import Sidemirror as Client

set_tracing_disabled(True)
# What newer versions tell the model of an error.
HIDDEN = "An error occurred while running the tool. Please try again."


def model(endpoint: Endpoint, name: str, kind: Any = OpenAIResponsesModel) -> Any:
    return kind(name, AsyncOpenAI(base_url=f"{endpoint.url}/v1", api_key="x"))


def run_sql(query: str) -> str:
    """Runs SQL."""
    return stories.sql(query)


def search_payments(text: str) -> str:
    """Finds payments."""
    return stories.PAYMENTS


def agent_of(endpoint: Endpoint, name: str, *tools: Callable[..., Any], **more: Any) -> Agent[Any]:
    made = [function_tool(one, strict_mode=False) for one in tools]
    kind = more.pop("kind", OpenAIResponsesModel)
    return Agent(
        name=more.pop("agent", "clerk"), instructions="You are a clerk.", tools=made,
        model=model(endpoint, name, kind), **more,
    )  # fmt: skip


def failures(events: list[pb.TurnEvent]) -> list[tuple[str, str]]:
    """The calls on record that have failed: their tools, and the errors."""
    named = {one.tool_called.call_id: one.tool_called.name for one in events if one.HasField("tool_called")}
    failed = [one.tool_failed for one in events if one.HasField("tool_failed")]
    return [(named[one.call_id], one.error) for one in failed]


async def ask(runner: SidemirrorRunner, agent: Agent[Any], task: Any, how: str = "run", **more: Any) -> Any:
    """The agent's answer, by one of the runner's three ways."""
    if how == "run":
        return (await runner.run(agent, task, **more)).final_output
    if how == "run_sync":
        return (await asyncio.to_thread(runner.run_sync, agent, task, **more)).final_output
    result = runner.run_streamed(agent, task, **more)
    async for _ in result.stream_events():
        pass
    return result.final_output


WAYS = ("run", "run_sync", "run_streamed")


@pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
@pytest.mark.parametrize("how", WAYS)
async def test_advice_stands_behind_the_failing_calls_result(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str, kind: Any
) -> None:
    endpoint.script("m", [stories.BAD], [stories.GOOD], stories.RIGHT)
    agent = agent_of(endpoint, "m", run_sql, kind=kind)
    assert await ask(SidemirrorRunner(client=client), agent, stories.TASK, how) == stories.RIGHT
    first, second, third = endpoint.seen["m"]
    assert is_prefix(first, second)
    assert is_prefix(second, third)
    *_, failure, advice = second.request.messages
    assert advice["role"] == "user"
    assert advice["content"].startswith("[reflection] ")
    assert "call_m_0_0" in failure.values()
    (turn,) = sidecar.turns()
    assert (turn.task, turn.outcome) == (stories.TASK, common_pb2.TASK_OUTCOME_UNSPECIFIED)
    events = sidecar.events(turn.turn_id)
    assert kinds(events)[-2:] == ["response_drafted", "turn_finished"]
    ends = [
        one.tool_failed.error or one.tool_returned.content for one in events if "tool" in (one.WhichOneof("kind") or "")
    ]
    assert stories.FAILURE in ends, "the error reaches the sidecar as it was, whatever the model is told"


async def test_the_sixth_session_is_right_because_of_the_recovery(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Lessons are off, so that nothing else can have told it."""

    async def session(number: int) -> Any:
        settings = Settings(lessons=False, outcome=stories.session_outcome, session_id=f"s{number}")
        runner = SidemirrorRunner(settings, client=client)
        return await ask(runner, agent_of(endpoint, f"m{number}", run_sql), stories.TASK)

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
    assert sidecar.turns(number + 1)[-1].outcome == common_pb2.TASK_OUTCOME_SUCCESS


async def test_lessons_stand_behind_the_first_input(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    endpoint.script("m", *stories.REPAIRED)
    runner = SidemirrorRunner(Settings(outcome=stories.session_outcome, goal_id="count"), client=client)
    await ask(runner, agent_of(endpoint, "m", run_sql), stories.TASK)
    sidecar.wait_for_lessons(stories.TASK)
    endpoint.script("n", [stories.GOOD], stories.RIGHT)
    await ask(runner, agent_of(endpoint, "n", run_sql), stories.TASK)
    first, second = endpoint.seen["n"]
    prompt, lessons = first.request.messages
    assert (prompt["content"], lessons["role"]) == (stories.TASK, "user")
    assert "orders" in lessons["content"]
    assert first.request.system == "You are a clerk."
    assert is_prefix(first, second)


@pytest.mark.parametrize("kept", ["by us", "by a session"])
@pytest.mark.parametrize("how", ["run", "run_sync"])
async def test_a_wrong_answer_is_revised_once(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str, kept: str
) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", search_payments)
    more = {} if kept == "by us" else {"session": SQLiteSession("s")}
    assert await ask(SidemirrorRunner(client=client), agent, stories.PAYMENTS_TASK, how, **more) == stories.RIGHT_TOTAL
    *_, wrong, revised = endpoint.seen["m"]
    assert len(endpoint.seen["m"]) == 3
    assert is_prefix(wrong, revised)
    assert "64.75" in str(revised.request.messages[-1]["content"])
    (turn,) = sidecar.turns()
    assert sidecar.events(turn.turn_id)[-2].response_drafted.text == stories.RIGHT_TOTAL
    assert turn.session_id == "s" or not more


async def test_what_a_stream_has_shown_is_not_taken_back(endpoint: Endpoint, client: Client) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", search_payments)
    assert (
        await ask(SidemirrorRunner(client=client), agent, stories.PAYMENTS_TASK, "run_streamed") == stories.WRONG_TOTAL
    )


class TestEndings:
    """The outcome is on record however a run ends."""

    @pytest.mark.parametrize("how", WAYS)
    async def test_a_tool_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str) -> None:
        endpoint.script("m", [Call("broken", {})])

        @function_tool(failure_error_function=None)
        def broken() -> str:
            """Breaks."""
            raise RuntimeError("disk on fire")

        agent = agent_of(endpoint, "m").clone(tools=[broken])
        with pytest.raises(Exception, match="disk on fire"):
            await ask(SidemirrorRunner(client=client), agent, "Try it.", how)
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_ERROR
        assert sidecar.events(turn.turn_id)[-2].tool_failed.error == "disk on fire"

    @pytest.mark.parametrize("how", WAYS)
    async def test_the_model_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str) -> None:
        endpoint.script("m", Fails(400))
        with pytest.raises(Exception, match="400"):
            await ask(SidemirrorRunner(client=client), agent_of(endpoint, "m"), "Try it.", how)
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_ERROR

    async def test_it_takes_too_many_steps(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        endpoint.scripts["m"] = lambda _: [stories.LOOK]
        with pytest.raises(MaxTurnsExceeded):
            await ask(SidemirrorRunner(client=client), agent_of(endpoint, "m", run_sql), stories.TASK, max_turns=3)
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_ERROR
        returned = [one.tool_returned for one in sidecar.events(turn.turn_id) if one.HasField("tool_returned")]
        assert [one.content for one in returned] == ["orders_2026, customers"] * 3
        assert "tool_failed" not in kinds(sidecar.events(turn.turn_id))

    async def test_a_call_beside_the_one_that_raises_has_not_failed(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar
    ) -> None:
        endpoint.script("m", [Call("quick", {}), Call("broken", {})])
        has_ended = asyncio.Event()

        class Ends(RunHooks[Any]):
            async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
                has_ended.set()

        @function_tool
        async def quick() -> str:
            """Works."""
            return "done"

        @function_tool(failure_error_function=None)
        async def broken() -> str:
            """Breaks."""
            await has_ended.wait()
            raise RuntimeError("disk on fire")

        agent = agent_of(endpoint, "m").clone(tools=[quick, broken])
        with pytest.raises(Exception, match="disk on fire"):
            await ask(SidemirrorRunner(client=client), agent, "Try it.", hooks=Ends())
        (turn,) = sidecar.turns()
        assert failures(sidecar.events(turn.turn_id)) == [("broken", "disk on fire")]

    async def test_a_call_that_is_cancelled_has_not_failed(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar
    ) -> None:
        endpoint.script("m", [Call("slow", {})])
        has_begun = asyncio.Event()

        @function_tool
        async def slow() -> str:
            """Takes its time."""
            has_begun.set()
            await asyncio.sleep(60)
            return "done"

        agent = agent_of(endpoint, "m").clone(tools=[slow])
        task = asyncio.ensure_future(ask(SidemirrorRunner(client=client), agent, "Try it."))
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_TIMEOUT
        assert "tool_failed" not in kinds(sidecar.events(turn.turn_id))

    @pytest.mark.parametrize("ending", ["cancelled", "timeout"])
    async def test_there_is_no_more_time(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar, ending: str
    ) -> None:
        endpoint.script("m", Hangs())
        work = ask(SidemirrorRunner(client=client), agent_of(endpoint, "m"), "Try it.")
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


@pytest.mark.parametrize("how", WAYS)
async def test_a_handoff_is_one_turn(endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str) -> None:
    second = agent_of(endpoint, "b", run_sql, agent="second")
    first = agent_of(endpoint, "a", run_sql, agent="first", handoffs=[second])
    endpoint.script("a", [stories.BAD], [Call("transfer_to_second", {})])
    endpoint.script("b", [stories.GOOD], stories.RIGHT)
    assert await ask(SidemirrorRunner(client=client), first, stories.TASK, how) == stories.RIGHT
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    assert_same(on_record(events, "second"), seen_by(endpoint.seen["b"]))
    calls = [(one.agent, one.tool_called.name) for one in events if one.HasField("tool_called")]
    assert calls == [("first", "run_sql"), ("first", "transfer_to_second"), ("second", "run_sql")]
    assert len([one for one in events if "tool" in (one.WhichOneof("kind") or "")]) == 6, "each call has ended"


async def test_an_agent_that_is_a_tool_keeps_its_own_conversation(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    helper = agent_of(endpoint, "h", run_sql, agent="helper")
    asks = helper.as_tool("ask_helper", "Asks the helper.")
    agent = agent_of(endpoint, "m", run_sql).clone(tools=[*agent_of(endpoint, "m", run_sql).tools, asks])
    endpoint.script("m", [stories.BAD], [Call("ask_helper", {"input": "Count them."})], stories.RIGHT)
    endpoint.script("h", [stories.GOOD], "17")
    assert await ask(SidemirrorRunner(client=client), agent, stories.TASK) == stories.RIGHT
    assert "[reflection]" not in "".join(one.request.text for one in endpoint.seen["h"])
    assert_same(on_record(sidecar.events(sidecar.turns()[0].turn_id), "clerk"), seen_by(endpoint.seen["m"]), HIDDEN)


async def test_a_run_that_waits_for_an_approval_is_taken_up_by_the_next(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", [stories.BAD], stories.GUESS)
    tool = function_tool(run_sql, strict_mode=False, needs_approval=True)
    agent = agent_of(endpoint, "m").clone(tools=[tool])
    runner = SidemirrorRunner(client=client)
    waits = await runner.run(agent, stories.TASK)
    state = waits.to_state()
    for one in waits.interruptions:
        state.approve(one)
    assert (await runner.run(agent, state)).final_output == stories.GUESS
    first, second = sidecar.turns(2)
    assert first.outcome == common_pb2.TASK_OUTCOME_UNSPECIFIED
    assert "response_drafted" not in kinds(sidecar.events(first.turn_id))
    called, ended = [one for one in sidecar.events(second.turn_id) if "tool" in (one.WhichOneof("kind") or "")]
    assert called.tool_called.name == "run_sql"
    # Older versions show an error as a result alone.
    assert stories.FAILURE in (ended.tool_failed.error or ended.tool_returned.content)
    assert ended.HasField("tool_failed") or ended.tool_returned.is_error
    assert "[reflection] " in endpoint.seen["m"][1].request.text


async def test_a_refused_call_that_is_told_as_done_is_revised(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Seen to fail: the run that goes on had no call on record, and its answer passed."""

    def pay_invoice(invoice: int) -> str:
        """Pays an invoice."""
        return f"invoice {invoice} is paid"

    endpoint.script("m", [stories.PAY, stories.GOOD], stories.PAID, stories.UNPAID)
    tools = [function_tool(one, strict_mode=False, needs_approval=True) for one in (pay_invoice, run_sql)]
    agent = agent_of(endpoint, "m").clone(tools=tools)
    runner = SidemirrorRunner(client=client)
    waits = await runner.run(agent, stories.PAY_TASK)
    state = waits.to_state()
    payment, query = waits.interruptions
    state.reject(payment)
    state.approve(query)
    assert (await runner.run(agent, state)).final_output == stories.UNPAID
    events = sidecar.events(sidecar.turns(2)[1].turn_id)
    ended = {one.tool_returned.call_id: one.tool_returned.content for one in events if one.HasField("tool_returned")}
    called = {one.tool_called.name: one.tool_called for one in events if one.HasField("tool_called")}
    assert called["pay_invoice"].arguments == '{"invoice": 77}'
    assert ended[called["pay_invoice"].call_id] == "Tool execution denied: Tool execution was not approved."
    assert ended[called["run_sql"].call_id] == "17"


async def test_runs_at_once_have_a_turn_each(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    runner = SidemirrorRunner(client=client)
    names = [endpoint.script(f"m{number}", *stories.REPAIRED) for number in range(8)]
    await asyncio.gather(*(ask(runner, agent_of(endpoint, name, run_sql), name) for name in names))
    turns = sidecar.turns(8)
    assert sorted(turn.task for turn in turns) == names
    for turn in turns:
        assert_same(on_record(sidecar.events(turn.turn_id), "clerk"), seen_by(endpoint.seen[turn.task]), HIDDEN)


async def test_hooks_and_filters_of_the_users_own_go_on(endpoint: Endpoint, client: Client) -> None:
    class Hooks(RunHooks[Any]):
        def __init__(self) -> None:
            self.heard: list[str] = []

        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            self.heard.append(tool.name)

        async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
            self.heard.append("asked")

    def shouting(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(input=data.model_data.input, instructions="SHOUT.")

    hooks = Hooks()
    endpoint.script("m", [stories.GOOD], stories.RIGHT)
    config = RunConfig(call_model_input_filter=shouting)
    agent = agent_of(endpoint, "m", run_sql)
    await ask(SidemirrorRunner(client=client), agent, stories.TASK, hooks=hooks, run_config=config)
    assert hooks.heard == ["asked", "run_sql", "asked"]
    assert endpoint.seen["m"][0].request.system == "SHOUT."


async def test_only_what_a_redactor_lets_through_is_reported(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", *stories.REPAIRED)
    settings = Settings(redact=lambda text: text.replace("orders", "█"))
    await ask(SidemirrorRunner(settings, client=client), agent_of(endpoint, "m", run_sql), stories.TASK)
    assert "orders" not in str(sidecar.events(sidecar.turns()[0].turn_id))


async def test_everything_can_be_off(endpoint: Endpoint, client: Client) -> None:
    endpoint.script("m", [stories.BAD], [Call("search_payments", {"text": "taxi"})], stories.WRONG_TOTAL)
    runner = SidemirrorRunner(Settings(lessons=False, advice=False, revisions=0), client=client)
    agent = agent_of(endpoint, "m", run_sql, search_payments)
    assert await ask(runner, agent, stories.PAYMENTS_TASK) == stories.WRONG_TOTAL
    assert len(endpoint.seen["m"][-1].request.messages) == 5


@pytest.mark.parametrize("how", WAYS)
async def test_without_a_sidecar_the_run_is_the_same(endpoint: Endpoint, away: Client, how: str) -> None:
    for name in ("with", "without"):
        endpoint.script(name, [stories.BAD], stories.GUESS)
    answer = await ask(SidemirrorRunner(client=away), agent_of(endpoint, "with", run_sql), stories.TASK, how)
    assert (await Runner.run(agent_of(endpoint, "without", run_sql), stories.TASK)).final_output == answer
    with_, without = (
        [one.request.text.replace("_without_", "_with_") for one in endpoint.seen[name]] for name in ("with", "without")
    )
    assert with_ == without


async def test_the_frameworks_own_test_model(client: Client, sidecar: Sidecar) -> None:
    testing = pytest.importorskip("agents.testing", reason="newer versions have it")
    content = [ResponseOutputText(text="Fine.", type="output_text", annotations=[])]
    said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=content)
    agent = Agent(name="clerk", model=testing.ScriptedModel([[said]]))
    assert await ask(SidemirrorRunner(client=client), agent, "How are you?") == "Fine."
    assert len(sidecar.turns()) == 1
