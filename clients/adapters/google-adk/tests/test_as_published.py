"""What agents do that ADK's own documentation shows: tools that return errors, and plugins that ADK itself makes."""

import json
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types
from pydantic import BaseModel
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time, kinds
from scripted.wire import Call
from sidemirror_google_adk import Settings, SidemirrorPlugin
from tests.test_plugin import Conversation, a_key, agent_of, answer_of, ask

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client

__all__ = ["a_key"]


def run_sql(query: str) -> str:
    """Runs SQL."""
    return stories.unmarked_sql(query)


async def test_advice_for_a_failure_that_is_a_text_is_in_the_next_request(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    plugin = SidemirrorPlugin(Settings(lessons=False), client=client)
    await assert_in_time(sidecar, endpoint, lambda name: ask(plugin, agent_of(endpoint, name, run_sql), stories.TASK))


async def test_a_plugin_that_adk_names_and_one_of_the_apps_have_one_turn(
    endpoint: Endpoint, client: Client, sidecar: Sidecar
) -> None:
    """ADK gives a name to a plugin that it makes itself, by `--extra_plugins`."""
    named = SidemirrorPlugin(name="sidemirror_google_adk.SidemirrorPlugin", client=client)
    endpoint.script("m", *stories.REPAIRED)
    chat = Conversation(agent_of(endpoint, "m", run_sql), SidemirrorPlugin(client=client), named)
    assert answer_of(await chat.say(types.Part(text=stories.TASK))) == stories.RIGHT
    (turn,) = sidecar.turns()
    assert kinds(sidecar.events(turn.turn_id)).count("model_started") == len(endpoint.seen["m"])


async def test_what_a_model_has_thought_is_not_its_answer(client: Client, sidecar: Sidecar) -> None:
    """As `ThinkingConfig(include_thoughts=True)` has it. Seen to be judged, and recorded, before the answer."""
    judged: list[str] = []

    class Thinks(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            parts = [types.Part(text="Three, perhaps.", thought=True), types.Part(text=stories.RIGHT)]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

    def outcome(answer: str) -> bool:
        judged.append(answer)
        return answer == stories.RIGHT

    plugin = SidemirrorPlugin(Settings(outcome=outcome), client=client)
    await ask(plugin, LlmAgent(name="clerk", model=Thinks(model="thinks")), stories.TASK)
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    assert [one.model_returned.text for one in events if one.HasField("model_returned")] == [stories.RIGHT]
    assert events[-2].response_drafted.text == stories.RIGHT
    assert (turn.outcome, judged) == (common_pb2.TASK_OUTCOME_SUCCESS, [stories.RIGHT])


class Count(BaseModel):
    """A structured answer."""

    orders: int


async def test_a_structured_answer_is_judged_as_json(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    """Seen to be no answer: beside other tools ADK has the model give it by one of its own."""
    endpoint.script("m", [stories.GOOD], [Call("set_model_response", {"orders": 17})])
    plugin = SidemirrorPlugin(Settings(outcome=lambda answer: json.loads(answer) == {"orders": 17}), client=client)
    await ask(plugin, agent_of(endpoint, "m", run_sql, output_schema=Count), stories.TASK)
    (turn,) = sidecar.turns()
    assert turn.outcome == common_pb2.TASK_OUTCOME_SUCCESS
    assert json.loads(sidecar.events(turn.turn_id)[-2].response_drafted.text) == {"orders": 17}
