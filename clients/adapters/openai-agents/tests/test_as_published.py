"""What agents do that the SDK's own documentation shows: `Runner` as a class, a default runner, answers as objects."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from agents import (
    Agent,
    CustomTool,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    Model,
    ModelResponse,
    MultiProvider,
    OpenAIChatCompletionsModel,
    RunHooks,
    Runner,
    SQLiteSession,
    Usage,
    UserError,
    function_tool,
    handoff,
)
from agents.extensions.handoff_filters import remove_all_tools
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from openai.types.responses import (
    ResponseCustomToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Content
from pydantic import BaseModel
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time, kinds
from scripted.wire import Call
from sidemirror_openai_agents import Settings, SidemirrorRunner
from tests.test_runner import agent_of, ask, failures, search_payments
from tests.test_runner import run_sql as failing_sql

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client


def run_sql(query: str) -> str:
    """Runs SQL."""
    return stories.unmarked_sql(query)


async def test_advice_for_a_failure_that_is_a_text_is_in_the_next_request(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    async def session(name: str) -> str:
        runner = SidemirrorRunner(Settings(lessons=False, session_id=name), client=client)
        answer: str = await ask(runner, agent_of(endpoint, name, run_sql), stories.TASK)
        return answer

    await assert_in_time(sidecar, endpoint, session)


@pytest.fixture
def default() -> Iterator[None]:
    """The SDK's default runner is what it was again."""
    before = get_default_agent_runner()
    yield
    set_default_agent_runner(before)


@pytest.mark.usefixtures("default")
class TestDefault:
    """A runner as the SDK's default. Seen to recurse without end when it called `Runner`."""

    @pytest.mark.parametrize("how", ["run", "run_streamed"])
    async def test_runs_of_the_sdk_are_watched(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str
    ) -> None:
        set_default_agent_runner(SidemirrorRunner(client=client))
        endpoint.script("m", *stories.REPAIRED)
        runner: Any = Runner
        assert await ask(runner, agent_of(endpoint, "m", run_sql), stories.TASK, how) == stories.RIGHT
        assert sidecar.turns()[0].task == stories.TASK

    async def test_agents_that_are_tools_are_part_of_the_turn(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar
    ) -> None:
        set_default_agent_runner(SidemirrorRunner(client=client))
        helper = agent_of(endpoint, "h", run_sql, agent="helper")
        agent = agent_of(endpoint, "m").clone(tools=[helper.as_tool("ask_helper", "Asks the helper.")])
        endpoint.script("m", [Call("ask_helper", {"input": "Count them."})], stories.RIGHT)
        endpoint.script("h", [stories.GOOD], "17")
        assert (await Runner.run(agent, stories.TASK)).final_output == stories.RIGHT
        events = sidecar.events(sidecar.turns()[0].turn_id)
        calls = [(one.agent, one.tool_called.name) for one in events if one.HasField("tool_called")]
        assert calls == [("clerk", "ask_helper"), ("helper", "run_sql")]

    async def test_another_default_goes_on(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        asked: list[str] = []

        class Theirs(AgentRunner):
            async def run(self, starting_agent: Any, input: Any, **given: Any) -> Any:  # noqa: A002  # the SDK's name
                asked.append(input)
                return await super().run(starting_agent, input, **given)

        set_default_agent_runner(Theirs())
        endpoint.script("m", stories.RIGHT)
        assert await ask(SidemirrorRunner(client=client), agent_of(endpoint, "m"), stories.TASK) == stories.RIGHT
        assert (asked, len(sidecar.turns())) == ([stories.TASK], 1)


@pytest.mark.parametrize("how", ["run", "run_sync", "run_streamed"])
def test_the_class_is_no_runner(endpoint: Endpoint, how: str) -> None:
    call: Any = getattr(SidemirrorRunner, how)
    with pytest.raises(TypeError, match=rf"an instance is expected, as in SidemirrorRunner\(\)\.{how}\("):
        call(agent_of(endpoint, "m"), stories.TASK)


@pytest.mark.parametrize("how", ["run", "run_sync", "run_streamed"])
async def test_an_argument_that_runner_has_not_is_refused(endpoint: Endpoint, away: Client, how: str) -> None:
    """Seen to be passed over, as the SDK's own runner does behind `Runner`."""
    with pytest.raises(TypeError, match="max_turn"):
        await ask(SidemirrorRunner(client=away), agent_of(endpoint, "m"), stories.TASK, how, max_turn=3)


class Count(BaseModel):
    """A structured answer."""

    orders: int


async def test_a_structured_answer_is_judged_as_json(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    judged: list[str] = []

    def outcome(answer: str) -> bool:
        judged.append(answer)
        return json.loads(answer) == {"orders": 17}

    endpoint.script("m", '{"orders": 17}')
    agent = agent_of(endpoint, "m", output_type=Count)
    assert await ask(SidemirrorRunner(Settings(outcome=outcome), client=client), agent, stories.TASK) == Count(
        orders=17
    )
    (turn,) = sidecar.turns()
    assert (len(judged), turn.outcome) == (1, common_pb2.TASK_OUTCOME_SUCCESS)
    assert json.loads(sidecar.events(turn.turn_id)[-2].response_drafted.text) == {"orders": 17}


async def test_what_the_critique_judges_of_a_structured_answer_is_json(endpoint: Endpoint, client: Client) -> None:
    class Total(BaseModel):
        answer: str

    wrong, right = (json.dumps({"answer": text}) for text in (stories.WRONG_TOTAL, stories.RIGHT_TOTAL))
    endpoint.script("m", stories.MISCOUNTED[0], wrong, right)
    agent = agent_of(endpoint, "m", search_payments, output_type=Total)
    answer = await ask(SidemirrorRunner(client=client), agent, stories.PAYMENTS_TASK)
    assert answer == Total(answer=stories.RIGHT_TOTAL)


async def test_where_a_handoff_takes_messages_away_nothing_parts_a_call_and_its_result(
    endpoint: Endpoint, client: Client
) -> None:
    """By the SDK's own filter. Seen to send the first agent's advice between the second's calls and their results,
    which providers refuse."""
    chat: dict[str, Any] = {"kind": OpenAIChatCompletionsModel}
    second = agent_of(endpoint, "b", failing_sql, agent="second", **chat)
    hands_over = [handoff(second, input_filter=remove_all_tools)]
    first = agent_of(endpoint, "a", failing_sql, agent="first", handoffs=hands_over, **chat)
    endpoint.script("a", [stories.BAD], [Call("transfer_to_second", {})])
    endpoint.script("b", [stories.LOOK, stories.GOOD], stories.RIGHT)
    assert await ask(SidemirrorRunner(client=client), first, stories.TASK) == stories.RIGHT
    assert "[reflection] " in endpoint.seen["a"][1].request.text
    roles = [[one["role"] for one in exchange.request.messages] for exchange in endpoint.seen["b"]]
    assert roles == [["user"], ["user", "assistant", "tool", "tool"]]


@pytest.mark.parametrize(
    "kept", [{"auto_previous_response_id": True}, {"previous_response_id": "resp_0"}, {"conversation_id": "conv_0"}]
)
async def test_what_openai_keeps_is_sent_once(endpoint: Endpoint, client: Client, kept: dict[str, Any]) -> None:
    endpoint.script("m", [stories.BAD], stories.MISCOUNTED[0], *stories.MISCOUNTED[1:])
    agent = agent_of(endpoint, "m", failing_sql, search_payments)
    assert await ask(SidemirrorRunner(client=client), agent, stories.PAYMENTS_TASK, **kept) == stories.RIGHT_TOTAL
    task, failure, found, wrong = (one.request.messages for one in endpoint.seen["m"])
    assert [len(one) for one in (task, failure, found, wrong)] == [1, 2, 1, 1]
    assert failure[1]["content"].startswith("[reflection] ")
    assert "64.75" in wrong[0]["content"]


class Says(Model):
    """A model that answers with these, one after the other."""

    def __init__(self, *answers: list[Any]) -> None:
        self._answers = iter(answers)

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(output=next(self._answers), usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=content)


async def test_what_a_model_has_reasoned_is_not_what_it_says(client: Client, sidecar: Sidecar) -> None:
    """Seen to stand before the answer."""
    reasoned = [Content(type="reasoning_text", text="Three, perhaps.")]
    thought = ResponseReasoningItem(id="r", type="reasoning", summary=[], content=reasoned)
    agent = Agent(name="clerk", model=Says([thought, said(stories.RIGHT)]))
    assert await ask(SidemirrorRunner(client=client), agent, stories.TASK) == stories.RIGHT
    events = sidecar.events(sidecar.turns()[0].turn_id)
    assert [one.model_returned.text for one in events if one.HasField("model_returned")] == [stories.RIGHT]


async def test_a_custom_tools_call_has_an_end(client: Client, sidecar: Sidecar) -> None:
    """Seen to have none: it returns what has another name."""

    async def shouts(_: Any, text: str) -> str:
        return text.upper()

    call = ResponseCustomToolCall(type="custom_tool_call", call_id="c", name="shout", input="hello")
    tools: list[Any] = [CustomTool("shout", "Shouts.", shouts)]
    agent = Agent(name="clerk", tools=tools, model=Says([call], [said("Done.")]))
    assert await ask(SidemirrorRunner(client=client), agent, stories.TASK) == "Done."
    called, ended = [
        one for one in sidecar.events(sidecar.turns()[0].turn_id) if "tool" in (one.WhichOneof("kind") or "")
    ]
    assert (called.tool_called.name, called.tool_called.arguments) == ("shout", "hello")
    assert (ended.tool_returned.call_id, ended.tool_returned.content) == ("c", "HELLO")


@pytest.mark.parametrize("how", ["run", "run_streamed"])
async def test_a_call_that_a_guardrail_stops_has_not_failed(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, how: str
) -> None:
    """Seen to have failed in the guardrail's words."""
    has_answered = asyncio.Event()

    class Answers(RunHooks[Any]):
        async def on_llm_end(self, *_: Any) -> None:
            has_answered.set()

    async def refuses(*_: Any) -> GuardrailFunctionOutput:
        await has_answered.wait()
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    @function_tool
    async def slow() -> str:
        """Takes its time."""
        await asyncio.sleep(60)
        return "done"

    endpoint.script("m", [Call("slow", {})])
    agent = agent_of(endpoint, "m").clone(tools=[slow], input_guardrails=[InputGuardrail(refuses)])
    with pytest.raises(InputGuardrailTripwireTriggered):
        await ask(SidemirrorRunner(client=client), agent, "Try it.", how, hooks=Answers())
    (turn,) = sidecar.turns()
    assert turn.outcome == common_pb2.TASK_OUTCOME_ERROR
    assert [kind for kind in kinds(sidecar.events(turn.turn_id)) if "tool" in kind] == ["tool_called"]


async def test_a_call_that_stops_because_of_another_has_not_failed(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Seen to have failed in the other's words."""
    has_begun = asyncio.Event()

    @function_tool
    async def slow() -> str:
        """Takes its time."""
        has_begun.set()
        await asyncio.sleep(60)
        return "done"

    @function_tool(failure_error_function=None)
    async def broken() -> str:
        """Breaks."""
        await has_begun.wait()
        raise RuntimeError("disk on fire")

    endpoint.script("m", [Call("slow", {}), Call("broken", {})])
    agent = agent_of(endpoint, "m").clone(tools=[slow, broken])
    with pytest.raises(Exception, match="disk on fire"):
        await ask(SidemirrorRunner(client=client), agent, "Try it.")
    assert failures(sidecar.events(sidecar.turns()[0].turn_id)) == [("broken", "disk on fire")]


async def test_a_stream_that_does_not_begin_has_ended(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """Seen to leave its turn open."""
    runner = SidemirrorRunner(client=client)
    with pytest.raises(UserError):
        runner.run_streamed(agent_of(endpoint, "m"), stories.TASK, session=SQLiteSession("s"), conversation_id="c")
    assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_ERROR


async def test_a_configuration_may_be_a_dictionary(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """Seen to end the run with an AttributeError."""
    endpoint.script("m", [stories.BAD], stories.GUESS)
    agent = agent_of(endpoint, "m").clone(tools=[function_tool(run_sql, strict_mode=False)])
    given = {"workflow_name": "count"}
    assert await ask(SidemirrorRunner(client=client), agent, stories.TASK, run_config=given) == stories.GUESS
    assert len(sidecar.turns()) == 1


async def test_the_sdk_closes_the_model_provider_that_it_has_made(
    endpoint: Endpoint, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newer versions do; seen to stay open behind a configuration of ours."""
    closed: list[object] = []

    async def aclose(provider: object) -> None:
        closed.append(provider)

    monkeypatch.setattr(MultiProvider, "aclose", aclose)
    endpoint.script("m", stories.RIGHT, stories.RIGHT)
    await Runner.run(agent_of(endpoint, "m"), stories.TASK)
    plain = len(closed)
    await SidemirrorRunner(client=client).run(agent_of(endpoint, "m"), stories.TASK)
    assert len(closed) == 2 * plain
