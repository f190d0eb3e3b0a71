"""Makes a model think at a level: by request parameters if the model thinks natively, else by a text in the prompt.

A plan has either parameters or the text, never both. For a model that thinks natively, the `<think>` text is useless or
even refused (Anthropic has a refusal category for it, `reasoning_extraction`). `families.py` is the table of models.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from sidemirror_server.thinking.families import FAMILIES, UNKNOWN_SERVER, Dial, id_in_table
from sidemirror_server.thinking.levels import TOKEN_BUDGETS, ThinkLevel, augment

# Other spellings of the providers' names.
_ALIASES: Mapping[str, str] = {
    "claude": "anthropic",
    "llama_cpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
    "llamacpp": "llama.cpp",
    "openai-compatible": "openai_compatible",
}
# Why there are no parameters ends so.
_BY_PROMPT = "only the returned prompt asks for thinking"


class ThinkingPlan(msgspec.Struct, frozen=True):
    """How an agent makes its model think at `level`.

    `prompt`: the system prompt to use. `token_budget`: tokens for thinking, 0 at OFF; the number sent to the provider
    if it takes a number, else the level's. `provider_parameters`: JSON-like, to merge into the body of the model
    request (for the OpenAI SDK and a local server: into `extra_body`); empty if the prompt has the instruction.
    `clamps`: messages for people, where the plan differs from the request.

    Anthropic requires `max_tokens` above `budget_tokens`, and counts thinking towards `max_tokens`: leave room.
    """

    level: ThinkLevel
    prompt: str
    token_budget: int
    provider_parameters: dict[str, object]
    clamps: tuple[str, ...] = ()


def plan_thinking(base_prompt: str, level: ThinkLevel, provider: str = "", model: str = "") -> ThinkingPlan:
    """The plan for this model. A model that does not think natively, is unknown or is not named gets the level's
    instruction in the prompt. `clamps` says if a named provider or its model is not known."""
    dial, unknown = _dial(provider, model)
    if dial is None:
        clamps = (unknown,) if unknown and level is not ThinkLevel.OFF else ()
        return ThinkingPlan(level, augment(base_prompt, level), TOKEN_BUDGETS[level], {}, clamps)
    setting = dial[level]
    return ThinkingPlan(
        level=level,
        prompt=base_prompt,
        token_budget=TOKEN_BUDGETS[level] if setting.token_budget is None else setting.token_budget,
        provider_parameters=msgspec.json.decode(setting.parameters_json),
        clamps=(setting.clamp.format(model=model),) if setting.clamp else (),
    )


@lru_cache(maxsize=256)
def _dial(provider: str, model: str) -> tuple[Dial | None, str]:
    """The model's dial and ""; or None and the reason why there is no dial (empty if none was expected)."""
    name = provider.strip().lower()
    name = _ALIASES.get(name, name)
    if name in UNKNOWN_SERVER:
        return None, ""
    families = FAMILIES.get(name)
    if families is None:
        return None, f"provider {provider!r} is not known: {_BY_PROMPT}"
    if not model.strip():
        return None, f"no model of {provider!r} named: {_BY_PROMPT}"
    wanted = id_in_table(name, model)
    for family in families:
        if family.matches(wanted):
            if family.is_known:
                return family.dial, ""
            break
    return None, f"model {model!r} of {provider!r} is not known: {_BY_PROMPT}"
