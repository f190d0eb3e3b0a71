"""Thinking depth: the four levels, their token budgets and instructions, and the augmented prompt.

`provider_parameters.py` turns a level into a model's parameters; `rpc` turns wire numbers into levels.
"""

from enum import Enum


class ThinkLevel(Enum):
    """How much reasoning is asked for before an answer (seed thinking-manager, "ThinkLevel Enum")."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


# Seed thinking-manager, "ThinkLevel Enum": about this many tokens of reasoning.
TOKEN_BUDGETS: dict[ThinkLevel, int] = {
    ThinkLevel.OFF: 0,
    ThinkLevel.LOW: 500,
    ThinkLevel.MEDIUM: 2000,
    ThinkLevel.HIGH: 5000,
}

# MEDIUM is the text of seed thinking-manager, "Properties". LOW and HIGH are written here, because the seed gives only
# their meaning (decision 013).
INSTRUCTIONS: dict[ThinkLevel, str] = {
    ThinkLevel.OFF: "",
    ThinkLevel.LOW: "Think briefly before you answer: a few sentences in <think>...</think>, then the answer.",
    ThinkLevel.MEDIUM: "Wrap your reasoning in <think>...</think> before your answer.",
    ThinkLevel.HIGH: (
        "Analyse the task deeply in <think>...</think> before your answer: "
        "weigh alternative approaches, look for edge cases, and verify your conclusion."
    ),
}

# Seed thinking-manager, "Thinking Prompt".
_HEADING = "## Thinking Instructions"

_BY_NAME = {level.value: level for level in ThinkLevel}


def level_named(text: str) -> ThinkLevel:
    """The level named `text`, ignoring case and surrounding space; OFF for other text, as in seed thinking-manager."""
    return _BY_NAME.get(text.strip().lower(), ThinkLevel.OFF)


def augment(base_prompt: str, level: ThinkLevel) -> str:
    """`base_prompt`, a blank line, the heading, a newline and the level's instruction; at OFF `base_prompt` unchanged.

    An empty base prompt gives the heading and the instruction alone, without a blank line.
    """
    if level is ThinkLevel.OFF:
        return base_prompt
    instructions = f"{_HEADING}\n{INSTRUCTIONS[level]}"
    return f"{base_prompt}\n\n{instructions}" if base_prompt else instructions
