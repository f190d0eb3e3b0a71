"""The table of models and how each thinks, as documented by the providers and servers in November 2026.

Sources: the providers' pages named below (decision 013). A new model is a new row, and the first row that matches
decides. A model without a row counts as unknown, because a parameter that a model does not take causes an error 400.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

import msgspec

from sidemirror_server.thinking.levels import TOKEN_BUDGETS, ThinkLevel

# anthropic SDK 2.10, ThinkingConfigEnabledParam: budget_tokens must be at least this.
ANTHROPIC_LEAST_BUDGET_TOKENS = 1024

# "openai_compatible" names a protocol and not a server. A server may refuse a field that it does not know.
UNKNOWN_SERVER = frozenset({"", "openai_compatible"})


class Setting(msgspec.Struct, frozen=True):
    """One level's setting for one family. `clamp`: the message if the level is not met, a template with `{model}`."""

    # A JSON object, decoded for each plan, so that plans share no state.
    parameters_json: bytes
    clamp: str = ""
    # None: the level's entry in TOKEN_BUDGETS.
    token_budget: int | None = None


Dial = Mapping[ThinkLevel, Setting]


class Family(msgspec.Struct, frozen=True):
    """Models with one behaviour. `pattern`: a shell pattern for the id that `id_in_table` returns.

    `dial`: None for models that do not think natively. `is_known`: False for models that count as unknown although a
    later row would match them.
    """

    pattern: str
    dial: Dial | None = None
    is_known: bool = True

    def matches(self, model: str) -> bool:
        return fnmatchcase(model, self.pattern)


def id_in_table(provider: str, model: str) -> str:
    """A model id as the table spells it: in lower case, without a path or gateway prefix (`Qwen/`, `openai/`). For
    anthropic also without the text before "claude-", and with dashes for dots."""
    wanted = model.strip().lower().rpartition("/")[2]
    if provider == "anthropic":
        wanted = wanted.rpartition("claude-")[2].replace(".", "-")
    return wanted


def _setting(parameters: Mapping[str, object], clamp: str = "", token_budget: int | None = None) -> Setting:
    return Setting(msgspec.json.encode(parameters), clamp, token_budget)


def _levels(off: Setting, low: Setting, medium: Setting, high: Setting) -> Dial:
    return {ThinkLevel.OFF: off, ThinkLevel.LOW: low, ThinkLevel.MEDIUM: medium, ThinkLevel.HIGH: high}


def _claude_effort(off: Setting, thinking: Mapping[str, object] | None = None) -> Dial:
    extra = {"thinking": thinking} if thinking else {}
    low, medium, high = (_setting({**extra, "output_config": {"effort": name}}) for name in ("low", "medium", "high"))
    return _levels(off, low, medium, high)


def _claude_budget() -> Dial:
    def budget(level: ThinkLevel) -> Setting:
        asked = TOKEN_BUDGETS[level]
        tokens = max(asked, ANTHROPIC_LEAST_BUDGET_TOKENS)
        clamp = (
            f"budget_tokens raised from {asked} to {tokens}, the least that {{model}} takes" if tokens > asked else ""
        )
        return _setting({"thinking": {"type": "enabled", "budget_tokens": tokens}}, clamp, tokens)

    return _levels(_setting({}), budget(ThinkLevel.LOW), budget(ThinkLevel.MEDIUM), budget(ThinkLevel.HIGH))


def _reasoning_effort(off: Setting) -> Dial:
    low, medium, high = (_setting({"reasoning_effort": name}) for name in ("low", "medium", "high"))
    return _levels(off, low, medium, high)


def _switch(off: Mapping[str, object], on: Mapping[str, object]) -> Dial:
    thinking = _setting(on, "{model} thinks or does not: how deeply cannot be set")
    return _levels(_setting(off), thinking, thinking, thinking)


_NEVER_OFF = "{model} cannot stop thinking: the lowest effort is set"

# Anthropic: what's-new pages of Opus 5.5, Sonnet 5.5 and Haiku 5.5, the effort page, Bedrock's adaptive-thinking page.
_CLAUDE_ALWAYS = _claude_effort(_setting({"output_config": {"effort": "low"}}, _NEVER_OFF))
_CLAUDE_BY_DEFAULT = _claude_effort(_setting({"thinking": {"type": "disabled"}}))
_CLAUDE_BETWEEN_TOOLS = _claude_effort(
    _setting(
        {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}},
        "{model} still thinks between tool calls: thinking before the answer is off and the lowest effort is set",
    )
)
_CLAUDE_WHEN_ASKED = _claude_effort(_setting({}), thinking={"type": "adaptive"})
_CLAUDE_BUDGET = _claude_budget()

# OpenAI: Chat Completions; the Responses API calls this field reasoning.effort. Its values differ by generation.
_OPENAI_NONE = _reasoning_effort(_setting({"reasoning_effort": "none"}))
_OPENAI_MINIMAL = _reasoning_effort(
    _setting({"reasoning_effort": "minimal"}, "{model} cannot stop thinking: the least effort is set")
)
_OPENAI_ALWAYS = _reasoning_effort(_setting({"reasoning_effort": "low"}, _NEVER_OFF))

# Ollama: OpenAI compatibility page; llama.cpp: server README and issue 26045; vLLM: reasoning outputs page.
_OLLAMA_SWITCH = _switch(off={"reasoning_effort": "none"}, on={"reasoning_effort": "medium"})
_VLLM_SWITCH = _switch(
    off={"chat_template_kwargs": {"enable_thinking": False}}, on={"chat_template_kwargs": {"enable_thinking": True}}
)
_LLAMA_CPP_SWITCH = _switch(off={"reasoning_effort": "none"}, on={"chat_template_kwargs": {"enable_thinking": True}})

# Qwen3 has hybrids with a switch, and variants that always or never think.
_QWEN3_VARIANTS = (
    Family("qwen3*thinking*", is_known=False),
    Family("qwen3*instruct*"),
    Family("qwen3*coder*"),
    Family("qwen3*embedding*", is_known=False),
)

FAMILIES: Mapping[str, tuple[Family, ...]] = {
    "anthropic": (
        Family("fable-5*", _CLAUDE_ALWAYS),
        Family("mythos-5*", _CLAUDE_ALWAYS),
        Family("mythos-preview*", _CLAUDE_ALWAYS),
        Family("opus-5-5*", _CLAUDE_ALWAYS),
        Family("sonnet-5-5*", _CLAUDE_BETWEEN_TOOLS),
        Family("haiku-5-5*", _CLAUDE_BY_DEFAULT),
        Family("opus-5", _CLAUDE_BY_DEFAULT),
        Family("opus-5-20*", _CLAUDE_BY_DEFAULT),
        Family("sonnet-5", _CLAUDE_BY_DEFAULT),
        Family("sonnet-5-20*", _CLAUDE_BY_DEFAULT),
        Family("opus-4-[678]*", _CLAUDE_WHEN_ASKED),
        Family("sonnet-4-6*", _CLAUDE_WHEN_ASKED),
        Family("opus-4-5*", _CLAUDE_BUDGET),
        Family("sonnet-4-5*", _CLAUDE_BUDGET),
        Family("haiku-4-5*", _CLAUDE_BUDGET),
        Family("opus-4-1*", _CLAUDE_BUDGET),
        Family("opus-4-20*", _CLAUDE_BUDGET),
        Family("sonnet-4-20*", _CLAUDE_BUDGET),
        Family("3-7-sonnet*", _CLAUDE_BUDGET),
        Family("3-5-*"),
        Family("3-opus*"),
        Family("3-sonnet*"),
        Family("3-haiku*"),
    ),
    "openai": (
        Family("gpt-5*chat*"),
        Family("gpt-5*pro*", is_known=False),
        Family("gpt-5*codex-mini*", is_known=False),
        Family("gpt-5*codex*", _OPENAI_ALWAYS),
        Family("gpt-5.[1-9]*", _OPENAI_NONE),
        Family("gpt-5", _OPENAI_MINIMAL),
        Family("gpt-5-*", _OPENAI_MINIMAL),
        Family("o1-mini*"),
        Family("o1-preview*"),
        Family("*deep-research*", is_known=False),
        Family("o[134]", _OPENAI_ALWAYS),
        Family("o[134]-*", _OPENAI_ALWAYS),
        Family("gpt-4*"),
        Family("gpt-3.5*"),
        Family("chatgpt-*"),
    ),
    "ollama": (
        Family("gpt-oss*", _OPENAI_ALWAYS),
        *_QWEN3_VARIANTS,
        Family("qwen3*", _OLLAMA_SWITCH),
        Family("deepseek-r1*", _OLLAMA_SWITCH),
    ),
    "vllm": (
        Family("gpt-oss*", _OPENAI_ALWAYS),
        *_QWEN3_VARIANTS,
        Family("qwen3*", _VLLM_SWITCH),
    ),
    "llama.cpp": (
        Family("gpt-oss*", _OPENAI_ALWAYS),
        *_QWEN3_VARIANTS,
        Family("qwen3*", _LLAMA_CPP_SWITCH),
    ),
}
