"""What the Anthropic adapter sends, and what it says about it."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import Ask
from sidemirror_server.vocabulary.errors import ModelFailed
from tests.models.endpoint import CLAUDE, KEY, Endpoint
from tests.models.provider_answers import ALWAYS_THINKS, BY_BUDGET, MODELS
from tests.models.providers import anthropic, real_ask


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with Endpoint() as server:
        yield server


async def asked(endpoint: Endpoint, model: str, ask: Ask[MidTurnAnswer]) -> tuple[dict[str, Any], dict[str, str]]:
    """The body of the request, and the parameters that were reported."""
    claude = anthropic(endpoint, model)
    usage = (await claude.complete(ask, 30.0)).usage
    await claude.close()
    return endpoint.calls[-1].body, usage.parameters


async def test_the_request(endpoint: Endpoint) -> None:
    ask = real_ask()
    body, parameters = await asked(endpoint, CLAUDE, ask)
    assert body["messages"] == [{"role": "user", "content": ask.prompt}]
    assert body["system"] == [{"type": "text", "text": ask.system, "cache_control": {"type": "ephemeral"}}]
    assert body["max_tokens"] == 500
    assert body["thinking"] == {"type": "disabled"}
    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert parameters == {
        "max_tokens": "500",
        "thinking": "disabled",
        "effort": "low",
        "format": "json_schema",
        "cache": "system",
    }


@pytest.mark.parametrize(
    ("model", "thinking_tokens", "thinking", "effort", "max_tokens", "left_out"),
    [
        (CLAUDE, 2000, {"type": "adaptive", "display": "omitted"}, "medium", 2500, None),
        (CLAUDE, 5000, {"type": "adaptive", "display": "omitted"}, "high", 5500, None),
        (ALWAYS_THINKS, 0, None, "low", 500, None),
        (BY_BUDGET, 0, {"type": "disabled"}, None, 500, "effort"),
        (BY_BUDGET, 500, {"type": "enabled", "budget_tokens": 1024}, None, 1524, "effort"),
        (BY_BUDGET, 5000, {"type": "enabled", "budget_tokens": 5000}, None, 5500, "effort"),
    ],
)
async def test_thinking_by_what_the_model_takes(
    endpoint: Endpoint,
    model: str,
    thinking_tokens: int,
    thinking: dict[str, Any] | None,
    effort: str | None,
    max_tokens: int,
    left_out: str | None,
) -> None:
    ask = msgspec.structs.replace(real_ask(), thinking_tokens=thinking_tokens)
    body, parameters = await asked(endpoint, model, ask)
    assert body.get("thinking") == thinking
    assert body["output_config"].get("effort") == effort
    assert body["max_tokens"] == max_tokens
    assert parameters.get("left_out") == left_out


async def test_the_asks_effort_wins(endpoint: Endpoint) -> None:
    body, parameters = await asked(endpoint, CLAUDE, msgspec.structs.replace(real_ask(), effort="high"))
    assert body["output_config"]["effort"] == parameters["effort"] == "high"


async def test_temperature_is_left_out_and_reported(endpoint: Endpoint) -> None:
    body, parameters = await asked(endpoint, CLAUDE, msgspec.structs.replace(real_ask(), temperature=0.1))
    assert "temperature" not in body
    assert parameters["left_out"] == "temperature"


async def test_a_model_that_nothing_is_known_of_is_sent_nothing_special(endpoint: Endpoint) -> None:
    endpoint.lookups_hang = True
    body, parameters = await asked(endpoint, CLAUDE, msgspec.structs.replace(real_ask(), thinking_tokens=500))
    assert "thinking" not in body
    assert body["output_config"].keys() == {"format"}
    assert parameters["left_out"] == "effort thinking"


async def test_what_a_model_takes_is_not_waited_for_until_the_deadline(endpoint: Endpoint) -> None:
    endpoint.lookups_hang = True
    model = anthropic(endpoint)
    await model.prepare()
    assert (await model.complete(real_ask(), 1.5)).answer.reflection == "The endpoint says so."
    await model.close()


async def test_what_a_model_takes_is_asked_once(endpoint: Endpoint) -> None:
    model = anthropic(endpoint)
    for _ in range(3):
        await model.complete(real_ask(), 30.0)
    await model.close()
    assert [call.path for call in endpoint.lookups] == [f"/v1/models/{CLAUDE}"]


async def test_a_long_rubric_is_cached_and_told(endpoint: Endpoint) -> None:
    model = anthropic(endpoint)
    ask = msgspec.structs.replace(real_ask(), system="Judge by the rubric. " * 200)
    first, second = [(await model.complete(ask, 30.0)).usage for _ in range(2)]
    await model.close()
    assert (first.cache_write_tokens, first.cache_read_tokens) == (1051, 0)
    assert (second.cache_write_tokens, second.cache_read_tokens) == (0, 1051)
    assert first.input_tokens == second.input_tokens == endpoint.calls[0].input_tokens


async def test_tokens_are_counted_by_the_provider(endpoint: Endpoint) -> None:
    model = anthropic(endpoint)
    counted = await model.count_tokens(real_ask(), 30.0)
    await model.complete(real_ask(), 30.0)
    assert counted == endpoint.calls[0].input_tokens
    endpoint.lookups_hang = True
    assert await model.count_tokens(real_ask(), 0.2) is None
    await model.close()


async def test_a_parameter_that_is_refused_is_left_out_from_then_on(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = anthropic(endpoint, BY_BUDGET)
    await model.complete(real_ask(), 30.0)
    types = {"adaptive": {"supported": True}, "disabled": {"supported": False}}
    monkeypatch.setitem(MODELS[BY_BUDGET]["capabilities"]["thinking"], "types", types)
    with pytest.raises(ModelFailed) as failed:
        await model.complete(real_ask(), 30.0)
    assert failed.value.retryable
    assert failed.value.retry_after_s == 0.0
    assert failed.value.detail.endswith("; thinking is left out from now on")
    usage = (await model.complete(real_ask(), 30.0)).usage
    await model.close()
    assert "thinking" not in endpoint.calls[-1].body
    assert usage.parameters["left_out"] == "effort thinking"


async def test_the_key_goes_nowhere_but_into_its_header(endpoint: Endpoint) -> None:
    await asked(endpoint, CLAUDE, real_ask())
    call = endpoint.calls[0]
    assert [name for name, value in call.headers.items() if KEY in value] == ["authorization"]
    assert KEY not in repr(AnthropicModel(CLAUDE, KEY))
