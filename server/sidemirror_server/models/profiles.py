"""The profile of a purpose, and the limits on the length of a question and its answer.

The gateway applies these before a call.
"""

from collections.abc import Hashable
from functools import lru_cache
from typing import Literal

import msgspec

from sidemirror_server.models.language_model import AnswerT, Ask
from sidemirror_server.models.ledger import NANO
from sidemirror_server.models.prices import Prices
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# Tokens that a provider adds to a prompt for an answer by schema. Chosen here: twice Anthropic's number for tools, the
# largest documented number.
_ADDED_TOKENS = 800
# A limit below this would cut answers off. Chosen here: a paragraph in JSON.
LEAST_ANSWER_TOKENS = 256
# Anthropic's least thinking budget; smaller budgets are raised to it.
_LEAST_THINKING_TOKENS = 1_024


class Profile(msgspec.Struct, frozen=True):
    """The operator's settings for a purpose; None leaves the choice to the caller. They go before the caller's."""

    effort: Literal["low", "medium", "high"] | None = None
    temperature: float | None = None
    max_tokens: int | None = None

    def applied_to(self, ask: Ask[AnswerT]) -> Ask[AnswerT]:
        """The question, completed with the profile's values. The smaller of both answer limits applies."""
        longest = ask.max_tokens if self.max_tokens is None else min(ask.max_tokens, self.max_tokens)
        return msgspec.structs.replace(
            ask,
            effort=self.effort or ask.effort,
            temperature=ask.temperature if self.temperature is None else self.temperature,
            max_tokens=longest,
        )


class Within(msgspec.Struct, frozen=True):
    """The caller's remaining budget, for example of its turn. None: no cap."""

    tokens: int | None = None
    usd: float | None = None


NO_CAPS = Within()


def sent_bytes(ask: Ask[AnswerT]) -> int:
    """The length of the prompt and the answer's schema."""
    return len(ask.system.encode()) + len(ask.prompt.encode()) + _schema_bytes(ask.answer_type)


@lru_cache(maxsize=64)
def _schema_bytes(answer_type: Hashable) -> int:
    return len(msgspec.json.encode(msgspec.json.schema(answer_type)))


def most_input_tokens(ask: Ask[AnswerT]) -> int:
    """An upper bound on the prompt's tokens: every token covers at least one byte."""
    return sent_bytes(ask) + _ADDED_TOKENS


def most_output_tokens(ask: Ask[AnswerT]) -> int:
    """The most tokens that the answer can be billed for, thinking included."""
    return ask.max_tokens + (max(ask.thinking_tokens, _LEAST_THINKING_TOKENS) if ask.thinking_tokens else 0)


def fitted(ask: Ask[AnswerT], input_tokens: int, within: Within, prices: Prices, nothing: Usage) -> Ask[AnswerT]:
    """The question with its answer limited to what `within` can pay for.

    Raises `ModelFailed` (SKIPPED_BUDGET), with the usage `nothing`, if that is too short for an answer.
    """
    output = most_output_tokens(ask)
    room = [output]
    if within.tokens is not None:
        room.append(within.tokens - input_tokens)
    if within.usd is not None:
        prompt, whole = (prices.most(input_tokens, written).nano_usd for written in (0, output))
        if whole > within.usd * NANO:
            room.append(int((within.usd * NANO - prompt) * output / max(1, whole - prompt)))
    left = ask.max_tokens - (output - min(room))
    if left < min(LEAST_ANSWER_TOKENS, ask.max_tokens):
        raise ModelFailed(ResultStatus.SKIPPED_BUDGET, _too_little(within, input_tokens), usage=nothing)
    return msgspec.structs.replace(ask, max_tokens=left)


def _too_little(within: Within, input_tokens: int) -> str:
    left = []
    if within.tokens is not None:
        left.append(f"max_tokens leaves {within.tokens} tokens")
    if within.usd is not None:
        left.append(f"max_usd leaves {within.usd:.4f} USD")
    return f"{' and '.join(left)} of this turn, which is too little for a prompt of up to {input_tokens} tokens"
