import pytest

from sidemirror_server.thinking.levels import INSTRUCTIONS, TOKEN_BUDGETS, ThinkLevel, augment, level_named


def test_the_seeds_numbers() -> None:
    assert {level.value: budget for level, budget in TOKEN_BUDGETS.items()} == {
        "off": 0,
        "low": 500,
        "medium": 2000,
        "high": 5000,
    }


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("off", ThinkLevel.OFF),
        ("low", ThinkLevel.LOW),
        ("medium", ThinkLevel.MEDIUM),
        ("high", ThinkLevel.HIGH),
        (" HIGH\n", ThinkLevel.HIGH),
        ("invalid", ThinkLevel.OFF),
        ("", ThinkLevel.OFF),
        ("ThinkLevel.HIGH", ThinkLevel.OFF),
    ],
)
def test_text_that_names_no_level_is_off(text: str, level: ThinkLevel) -> None:
    assert level_named(text) is level


def test_the_augmented_prompt_is_the_seeds() -> None:
    assert augment("You are a travel agent.", ThinkLevel.MEDIUM) == (
        "You are a travel agent.\n"
        "\n"
        "## Thinking Instructions\n"
        "Wrap your reasoning in <think>...</think> before your answer."
    )


@pytest.mark.parametrize("level", [ThinkLevel.LOW, ThinkLevel.MEDIUM, ThinkLevel.HIGH])
def test_every_level_is_appended_in_the_same_form(level: ThinkLevel) -> None:
    assert augment("base\n", level) == f"base\n\n\n## Thinking Instructions\n{INSTRUCTIONS[level]}"
    assert "<think>" in INSTRUCTIONS[level]


def test_the_instructions_ask_for_different_depths() -> None:
    assert "briefly" in INSTRUCTIONS[ThinkLevel.LOW]
    for wanted in ("deeply", "alternative", "edge cases", "verify"):
        assert wanted in INSTRUCTIONS[ThinkLevel.HIGH]


@pytest.mark.parametrize("base", ["", "base", " base \n\n"])
def test_off_leaves_the_base_prompt_unchanged(base: str) -> None:
    assert augment(base, ThinkLevel.OFF) == base


def test_an_empty_base_prompt_gets_the_instructions_alone() -> None:
    assert augment("", ThinkLevel.MEDIUM) == (
        "## Thinking Instructions\nWrap your reasoning in <think>...</think> before your answer."
    )
