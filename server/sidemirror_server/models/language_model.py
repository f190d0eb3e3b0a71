"""The port to language models: one question, one answer that fits a schema, within a deadline.

Rooms make an `Ask`; the gateway and the adapters answer it. An `Ask` has a prompt for models that read text, and typed
evidence for those that do not.
"""

from enum import StrEnum
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from sidemirror_server.models.evidence import Evidence
from sidemirror_server.vocabulary.status import Usage

AnswerT = TypeVar("AnswerT", bound=msgspec.Struct)


class Purpose(StrEnum):
    """What an answer is for. Caps, profiles and the ledger use it as a key. The values are stored and never change."""

    MID_TURN_REFLECTION = "mid_turn_reflection"
    DREAMING = "dreaming"
    # What turns and goals that ended taught.
    LEARNING = "learning"
    CRITIQUE = "critique"
    REVISION = "revision"
    COMPARISON = "comparison"
    TRACE_EVALUATION = "trace_evaluation"
    DEBATE = "debate"
    GOAL_REFLECTION = "goal_reflection"
    MEMORY_REFLECTION = "memory_reflection"
    # Vectors of memories and questions. `models/embedding.py` asks an embedding model for them, not a language model.
    MEMORY_EMBEDDING = "memory_embedding"


# Background work: no agent waits for it, and the durable queue retries it.
BACKGROUND = frozenset((Purpose.DREAMING, Purpose.GOAL_REFLECTION, Purpose.LEARNING))


class Ask(msgspec.Struct, Generic[AnswerT], frozen=True, kw_only=True):
    """One question to a model.

    `answer_type`: a Struct that is also the schema; `msgspec.Meta` describes and constrains its fields.
    `max_tokens`: limits the visible answer; `thinking_tokens` are added to it (0: no thinking is requested).
    `temperature`: None means the profile's. `effort`: None derives it from `thinking_tokens`, where 0 is the least
    effort. The completion's usage says which of these the provider used.
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
    """An answer and its usage."""

    answer: AnswerT
    usage: Usage


class LanguageModel(Protocol):
    """A model that can be asked.

    LM1  The answer has the ask's `answer_type` and meets its constraints; anything else is a failure.
    LM2  The call ends within `deadline_s`; a longer call is a failure.
    LM3  Every failure is a `ModelFailed` whose status is not OK, and whose detail quotes no prompt and no secret.
    LM4  The usage names this model's `provider` and `name`, and the parameters that applied.
    LM5  Concurrent calls do not wait for each other, and cancelling one ends only that one.
    LM6  A failed call is not retried: retries are the gateway's.
    """

    @property
    def provider(self) -> str:
        """The provider: `anthropic`, `openai_compatible`, `rules`."""
        ...

    @property
    def name(self) -> str:
        """The model's name at its provider."""
        ...

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        """The model's answer within `deadline_s` seconds. Raises `ModelFailed`."""
        ...
