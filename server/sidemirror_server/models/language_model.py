"""The port to language models: one question, one answer that fits a schema, within a deadline.

Rooms make an `Ask`; the gateway and the adapters answer it. What a model was asked is a prompt for those that read and
typed evidence for those that do not.
"""

from enum import StrEnum
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from sidemirror_server.models.evidence import Evidence
from sidemirror_server.vocabulary.status import Usage

AnswerT = TypeVar("AnswerT", bound=msgspec.Struct)


class Purpose(StrEnum):
    """What an answer is for: caps, profiles and the ledger go by it. The values are stored and never change."""

    MID_TURN_REFLECTION = "mid_turn_reflection"
    DREAMING = "dreaming"
    CRITIQUE = "critique"
    REVISION = "revision"
    COMPARISON = "comparison"
    TRACE_EVALUATION = "trace_evaluation"
    DEBATE = "debate"
    GOAL_REFLECTION = "goal_reflection"
    MEMORY_REFLECTION = "memory_reflection"
    # Vectors of memories and of questions: asked for by `models/embedding.py`, never of a language model.
    MEMORY_EMBEDDING = "memory_embedding"


# What is made behind the agents' backs: nobody waits for it, and it comes from the durable queue again.
BACKGROUND = frozenset((Purpose.DREAMING, Purpose.GOAL_REFLECTION))


class Ask(msgspec.Struct, Generic[AnswerT], frozen=True, kw_only=True):
    """One question to a model.

    `answer_type`: a Struct whose fields describe and constrain themselves through `msgspec.Meta`; it is the schema.
    `max_tokens`: of the visible answer; `thinking_tokens` come on top of it (0: none are asked for).
    `temperature`: None leaves it to the profile; `effort`: None follows from `thinking_tokens`, none of them being the
    least effort. What of these a provider took is said in the completion's usage.
    """

    purpose: Purpose
    system: str
    prompt: str
    answer_type: type[AnswerT]
    evidence: Evidence
    max_tokens: int
    temperature: float | None = None
    thinking_tokens: int = 0
    effort: Literal["low", "medium", "high"] | None = None


class Completion(msgspec.Struct, Generic[AnswerT], frozen=True):
    """An answer, and what answered."""

    answer: AnswerT
    usage: Usage


class LanguageModel(Protocol):
    """A model that can be asked.

    LM1  The answer is of the ask's `answer_type` and keeps to its constraints; anything else is a failure.
    LM2  The call ends within `deadline_s`; what took longer is a failure.
    LM3  Every failure is a `ModelFailed` whose status is not OK, and whose detail quotes no prompt and no secret.
    LM4  The usage names this model's `provider` and `name`, and the parameters that applied.
    LM5  Concurrent calls do not wait for each other, and cancelling one ends only that one.
    LM6  A failed call is not tried again: retries belong to the gateway.
    """

    @property
    def provider(self) -> str:
        """Who answers: `anthropic`, `openai_compatible`, `rules`."""
        ...

    @property
    def name(self) -> str:
        """The model's name at its provider."""
        ...

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        """The model's answer within `deadline_s` seconds. Raises `ModelFailed`."""
        ...
