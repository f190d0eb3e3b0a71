"""What agents do that ADK's own documentation shows: tools that return errors, and plugins that ADK itself makes."""

from google.genai import types
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time, kinds
from sidemirror_google_adk import Settings, SidemirrorPlugin
from tests.test_plugin import Conversation, a_key, agent_of, answer_of, ask

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
