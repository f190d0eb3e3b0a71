"""Reads which parameters a Claude model takes (`GET /v1/models/{id}`), and makes the request for a question.

Models differ in whether thinking can be turned off, turned on or given a budget. A parameter that a model does not take
causes an error 400. The provider is asked, because a release would make a table of models out of date (decision 013).
"""

from typing import Any

import msgspec

from sidemirror_server.models.answer_schema import schema_in_words, strict_schema
from sidemirror_server.models.language_model import Ask

# anthropic SDK, ThinkingConfigEnabledParam: budget_tokens must be at least this.
_LEAST_BUDGET_TOKENS = 1024
# Thinking tokens → effort. Decision 013: LOW stands for 500 tokens of thinking, MEDIUM for 2000, HIGH for 5000.
_EFFORTS_FROM_TOKENS = ((5000, "high"), (2000, "medium"), (0, "low"))


class Support(msgspec.Struct, frozen=True):
    """Whether the model supports one feature."""

    supported: bool = False


_NO = Support()


class ThinkingTypes(msgspec.Struct, frozen=True):
    """The values of `thinking.type` that the model takes."""

    adaptive: Support = _NO
    enabled: Support = _NO
    disabled: Support = _NO
    between_tools: Support = _NO


class Thinking(msgspec.Struct, frozen=True):
    """The capabilities of the model's thinking."""

    types: ThinkingTypes = ThinkingTypes()


class Effort(msgspec.Struct, frozen=True):
    """The values of `output_config.effort` that the model takes."""

    low: Support = _NO
    medium: Support = _NO
    high: Support = _NO


class Capabilities(msgspec.Struct, frozen=True):
    """The capabilities that requests depend on. The defaults are for an unknown model: no extra parameters."""

    effort: Effort = Effort()
    thinking: Thinking = Thinking()
    structured_outputs: Support = Support(supported=True)


class DescribedModel(msgspec.Struct, frozen=True):
    """A model as the provider describes it."""

    capabilities: Capabilities | None = None
    max_tokens: int | None = None


class MessagesRequest(msgspec.Struct, frozen=True):
    """`body`: arguments of `messages.create`. `applied`: the parameters that were sent, for the usage. `sent`: the
    names of the sent parameters that can be left out if the provider refuses them."""

    body: dict[str, Any]
    applied: dict[str, str]
    sent: tuple[str, ...]


def request_of(ask: Ask[Any], name: str, model: DescribedModel, left_out: frozenset[str]) -> MessagesRequest:
    """The request that puts the ask to this model. `left_out`: parameters that the model has refused before."""
    known = model.capabilities or Capabilities()
    out = set(left_out)
    if ask.temperature is not None:
        out.add("temperature")  # API version 2026-10-21 has none
    thinking = None if "thinking" in out else _thinking(ask, known.thinking.types)
    if ask.thinking_tokens and thinking is None:
        out.add("thinking")
    effort = _effort(ask)
    if "effort" in out or not getattr(known.effort, effort).supported:
        out.add("effort")
    binds = known.structured_outputs.supported and "format" not in left_out
    if not binds:
        out.add("format")
    most = ask.max_tokens + max(ask.thinking_tokens, (thinking or {}).get("budget_tokens", 0))
    if model.max_tokens is not None:
        most = min(most, model.max_tokens)

    output: dict[str, Any] = {} if "effort" in out else {"effort": effort}
    if binds:
        output["format"] = {"type": "json_schema", "schema": strict_schema(ask.answer_type)}
    system = [] if not ask.system else [{"type": "text", "text": ask.system}]
    if not binds:
        system.append({"type": "text", "text": schema_in_words(ask.answer_type)})
    cached = bool(system) and "cache_control" not in out
    if cached:  # the rubric is the same in every call of a purpose; the prompt is not
        system[-1]["cache_control"] = {"type": "ephemeral"}  # type: ignore[assignment]

    body: dict[str, Any] = {
        "model": name,
        "max_tokens": most,
        "messages": [{"role": "user", "content": ask.prompt}],
    }
    optional = {"system": system, "thinking": thinking, "output_config": output}
    body |= {argument: value for argument, value in optional.items() if value}
    said = {
        "max_tokens": str(most),
        "thinking": "" if thinking is None else str(thinking.get("budget_tokens", thinking["type"])),
        "effort": output.get("effort", ""),
        "format": "json_schema" if binds else "",
        "cache": "system" if cached else "",
        "left_out": " ".join(sorted(out)),
    }
    sent = [name for name in ("thinking", "effort", "format") if said[name]]
    applied = {name: value for name, value in said.items() if value}
    return MessagesRequest(body, applied, (*sent, "cache_control") if cached else tuple(sent))


def _thinking(ask: Ask[Any], types: ThinkingTypes) -> dict[str, Any] | None:
    if ask.thinking_tokens <= 0:
        off = ("disabled", "between_tools")
        return next(({"type": name} for name in off if getattr(types, name).supported), None)
    if types.adaptive.supported:
        return {"type": "adaptive", "display": "omitted"}  # the thinking is not read
    if types.enabled.supported:
        return {"type": "enabled", "budget_tokens": max(_LEAST_BUDGET_TOKENS, ask.thinking_tokens)}
    return None


def _effort(ask: Ask[Any]) -> str:
    return ask.effort or next(effort for least, effort in _EFFORTS_FROM_TOKENS if ask.thinking_tokens >= least)
