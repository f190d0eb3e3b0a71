"""What each known family is told, level by level. A literal here is what an agent would send."""

import pytest

from sidemirror_server.thinking.families import FAMILIES
from sidemirror_server.thinking.levels import ThinkLevel, augment
from sidemirror_server.thinking.provider_parameters import ThinkingPlan, plan_thinking

OFF, LOW, MEDIUM, HIGH = ThinkLevel


def claude(effort: str) -> dict[str, object]:
    return {"output_config": {"effort": effort}}


def adaptive(effort: str) -> dict[str, object]:
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def budget(tokens: int) -> dict[str, object]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


DISABLED: dict[str, object] = {"thinking": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("provider", "model", "off", "low", "medium", "high"),
    [
        ("anthropic", "claude-opus-5-5", claude("low"), claude("low"), claude("medium"), claude("high")),
        ("anthropic", "claude-fable-5-1", claude("low"), claude("low"), claude("medium"), claude("high")),
        ("anthropic", "claude-haiku-5-5", DISABLED, claude("low"), claude("medium"), claude("high")),
        ("anthropic", "claude-opus-5", DISABLED, claude("low"), claude("medium"), claude("high")),
        (
            "anthropic",
            "claude-sonnet-5-5",
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}},
            claude("low"),
            claude("medium"),
            claude("high"),
        ),
        ("anthropic", "claude-opus-4-8", {}, adaptive("low"), adaptive("medium"), adaptive("high")),
        ("anthropic", "us.anthropic.claude-opus-4-6-v1", {}, adaptive("low"), adaptive("medium"), adaptive("high")),
        ("anthropic", "anthropic/claude-sonnet-4.6", {}, adaptive("low"), adaptive("medium"), adaptive("high")),
        ("anthropic", "claude-haiku-4-5-20251001", {}, budget(1024), budget(2000), budget(5000)),
        ("Claude", "claude-sonnet-4-5", {}, budget(1024), budget(2000), budget(5000)),
        ("openai", "gpt-5.1", *({"reasoning_effort": name} for name in ("none", "low", "medium", "high"))),
        ("openai", "gpt-5-mini", *({"reasoning_effort": name} for name in ("minimal", "low", "medium", "high"))),
        ("openai", "openai/o4-mini", *({"reasoning_effort": name} for name in ("low", "low", "medium", "high"))),
        ("ollama", "gpt-oss:20b", *({"reasoning_effort": name} for name in ("low", "low", "medium", "high"))),
        ("ollama", "qwen3:8b", *({"reasoning_effort": name} for name in ("none", "medium", "medium", "medium"))),
        (
            "vllm",
            "Qwen/Qwen3-8B",
            *({"chat_template_kwargs": {"enable_thinking": thinks}} for thinks in (False, True, True, True)),
        ),
        (
            "llama_cpp",
            "qwen3-8b",
            {"reasoning_effort": "none"},
            *({"chat_template_kwargs": {"enable_thinking": True}} for _ in range(3)),
        ),
    ],
)
def test_a_model_that_thinks_gets_parameters_and_its_base_prompt(
    provider: str,
    model: str,
    off: dict[str, object],
    low: dict[str, object],
    medium: dict[str, object],
    high: dict[str, object],
) -> None:
    plans = [plan_thinking("base", level, provider, model) for level in ThinkLevel]
    assert [plan.provider_parameters for plan in plans] == [off, low, medium, high]
    assert [plan.prompt for plan in plans] == ["base"] * 4
    assert [plan.level for plan in plans] == list(ThinkLevel)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("", ""),
        ("", "claude-opus-5-5"),
        ("openai_compatible", "anything"),
        ("openai", "gpt-4o"),
        ("openai", "gpt-5-chat-latest"),
        ("openai", "o1-mini"),
        ("anthropic", "claude-3-5-haiku-20241022"),
        ("vllm", "Qwen/Qwen3-235B-A22B-Instruct-2507"),
    ],
)
@pytest.mark.parametrize("level", ThinkLevel)
def test_a_model_that_does_not_think_gets_the_instruction(provider: str, model: str, level: ThinkLevel) -> None:
    budgets = {OFF: 0, LOW: 500, MEDIUM: 2000, HIGH: 5000}
    assert plan_thinking("base", level, provider, model) == ThinkingPlan(
        level, augment("base", level), budgets[level], {}, ()
    )


@pytest.mark.parametrize(
    ("provider", "model", "said"),
    [
        (
            "anthropic",
            "claude-opus-9",
            "model 'claude-opus-9' of 'anthropic' is not known: only the returned prompt asks for thinking",
        ),
        (
            "openai",
            "gpt-5.2-pro",
            "model 'gpt-5.2-pro' of 'openai' is not known: only the returned prompt asks for thinking",
        ),
        ("ollama", "llama3.2", "model 'llama3.2' of 'ollama' is not known: only the returned prompt asks for thinking"),
        ("vllm", "", "no model of 'vllm' named: only the returned prompt asks for thinking"),
        ("acme", "m", "provider 'acme' is not known: only the returned prompt asks for thinking"),
    ],
)
def test_an_unknown_model_gets_the_instruction_and_is_told(provider: str, model: str, said: str) -> None:
    plan = plan_thinking("base", MEDIUM, provider, model)
    assert plan == ThinkingPlan(MEDIUM, augment("base", MEDIUM), 2000, {}, (said,))
    assert plan_thinking("base", OFF, provider, model) == ThinkingPlan(OFF, "base", 0, {}, ())


def test_a_budget_below_the_least_is_raised_and_reported() -> None:
    plan = plan_thinking("base", LOW, "anthropic", "claude-haiku-4-5")
    assert plan.token_budget == 1024
    assert plan.clamps == ("budget_tokens raised from 500 to 1024, the least that claude-haiku-4-5 takes",)
    assert plan_thinking("base", MEDIUM, "anthropic", "claude-haiku-4-5").clamps == ()


@pytest.mark.parametrize(
    ("provider", "model", "said"),
    [
        ("anthropic", "claude-opus-5-5", "claude-opus-5-5 cannot stop thinking: the lowest effort is set"),
        ("openai", "o3", "o3 cannot stop thinking: the lowest effort is set"),
        ("openai", "gpt-5", "gpt-5 cannot stop thinking: the least effort is set"),
        (
            "anthropic",
            "claude-sonnet-5-5",
            (
                "claude-sonnet-5-5 still thinks between tool calls: "
                "thinking before the answer is off and the lowest effort is set"
            ),
        ),
    ],
)
def test_a_model_that_cannot_stop_thinking_says_so_at_off(provider: str, model: str, said: str) -> None:
    plan = plan_thinking("base", OFF, provider, model)
    assert plan.clamps == (said,)
    assert plan.token_budget == 0


def test_a_model_with_a_switch_says_that_depth_cannot_be_set() -> None:
    assert plan_thinking("base", HIGH, "ollama", "qwen3:8b").clamps == (
        "qwen3:8b thinks or does not: how deeply cannot be set",
    )
    assert plan_thinking("base", OFF, "ollama", "qwen3:8b").clamps == ()


def test_hostile_names_are_only_names() -> None:
    for model in ("{model}", "{0.__class__}", "[", "*", "claude-", "o1-\x00", "qwen3{"):
        for provider in FAMILIES:
            plan_thinking("base", HIGH, provider, model)


def test_plans_share_nothing() -> None:
    first = plan_thinking("base", MEDIUM, "anthropic", "claude-opus-5-5")
    first.provider_parameters["output_config"] = "changed"
    assert plan_thinking("base", MEDIUM, "anthropic", "claude-opus-5-5").provider_parameters == claude("medium")
