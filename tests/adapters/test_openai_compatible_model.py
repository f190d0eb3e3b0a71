"""What the OpenAI-compatible adapter sends, and what it makes of servers that are not OpenAI."""

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from sidemirror_server.models.adapters.openai_compatible.parameters import request_of, server_at
from sidemirror_server.vocabulary.errors import ModelFailed
from tests.models import provider_answers
from tests.models.endpoint import LOCAL, Endpoint
from tests.models.providers import openai_compatible, real_ask


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with Endpoint() as server:
        yield server


async def test_the_request(endpoint: Endpoint) -> None:
    model = openai_compatible(endpoint)
    ask = msgspec.structs.replace(real_ask(), temperature=0.1)
    usage = (await model.complete(ask, 30.0)).usage
    await model.close()
    body = endpoint.calls[0].body
    assert body["messages"] == [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.prompt}]
    assert (body["max_tokens"], body["temperature"], body["reasoning_effort"]) == (500, 0.1, "none")
    form = body["response_format"]
    assert (form["type"], form["json_schema"]["name"]) == ("json_schema", "mid_turn_reflection")
    assert form["json_schema"]["strict"] is True
    assert usage.parameters == {
        "max_tokens": "500",
        "temperature": "0.1",
        "reasoning_effort": "none",
        "format": "json_schema",
    }


@pytest.mark.parametrize(
    ("model", "effort", "temperature", "left_out"),
    [
        ("gpt-5.5-mini", "none", None, "temperature"),
        ("gpt-5-mini", "minimal", None, "temperature"),
        ("o3", "low", None, "temperature"),
        ("gpt-6", "low", None, "temperature"),
        ("gpt-4o-mini", None, 0.1, None),
        ("gpt-5-chat-latest", None, 0.1, None),
    ],
)
def test_openais_own_models(model: str, effort: str | None, temperature: float | None, left_out: str | None) -> None:
    ask = msgspec.structs.replace(real_ask(), temperature=0.1)
    request = request_of(ask, model, server_at("https://api.openai.com/v1"))
    assert request.body.get("reasoning_effort") == effort
    assert request.body.get("temperature") == temperature
    assert request.body["max_completion_tokens"] == 500
    assert "max_tokens" not in request.body
    assert request.applied.get("left_out") == left_out


@pytest.mark.parametrize(("tokens", "effort"), [(0, "none"), (500, "low"), (2000, "medium"), (5000, "high")])
def test_effort_follows_the_thinking_tokens(tokens: int, effort: str) -> None:
    ask = msgspec.structs.replace(real_ask(), thinking_tokens=tokens)
    request = request_of(ask, LOCAL, server_at("http://127.0.0.1:11434/v1"))
    assert request.body["reasoning_effort"] == effort
    assert request.body["max_tokens"] == 500 + tokens


@pytest.mark.parametrize(
    ("unsupported", "attempts", "left_out", "form"),
    [
        ({"temperature"}, 2, "temperature", "json_schema"),
        ({"reasoning_effort", "temperature"}, 3, "reasoning_effort temperature", "json_schema"),
        ({"json_schema"}, 2, None, "json_object"),
        ({"response_format"}, 3, None, "text"),
        ({"max_tokens"}, 2, None, "json_schema"),
    ],
)
async def test_what_a_server_refuses_is_left_out_from_then_on(
    unsupported: set[str], attempts: int, left_out: str | None, form: str, endpoint: Endpoint
) -> None:
    endpoint.unsupported = unsupported
    model = openai_compatible(endpoint)
    ask = msgspec.structs.replace(real_ask(), temperature=0.1)
    for _ in range(attempts - 1):
        with pytest.raises(ModelFailed) as failed:
            await model.complete(ask, 30.0)
        assert (failed.value.retryable, failed.value.retry_after_s) == (True, 0.0)
    parameters = (await model.complete(ask, 30.0)).usage.parameters
    await model.close()
    assert len(endpoint.calls) == attempts
    assert parameters.get("left_out") == left_out
    assert parameters["format"] == form


def speaking(change: dict[str, Any], usage: bool = True) -> Any:
    """A server whose message is changed."""
    original = provider_answers.respond

    def respond(*given: Any) -> tuple[bytes, int, int]:
        body, asked, made = original(*given)
        completion = json.loads(body)
        text = completion["choices"][0]["message"]["content"]
        filled = {name: value.replace("ANSWER", text) for name, value in change.items()}
        completion["choices"][0]["message"] = {"role": "assistant", **filled}
        if not usage:
            del completion["usage"]
        return json.dumps(completion).encode(), asked, made

    return respond


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "reasoning": "ANSWER"},
        {"content": "", "reasoning_content": "ANSWER"},
        {"content": "<think>Is it {good}?</think>\nANSWER"},
        {"content": "Here it is:\n```json\nANSWER\n```\nAnything else?"},
    ],
)
async def test_local_models_wrap_their_answer(
    message: dict[str, str], endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_answers, "respond", speaking(message))
    model = openai_compatible(endpoint)
    completion = await model.complete(real_ask(), 30.0)
    await model.close()
    assert completion.answer.reflection == "The endpoint says so."
    assert completion.usage.parameters.get("answered_in") == (None if message["content"] else "reasoning")


async def test_a_server_that_does_not_count_is_estimated(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_answers, "respond", speaking({"content": "ANSWER"}, usage=False))
    model = openai_compatible(endpoint)
    usage = (await model.complete(real_ask(), 30.0)).usage
    await model.close()
    assert usage.parameters["tokens"] == "estimated"
    assert usage.input_tokens > endpoint.calls[0].input_tokens
    assert usage.output_tokens > endpoint.calls[0].output_tokens


async def test_it_offers_no_count_of_tokens(endpoint: Endpoint) -> None:
    model = openai_compatible(endpoint)
    assert await model.count_tokens(real_ask(), 30.0) is None
    await model.close()
    assert endpoint.lookups == []
