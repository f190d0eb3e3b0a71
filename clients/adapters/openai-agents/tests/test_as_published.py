"""What agents do that the SDK's own documentation shows: `Runner` as a class, a default runner, answers as objects."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from agents import MultiProvider, Runner, function_tool
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from pydantic import BaseModel
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time
from scripted.wire import Call
from sidemirror_openai_agents import Settings, SidemirrorRunner
from tests.test_runner import agent_of, ask, search_payments

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
