"""The request for a question to a server with Chat Completions.

OpenAI's models differ by generation, as a small table says. Other servers are unknown beforehand: if a server refuses a
parameter with an error 400, `chat.py` leaves the parameter out from then on.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from sidemirror_server.models.answer_schema import schema_in_words, strict_schema
from sidemirror_server.models.language_model import Ask

# The ways to request JSON, best first.
Form = Literal["json_schema", "json_object", "text"]
_WEAKER: Mapping[Form, Form] = {"json_schema": "json_object", "json_object": "text", "text": "text"}

# OpenAI's models → the least effort that they take; "" if they do not reason. The first matching row decides. The last
# row is for new models, all of which reason. Source: OpenAI's reasoning guide (decision 013).
_LEAST_EFFORTS = (
    ("gpt-5*chat*", ""),
    ("gpt-5.[1-9]*", "none"),
    ("gpt-5*", "minimal"),
    ("o[134]*", "low"),
    ("gpt-4*", ""),
    ("gpt-3.5*", ""),
    ("chatgpt-*", ""),
    ("*", "low"),
)
# Thinking tokens → effort. Decision 013: LOW stands for 500 tokens of thinking, MEDIUM for 2000, HIGH for 5000.
_EFFORTS_FROM_TOKENS = ((5000, "high"), (2000, "medium"), (1, "low"))


class CompatibleServer(msgspec.Struct, frozen=True):
    """The known facts about the server, first from its address and later from the parameters that it refused."""

    is_openai: bool
    form: Form = "json_schema"
    left_out: frozenset[str] = frozenset()

    def without(self, parameter: str) -> "CompatibleServer":
        """The same server, known to refuse `parameter`."""
        if parameter == "response_format":
            return msgspec.structs.replace(self, form=_WEAKER[self.form])
        return msgspec.structs.replace(self, left_out=self.left_out | {parameter})


class ChatRequest(msgspec.Struct, frozen=True):
    """`body`: arguments of `chat.completions.create`. `applied`: the parameters that were sent, for the usage. `sent`:
    the names of the sent parameters that can be left out if the server refuses them."""

    body: dict[str, Any]
    applied: dict[str, str]
    sent: tuple[str, ...]


def server_at(base_url: str) -> CompatibleServer:
    """The server that the address names."""
    return CompatibleServer(is_openai=urlsplit(base_url).hostname == "api.openai.com")


def request_of(ask: Ask[Any], model: str, server: CompatibleServer) -> ChatRequest:
    """The request that puts the ask to this server."""
    least = _least_effort(model) if server.is_openai else "none"
    # "none" turns thinking off in Ollama and llama.cpp. Otherwise a small model uses up its tokens by thinking.
    effort = "" if not least else _effort(ask, least)
    temperature = None if server.is_openai and least else ask.temperature
    wanted: dict[str, Any] = {"reasoning_effort": effort or None, "temperature": temperature}
    limit = "max_completion_tokens" if server.is_openai != ("max_tokens" in server.left_out) else "max_tokens"
    limit = "max_tokens" if "max_completion_tokens" in server.left_out else limit
    chosen = {name: value for name, value in wanted.items() if value is not None and name not in server.left_out}
    out = {name for name in server.left_out if name in wanted}
    if ask.temperature is not None and "temperature" not in chosen:
        out.add("temperature")
    if (ask.thinking_tokens or ask.effort) and "reasoning_effort" not in chosen:
        out.add("reasoning_effort")

    system = ask.system
    if server.form != "json_schema":
        system = f"{system}\n\n{schema_in_words(ask.answer_type)}".strip()
    told = [{"role": "system", "content": system}] if system else []
    body: dict[str, Any] = {
        "model": model,
        "messages": [*told, {"role": "user", "content": ask.prompt}],
        limit: ask.max_tokens + ask.thinking_tokens,
        **chosen,
    }
    if server.form == "json_schema":
        schema = {"name": ask.purpose.value, "schema": strict_schema(ask.answer_type), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif server.form == "json_object":
        body["response_format"] = {"type": "json_object"}
    applied = {limit: str(body[limit]), **{name: str(value) for name, value in chosen.items()}, "format": server.form}
    if out:
        applied["left_out"] = " ".join(sorted(out))
    optional = (*chosen, "response_format", limit) if server.form != "text" else (*chosen, limit)
    return ChatRequest(body, applied, optional)


def _least_effort(model: str) -> str:
    wanted = model.lower().rpartition("/")[2].removeprefix("ft:")
    return next(effort for pattern, effort in _LEAST_EFFORTS if fnmatchcase(wanted, pattern))


def _effort(ask: Ask[Any], least: str) -> str:
    if ask.effort is not None:
        return ask.effort
    return next((effort for tokens, effort in _EFFORTS_FROM_TOKENS if ask.thinking_tokens >= tokens), least)
