"""The plugin with the real framework and a scripted endpoint that speaks Gemini's GenerateContent."""

import asyncio
import uuid
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events import Event
from google.adk.models import BaseLlm, Gemini, LlmRequest, LlmResponse
from google.adk.plugins import ReflectAndRetryToolPlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.genai import types
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_same, is_prefix, kinds, on_record, seen_by
from scripted.wire import Call, Fails, Hangs
from sidemirror_google_adk import REVISION, Settings, SidemirrorPlugin

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client

RETRIES = types.HttpRetryOptions(attempts=3, initial_delay=0.01)


@pytest.fixture(autouse=True)
def a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "x")


def run_sql(query: str) -> dict[str, str]:
    """Runs SQL."""
    try:
        return {"rows": stories.sql(query)}
    except ValueError as error:
        return {"error": str(error)}


def search_payments(text: str) -> str:
    """Finds payments."""
    return stories.PAYMENTS


def agent_of(endpoint: Endpoint, name: str, *tools: Any, **more: Any) -> LlmAgent:
    return LlmAgent(
        name=more.pop("agent", "clerk"), instruction="You are a clerk.", tools=list(tools),
        model=Gemini(model=name, base_url=endpoint.url, retry_options=RETRIES), **more,
    )  # fmt: skip


class Conversation:
    """A session with an agent."""

    def __init__(self, agent: LlmAgent, *plugins: Any, streamed: bool = False) -> None:
        self._runner = InMemoryRunner(agent=agent, app_name="shop", plugins=list(plugins))
        self._config = RunConfig(streaming_mode=StreamingMode.SSE if streamed else StreamingMode.NONE)
        self._id = uuid.uuid4().hex

    async def say(self, *parts: types.Part) -> list[Event]:
        """The events of one invocation."""
        sessions = self._runner.session_service
        if await sessions.get_session(app_name="shop", user_id="u", session_id=self._id) is None:
            await sessions.create_session(app_name="shop", user_id="u", session_id=self._id)
        message = types.Content(role="user", parts=list(parts))
        runs = self._runner.run_async(user_id="u", session_id=self._id, new_message=message, run_config=self._config)
        return [event async for event in runs]


async def events_of(plugin: Any, agent: LlmAgent, task: str, *, streamed: bool = False) -> list[Event]:
    plugins = [plugin] if plugin else []
    return await Conversation(agent, *plugins, streamed=streamed).say(types.Part(text=task))


def answer_of(events: list[Event]) -> str:
    last = events[-1]
    return "".join(part.text or "" for part in (last.content.parts if last.content else None) or ())


async def ask(plugin: Any, agent: LlmAgent, task: str, *, streamed: bool = False) -> str:
    """The agent's answer."""
    return answer_of(await events_of(plugin, agent, task, streamed=streamed))


async def test_nothing_of_an_invocation_that_has_ended_stays_with_its_task(endpoint: Endpoint, client: Client) -> None:
    """A worker's task has one after the other. Seen to keep a callback of each."""
    endpoint.script("m", stories.RIGHT)
    task: Any = asyncio.current_task()

    def kept() -> int:
        return len(task._callbacks or ())  # noqa: SLF001  # nothing else says it

    before = kept()
    await ask(SidemirrorPlugin(client=client), agent_of(endpoint, "m"), stories.TASK)
    assert kept() == before


@pytest.mark.parametrize("streamed", [False, True])
async def test_advice_stands_behind_the_failing_calls_result(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, streamed: bool
) -> None:
    endpoint.script("m", [stories.BAD], [stories.GOOD], stories.RIGHT)
    plugin = SidemirrorPlugin(client=client)
    assert await ask(plugin, agent_of(endpoint, "m", run_sql), stories.TASK, streamed=streamed) == stories.RIGHT
    first, second, third = endpoint.seen["m"]
    assert is_prefix(first, second)
    assert is_prefix(second, third)
    *_, failure, advice = second.request.messages
    assert stories.FAILURE in str(failure["parts"][0]["functionResponse"])
    assert advice["role"] == "user"
    assert advice["parts"][0]["text"].startswith("[reflection] ")
    (turn,) = sidecar.turns()
    assert (turn.task, turn.outcome) == (stories.TASK, common_pb2.TASK_OUTCOME_UNSPECIFIED)
    assert kinds(sidecar.events(turn.turn_id))[-2:] == ["response_drafted", "turn_finished"]


async def test_the_sixth_session_is_right_because_of_the_recovery(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Lessons are off, so that nothing else can have told it."""
    plugin = SidemirrorPlugin(Settings(lessons=False, outcome=stories.session_outcome), client=client)
    for number in range(stories.SESSIONS):
        endpoint.script(f"m{number}", *stories.REPAIRED)
        assert await ask(plugin, agent_of(endpoint, f"m{number}", run_sql), stories.TASK) == stories.RIGHT
        sidecar.wait_for_observations(number + 1)
    # One in ten is held back from what is told.
    for number in range(stories.SESSIONS, stories.SESSIONS + 10):
        endpoint.scripts[f"m{number}"] = stories.listener
        answer = await ask(plugin, agent_of(endpoint, f"m{number}", run_sql), stories.TASK)
        told = stories.ADVICE in endpoint.seen[f"m{number}"][1].request.text
        assert answer == (stories.RIGHT if told else stories.GUESS)
        if told:
            break
    else:
        pytest.fail("it was never told")
    assert sidecar.turns(number + 1)[-1].outcome == common_pb2.TASK_OUTCOME_SUCCESS


async def test_lessons_are_a_part_of_the_users_message(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """A guardrail of the agent's own, as in ADK's tutorial, reads the last message of the user's by its first part."""
    endpoint.script("m", *stories.REPAIRED)
    plugin = SidemirrorPlugin(Settings(outcome=stories.session_outcome, goal_id="count"), client=client)
    await ask(plugin, agent_of(endpoint, "m", run_sql), stories.TASK)
    sidecar.wait_for_lessons(stories.TASK)
    endpoint.script("n", [stories.GOOD], stories.RIGHT)
    guarded: list[str | None] = []

    def guard(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        parts = [content.parts for content in llm_request.contents if content.role == "user" and content.parts]
        guarded.append(parts[-1][0].text)

    await ask(plugin, agent_of(endpoint, "n", run_sql, before_model_callback=guard), stories.TASK)
    assert guarded[0] == stories.TASK
    first, second = endpoint.seen["n"]
    (message,) = first.request.messages
    prompt, lessons = message["parts"]
    assert prompt["text"] == stories.TASK
    assert "orders" in lessons["text"]
    assert first.request.system == endpoint.seen["m"][0].request.system
    assert is_prefix(first, second)


@pytest.mark.parametrize("streamed", [False, True])
async def test_why_an_answer_is_wrong_stands_in_its_event(endpoint: Endpoint, client: Client, streamed: bool) -> None:
    """ADK has no way back to the model."""
    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", search_payments)
    events = await events_of(SidemirrorPlugin(client=client), agent, stories.PAYMENTS_TASK, streamed=streamed)
    assert "64.75" in (events[-1].custom_metadata or {})[REVISION]
    endpoint.script("right", stories.MISCOUNTED[0], stories.RIGHT_TOTAL)
    agent = agent_of(endpoint, "right", search_payments)
    events = await events_of(SidemirrorPlugin(client=client), agent, stories.PAYMENTS_TASK, streamed=streamed)
    assert REVISION not in (events[-1].custom_metadata or {})


async def test_what_stands_behind_sees_an_answer_that_is_flagged(endpoint: Endpoint, client: Client) -> None:
    """As it sees any other: a guardrail that is left out of the wrong answers guards nothing. Seen to fail when the
    plugin returns the answer, behind which ADK asks nobody."""
    seen: list[str] = []

    def guards(callback_context: Any, llm_response: Any) -> None:
        seen.append("".join(part.text or "" for part in llm_response.content.parts))

    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", search_payments, after_model_callback=guards)
    events = await events_of(SidemirrorPlugin(client=client), agent, stories.PAYMENTS_TASK)
    assert REVISION in (events[-1].custom_metadata or {})
    assert "64.75" in seen[-1]


async def test_sessions_of_two_users_are_two(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """ADK keeps ids apart by app and user. Seen to fail when the session's own id is the turn's session."""
    found = set()
    for user in ("alice", "bob"):
        endpoint.script(user, "Done.")
        runner = InMemoryRunner(
            agent=agent_of(endpoint, user), app_name="shop", plugins=[SidemirrorPlugin(client=client)]
        )
        await runner.session_service.create_session(app_name="shop", user_id=user, session_id="main")
        said = types.Content(role="user", parts=[types.Part(text=f"count for {user}")])
        async for _ in runner.run_async(user_id=user, session_id="main", new_message=said):
            pass
        found.add(sidecar.turn_of(f"count for {user}").session_id)
    assert found == {"shop/alice/main", "shop/bob/main"}


async def test_the_reason_as_the_users_next_message_has_the_model_answer_anew(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    chat = Conversation(agent_of(endpoint, "m", search_payments), SidemirrorPlugin(client=client))
    wrong = await chat.say(types.Part(text=stories.PAYMENTS_TASK))
    right = await chat.say(types.Part(text=(wrong[-1].custom_metadata or {})[REVISION]))
    assert (answer_of(wrong), answer_of(right)) == (stories.WRONG_TOTAL, stories.RIGHT_TOTAL)
    one, two = sidecar.turns(2)
    assert one.session_id == two.session_id != ""


async def test_an_invocation_that_waits_is_taken_up_in_its_session(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """A long running tool returns nothing yet; its result is the user's next message."""

    def approve(amount: int) -> None:
        """Asks a manager."""

    endpoint.script("m", [Call("approve", {"amount": 5})], stories.RIGHT)
    agent = agent_of(endpoint, "m", LongRunningFunctionTool(approve))
    chat = Conversation(agent, SidemirrorPlugin(client=client))
    waits = await chat.say(types.Part(text=stories.TASK))
    (call,) = [call for event in waits for call in event.get_function_calls()]
    result = types.FunctionResponse(id=call.id, name="approve", response={"status": "approved"})
    assert answer_of(await chat.say(types.Part(function_response=result))) == stories.RIGHT
    one, two = sidecar.turns(2)
    assert one.session_id == two.session_id != ""
    assert {one.outcome, two.outcome} == {common_pb2.TASK_OUTCOME_UNSPECIFIED}
    assert "response_drafted" not in kinds(sidecar.events(one.turn_id))
    assert "response_drafted" in kinds(sidecar.events(two.turn_id))


async def test_a_call_that_waits_for_a_confirmation_has_not_failed(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Seen to be learned as a failure, which sending the call again repairs."""
    endpoint.script("m", [Call("run_sql", {"query": "SHOW TABLES"})])
    tool = FunctionTool(run_sql, require_confirmation=True)
    await Conversation(agent_of(endpoint, "m", tool), SidemirrorPlugin(client=client)).say(types.Part(text="Look"))
    (turn,) = sidecar.turns()
    happened = kinds(sidecar.events(turn.turn_id))
    assert "tool_called" in happened
    assert not {"tool_returned", "tool_failed"} & set(happened)


async def test_a_call_that_adks_own_plugin_has_tried_again_has_failed_before(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """It answers the model in the place of a tool that raises."""
    errors = [RuntimeError("disk on fire")]

    def shaky() -> str:
        """Fails once."""
        if errors:
            raise errors.pop()
        return "fine"

    endpoint.script("m", [Call("shaky", {})], [Call("shaky", {})], stories.RIGHT)
    chat = Conversation(agent_of(endpoint, "m", shaky), SidemirrorPlugin(client=client), ReflectAndRetryToolPlugin())
    assert answer_of(await chat.say(types.Part(text=stories.TASK))) == stories.RIGHT
    events = sidecar.events(sidecar.turns()[0].turn_id)
    ends = [kind for kind in kinds(events) if kind.startswith("tool")]
    assert ends == ["tool_called", "tool_failed", "tool_called", "tool_returned"]
    assert [one.tool_failed.error for one in events if one.HasField("tool_failed")] == ["disk on fire"]


class TestEndings:
    """The outcome is on record however a run ends."""

    async def test_a_tool_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        endpoint.script("m", [Call("broken", {})])

        def broken() -> str:
            """Breaks."""
            raise RuntimeError("disk on fire")

        with pytest.raises(RuntimeError, match="disk on fire"):
            await ask(SidemirrorPlugin(client=client), agent_of(endpoint, "m", broken), "Try it.")
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_ERROR
        assert sidecar.events(turn.turn_id)[-2].tool_failed.error == "disk on fire"

    async def test_the_model_raises(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        endpoint.script("m", Fails(400))
        with pytest.raises(Exception, match="400"):
            await ask(SidemirrorPlugin(client=client), agent_of(endpoint, "m"), "Try it.")
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_ERROR

    @pytest.mark.parametrize("ending", ["cancelled", "timeout"])
    async def test_there_is_no_more_time(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar, ending: str
    ) -> None:
        endpoint.script("m", Hangs())
        task = asyncio.ensure_future(ask(SidemirrorPlugin(client=client), agent_of(endpoint, "m"), "Try it."))
        await asyncio.to_thread(endpoint.wait_for, "m")
        if ending == "timeout":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(task, 0.1)
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_TIMEOUT


async def test_a_transfer_is_one_turn(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    second = agent_of(endpoint, "b", run_sql, agent="second", description="Counts.")
    first = agent_of(endpoint, "a", run_sql, agent="first", sub_agents=[second])
    endpoint.script("a", [Call("transfer_to_agent", {"agent_name": "second"})])
    endpoint.script("b", [stories.GOOD], stories.RIGHT)
    assert await ask(SidemirrorPlugin(client=client), first, stories.TASK) == stories.RIGHT
    events = sidecar.events(sidecar.turns()[0].turn_id)
    assert_same(on_record(events, "second"), seen_by(endpoint.seen["b"]))
    calls = [(one.agent, one.tool_called.name) for one in events if one.HasField("tool_called")]
    assert calls == [("first", "transfer_to_agent"), ("second", "run_sql")]


async def test_a_tool_that_says_success_has_worked_and_no_other(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """Seen to fail: a report whose errors were those of others was a failed call."""

    def read_report() -> dict[str, Any]:
        """Reads the report."""
        return {"status": "success", "errors": ["disk full on another machine"]}

    def read_log() -> str:
        """Reads the log."""
        return f"Error: {stories.FAILURE}"

    endpoint.script("m", [Call("read_report", {})], [Call("read_log", {})], stories.GUESS)
    await ask(SidemirrorPlugin(client=client), agent_of(endpoint, "m", read_report, read_log), stories.TASK)
    (turn,) = sidecar.turns()
    ends = [event.tool_returned for event in sidecar.events(turn.turn_id) if event.HasField("tool_returned")]
    assert [(one.is_error, one.has_worked) for one in ends] == [(False, True), (False, False)]


async def test_runs_at_once_have_a_turn_each(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    plugin = SidemirrorPlugin(client=client)
    names = [endpoint.script(f"m{number}", *stories.REPAIRED) for number in range(8)]
    await asyncio.gather(*(ask(plugin, agent_of(endpoint, name, run_sql), name) for name in names))
    turns = sidecar.turns(8)
    assert sorted(turn.task for turn in turns) == names
    for turn in turns:
        assert_same(on_record(sidecar.events(turn.turn_id), "clerk"), seen_by(endpoint.seen[turn.task]))


async def test_only_what_a_redactor_lets_through_is_reported(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    endpoint.script("m", *stories.REPAIRED)
    settings = Settings(redact=lambda text: text.replace("orders", "█"))
    await ask(SidemirrorPlugin(settings, client=client), agent_of(endpoint, "m", run_sql), stories.TASK)
    assert "orders" not in str(sidecar.events(sidecar.turns()[0].turn_id))


async def test_everything_can_be_off(endpoint: Endpoint, client: Client) -> None:
    endpoint.script("m", [stories.BAD], [Call("search_payments", {"text": "taxi"})], stories.WRONG_TOTAL)
    settings = Settings(lessons=False, advice=False, revisions=0)
    agent = agent_of(endpoint, "m", run_sql, search_payments)
    events = await events_of(SidemirrorPlugin(settings, client=client), agent, stories.PAYMENTS_TASK)
    assert REVISION not in (events[-1].custom_metadata or {})
    roles = [one["role"] for one in endpoint.seen["m"][-1].request.messages]
    assert roles == ["user", "model", "user", "model", "user"], "a message, and two calls with their results"


async def test_without_a_sidecar_the_run_is_the_same(endpoint: Endpoint, away: Client) -> None:
    for name in ("with", "without"):
        endpoint.script(name, [stories.BAD], stories.GUESS)
    answer = await ask(SidemirrorPlugin(client=away), agent_of(endpoint, "with", run_sql), stories.TASK)
    assert answer == await ask(None, agent_of(endpoint, "without", run_sql), stories.TASK)
    with_, without = (
        [one.request.text.replace("_without_", "_with_") for one in endpoint.seen[name]] for name in ("with", "without")
    )
    assert with_ == without


async def test_a_model_of_the_tests_own(client: Client, sidecar: Sidecar) -> None:
    """The framework's way to test an agent is a model of one's own."""

    class Fine(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Fine.")]))

    assert await ask(SidemirrorPlugin(client=client), LlmAgent(name="a", model=Fine(model="fine")), "How?") == "Fine."
    assert len(sidecar.turns()) == 1
