"""The capability with the real framework and a scripted endpoint that speaks OpenAI's Chat Completions."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, Tool, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, is_prefix, kinds, on_record, seen_by
from scripted.wire import Call, Fails, Hangs
from sidemirror_pydantic_ai import Settings, Sidemirror

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client


def model(endpoint: Endpoint, name: str) -> OpenAIChatModel:
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=f"{endpoint.url}/v1", api_key="x"))


def run_sql(query: str) -> str:
    """Runs SQL."""
    try:
        return stories.sql(query)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


def search_payments(text: str) -> str:
    """Finds payments."""
    return stories.PAYMENTS


def agent_of(endpoint: Endpoint, name: str, capability: Sidemirror[Any], *tools: Any, **more: Any) -> Agent[None, str]:
    return Agent(
        model(endpoint, name), name="clerk", instructions="You are a clerk.", tools=tools, capabilities=[capability],
        retries=more.pop("retries", 3), **more,
    )  # fmt: skip


async def test_advice_stands_behind_the_failing_calls_result(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", [stories.BAD], [stories.GOOD], stories.RIGHT)
    agent = agent_of(endpoint, "m", Sidemirror(client=client), run_sql)
    result = await agent.run(stories.TASK)
    assert result.output == stories.RIGHT
    first, second, third = endpoint.seen["m"]
    assert is_prefix(first, second)
    assert is_prefix(second, third), "what was added is kept in the history"
    *_, failure, advice = second.request.messages
    assert (failure["role"], advice["role"]) == ("tool", "user")
    assert stories.FAILURE in failure["content"]
    assert advice["content"].startswith("[reflection] ")
    (turn,) = sidecar.turns()
    assert (turn.task, turn.outcome) == (stories.TASK, common_pb2.TASK_OUTCOME_UNSPECIFIED)
    assert kinds(sidecar.events(turn.turn_id))[-2:] == ["response_drafted", "turn_finished"]


async def test_the_sixth_session_is_right_because_of_the_recovery(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Lessons are off, so that nothing else can have told it."""
    for number in range(stories.SESSIONS):
        name = endpoint.script(f"m{number}", *stories.REPAIRED)
        settings = Settings(session_id=f"s{number}", lessons=False, outcome=stories.session_outcome)
        assert (await agent_of(endpoint, name, Sidemirror(settings, client=client), run_sql).run(stories.TASK)).output
        sidecar.wait_for_observations(number + 1)
    # One in ten is held back from what is told.
    for number in range(stories.SESSIONS, stories.SESSIONS + 10):
        name = f"m{number}"
        endpoint.scripts[name] = stories.listener
        settings = Settings(session_id=f"s{number}", lessons=False, outcome=stories.session_outcome)
        result = await agent_of(endpoint, name, Sidemirror(settings, client=client), run_sql).run(stories.TASK)
        _, second, *_ = endpoint.seen[name]
        told = stories.ADVICE in second.request.text
        assert result.output == (stories.RIGHT if told else stories.GUESS)
        if told:
            break
    else:
        pytest.fail("it was never told")
    assert sidecar.turns(number + 1)[-1].outcome == common_pb2.TASK_OUTCOME_SUCCESS


async def test_lessons_stand_behind_the_first_prompt(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    endpoint.script("m", [stories.BAD], [stories.LOOK], [stories.GOOD], stories.RIGHT)
    settings = Settings(outcome=stories.session_outcome, goal_id="count")
    agent = agent_of(endpoint, "m", Sidemirror(settings, client=client), run_sql)
    await agent.run(stories.TASK)
    sidecar.wait_for_lessons(stories.TASK)
    endpoint.script("n", stories.RIGHT)
    await agent_of(endpoint, "n", Sidemirror(settings, client=client), run_sql).run(stories.TASK)
    (first,) = endpoint.seen["n"]
    prompt, lessons = first.request.messages
    assert (prompt["content"], lessons["role"]) == (stories.TASK, "user")
    assert "orders" in lessons["content"]
    assert first.request.system == endpoint.seen["m"][0].request.system, "the instructions stay as they are"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_wrong_answer_is_revised_once(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, streamed: bool
) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", Sidemirror(client=client), search_payments)
    handler = drained if streamed else None
    result = await agent.run(stories.PAYMENTS_TASK, event_stream_handler=handler)
    assert result.output == stories.RIGHT_TOTAL
    *_, wrong, revised = endpoint.seen["m"]
    assert len(endpoint.seen["m"]) == 3
    assert is_prefix(wrong, revised)
    assert "64.75" in revised.request.messages[-1]["content"]


async def drained(_: Any, events: Any) -> None:
    async for _ in events:
        pass


async def test_what_run_stream_has_shown_is_not_taken_back(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", Sidemirror(client=client), search_payments)
    async with agent.run_stream(stories.PAYMENTS_TASK) as stream:
        assert await stream.get_output() == stories.WRONG_TOTAL
    (turn,) = sidecar.turns()
    assert kinds(sidecar.events(turn.turn_id))[-2:] == ["response_drafted", "turn_finished"]


class TestEndings:
    """The outcome is on record however a run ends."""

    async def test_a_tool_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        endpoint.script("m", [Call("broken", {})])

        def broken() -> str:
            raise RuntimeError("disk on fire")

        with pytest.raises(RuntimeError, match="disk on fire"):
            await agent_of(endpoint, "m", Sidemirror(client=client), broken).run("Try it.")
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_ERROR
        failed = sidecar.events(turn.turn_id)[-2]
        assert failed.tool_failed.error == "disk on fire"

    async def test_the_model_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        endpoint.script("m", Fails(400))
        with pytest.raises(Exception, match="400"):
            await agent_of(endpoint, "m", Sidemirror(client=client)).run("Try it.")
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_ERROR

    @pytest.mark.parametrize("ending", ["cancelled", "timeout"])
    async def test_there_is_no_more_time(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar, ending: str
    ) -> None:
        endpoint.script("m", Hangs())
        work = agent_of(endpoint, "m", Sidemirror(client=client)).run("Try it.")
        if ending == "timeout":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(work, 0.5)
        else:
            task = asyncio.ensure_future(work)
            await asyncio.to_thread(endpoint.wait_for, "m")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_TIMEOUT


async def test_a_run_that_is_resumed_stays_in_its_session(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """The second run has the messages of the first, from JSON, as a run does that was kept somewhere."""
    endpoint.script("m", [stories.BAD], stories.GUESS, stories.RIGHT)
    agent = agent_of(endpoint, "m", Sidemirror(client=client), run_sql)
    first = await agent.run(stories.TASK)
    kept = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    await agent.run("Try again.", message_history=kept)
    one, two = sidecar.turns(2)
    assert one.session_id == two.session_id
    assert is_prefix(endpoint.seen["m"][1], endpoint.seen["m"][2])


async def test_a_run_that_waits_for_an_approval_is_taken_up_in_its_session(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", [stories.BAD], stories.GUESS)
    tool = Tool(run_sql, requires_approval=True)
    agent = Agent(
        model(endpoint, "m"), tools=[tool], capabilities=[Sidemirror(client=client)], retries=3,
        output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    waits = await agent.run(stories.TASK)
    assert isinstance(waits.output, DeferredToolRequests)
    results = DeferredToolResults(approvals={one.tool_call_id: True for one in waits.output.approvals})
    ended = await agent.run(message_history=waits.all_messages(), deferred_tool_results=results)
    assert ended.output == stories.GUESS
    one, two = sidecar.turns(2)
    assert one.session_id == two.session_id != ""
    assert "response_drafted" not in kinds(sidecar.events(one.turn_id))
    ends = [kind for kind in kinds(sidecar.events(two.turn_id)) if kind.startswith("tool")]
    assert ends == ["tool_called", "tool_returned"]
    assert "[reflection] " in endpoint.seen["m"][1].request.text


async def test_a_refused_call_that_is_told_as_done_is_revised(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Seen to fail: the run that goes on had no call on record, and its answer passed."""

    def pay_invoice(invoice: int) -> str:
        """Pays an invoice."""
        return f"invoice {invoice} is paid"

    endpoint.script("m", [stories.PAY, stories.GOOD], stories.PAID, stories.UNPAID)
    tools = [Tool(one, requires_approval=True) for one in (pay_invoice, run_sql)]
    agent = Agent(
        model(endpoint, "m"), tools=tools, capabilities=[Sidemirror(client=client)],
        output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    waits = await agent.run(stories.PAY_TASK)
    assert isinstance(waits.output, DeferredToolRequests)
    payment, query = waits.output.approvals
    results = DeferredToolResults(approvals={payment.tool_call_id: ToolDenied("Not now"), query.tool_call_id: True})
    ended = await agent.run(message_history=waits.all_messages(), deferred_tool_results=results)
    assert ended.output == stories.UNPAID
    events = sidecar.events(sidecar.turns(2)[1].turn_id)
    ends = {one.tool_returned.call_id: one.tool_returned.content for one in events if one.HasField("tool_returned")}
    called = {one.tool_called.name: one.tool_called for one in events if one.HasField("tool_called")}
    assert json.loads(called["pay_invoice"].arguments) == {"invoice": 77}
    assert ends[called["pay_invoice"].call_id] == "Tool execution denied: Not now"
    assert ends[called["run_sql"].call_id] == "17"


async def test_runs_at_once_have_a_turn_each(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    capability = Sidemirror[None](client=client)
    names = [endpoint.script(f"m{number}", *stories.REPAIRED) for number in range(8)]
    await asyncio.gather(*(agent_of(endpoint, name, capability, run_sql).run(name) for name in names))
    turns = sidecar.turns(8)
    assert sorted(turn.task for turn in turns) == names
    for turn in turns:
        assert_same(on_record(sidecar.events(turn.turn_id), "clerk"), seen_by(endpoint.seen[turn.task]))


def test_without_a_loop(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    endpoint.script("m", *stories.REPAIRED)
    agent = agent_of(endpoint, "m", Sidemirror(client=client), run_sql)
    assert agent.run_sync(stories.TASK).output == stories.RIGHT
    assert len(sidecar.turns()) == 1


class Count(BaseModel):
    """A structured answer."""

    orders: int


async def test_an_output_tool_is_the_answer(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    endpoint.script("m", [Call("final_result", {"orders": 17})])
    agent = Agent(model(endpoint, "m"), output_type=Count, capabilities=[Sidemirror(client=client)])
    assert (await agent.run(stories.TASK)).output == Count(orders=17)
    (turn,) = sidecar.turns()
    *_, drafted, _ = sidecar.events(turn.turn_id)
    assert json.loads(drafted.response_drafted.text) == {"orders": 17}
    assert "tool_called" not in kinds(sidecar.events(turn.turn_id))


async def test_calls_that_never_begin_are_on_record(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """An unknown tool, and arguments that do not fit."""
    endpoint.script("m", [Call("nobody", {}), Call("run_sql", {"quary": 1})], stories.GUESS)
    await agent_of(endpoint, "m", Sidemirror(client=client), run_sql).run(stories.TASK)
    (turn,) = sidecar.turns()
    (asked, *_), _ = on_record(sidecar.events(turn.turn_id), "clerk")
    assert asked == ("asked",)
    ends = [event.tool_returned for event in sidecar.events(turn.turn_id) if event.HasField("tool_returned")]
    assert [one.is_error for one in ends] == [True, True]
    assert any("nobody" in one.content for one in ends)


async def test_only_what_a_redactor_lets_through_is_reported(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", *stories.REPAIRED)
    settings = Settings(redact=lambda text: text.replace("orders", "█"))
    await agent_of(endpoint, "m", Sidemirror(settings, client=client), run_sql).run(stories.TASK)
    (turn,) = sidecar.turns()
    assert "orders" not in str(sidecar.events(turn.turn_id))
    assert "orders" in endpoint.seen["m"][-1].request.text


async def test_a_redactor_that_fails_tells_nothing(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    endpoint.script("m", stories.RIGHT)
    settings = Settings(redact=lambda text: str(1 / 0))
    assert (await agent_of(endpoint, "m", Sidemirror(settings, client=client)).run(stories.TASK)).output
    assert "orders" not in str(sidecar.events(sidecar.turns()[0].turn_id))


async def test_everything_can_be_off(endpoint: Endpoint, client: Client) -> None:
    endpoint.script("m", [stories.BAD], [Call("search_payments", {"text": "taxi"})], stories.WRONG_TOTAL)
    settings = Settings(lessons=False, advice=False, revisions=0)
    agent = agent_of(endpoint, "m", Sidemirror(settings, client=client), run_sql, search_payments)
    assert (await agent.run(stories.PAYMENTS_TASK)).output == stories.WRONG_TOTAL
    roles = [one["role"] for one in endpoint.seen["m"][-1].request.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]


async def test_without_a_sidecar_the_run_is_the_same(endpoint: Endpoint, away: Client) -> None:
    endpoint.script("with", *stories.MISCOUNTED[:2])
    endpoint.script("without", *stories.MISCOUNTED[:2])
    agent = agent_of(endpoint, "with", Sidemirror(client=away), search_payments)
    plain = Agent(model(endpoint, "without"), instructions="You are a clerk.", tools=[search_payments])
    assert (await agent.run(stories.PAYMENTS_TASK)).output == (await plain.run(stories.PAYMENTS_TASK)).output
    with_, without = (
        [one.request.text.replace("_without_", "_with_") for one in endpoint.seen[name]] for name in ("with", "without")
    )
    assert with_ == without


async def test_bytes_that_are_no_text_are_reported(client: Client, sidecar: Sidecar) -> None:
    """As the model gets them. Seen to fail the run, after its tool had worked."""

    def draw() -> bytes:
        return b"\xff\xfe"

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("draw", {})] if len(messages) == 1 else [TextPart("Done.")])

    agent = Agent(FunctionModel(answer), tools=[draw], capabilities=[Sidemirror(client=client)])
    assert (await agent.run("Draw it.")).output == "Done."
    events = sidecar.events(sidecar.turns()[0].turn_id)
    (said,) = (one.tool_returned.content for one in events if one.HasField("tool_returned"))
    # Early versions make JSON of it.
    assert said.strip('"') == "__4="


class TestTheFrameworksOwnTestModels:
    """With the capability in place they work as before."""

    async def test_test_model(self, client: Client, sidecar: Sidecar) -> None:
        agent = Agent(TestModel(), tools=[search_payments], capabilities=[Sidemirror(client=client)])
        assert stories.PAYMENTS.splitlines()[0] in (await agent.run("Pay.")).output
        assert "tool_returned" in kinds(sidecar.events(sidecar.turns()[0].turn_id))

    async def test_function_model_and_override(self, client: Client, sidecar: Sidecar) -> None:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[TextPart("Fine.")])

        agent = Agent(TestModel(), capabilities=[Sidemirror(client=client)])
        with agent.override(model=FunctionModel(answer)):
            assert (await agent.run("How are you?")).output == "Fine."
        assert len(sidecar.turns()) == 1
