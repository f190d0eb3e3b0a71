"""The two providers behind the endpoint, as tests want them: a name, and how to make a model that asks there."""

from collections.abc import Callable

import msgspec

from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleModel
from sidemirror_server.models.adapters.remote import RemoteModel
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import Ask
from sidemirror_server.thinking.prompts import REFLECTION_SYSTEM, ToolOutcome, reflection_prompt
from tests.conformance import language_model as suite
from tests.models.endpoint import CLAUDE, KEY, LOCAL, Endpoint

CANARY = suite.CANARY


def anthropic(endpoint: Endpoint, model: str = CLAUDE) -> RemoteModel:
    return AnthropicModel(model, KEY, endpoint.anthropic_url)


def openai_compatible(endpoint: Endpoint, model: str = LOCAL) -> RemoteModel:
    return OpenAICompatibleModel(model, KEY, endpoint.openai_url)


Make = Callable[[Endpoint], RemoteModel]
PROVIDERS: dict[str, Make] = {"anthropic": anthropic, "openai_compatible": openai_compatible}


def real_ask() -> Ask[MidTurnAnswer]:
    """What a mid-turn reflection asks, with a canary in the user's question and in a tool result."""
    prompt = reflection_prompt(f"Where is W17? {CANARY}", [ToolOutcome("search", f"not found {CANARY}", True)], "boom")
    return msgspec.structs.replace(suite.ask(), system=REFLECTION_SYSTEM, prompt=prompt, temperature=None)
