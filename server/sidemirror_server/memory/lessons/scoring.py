"""The importance and the confidence of a lesson: the model's own, or those of an operator's calculator.

Another package offers a calculator as an entry point `sidemirror.scorers`: a callable that takes a `Scored` and returns
`Scores` (seed reflection-engine-v2, "Extension Points": custom importance and confidence calculators).
"""

import logging
from collections.abc import Callable
from typing import TypeAlias

import msgspec

_log = logging.getLogger(__name__)

# Seed reflection-engine-v2, "ReflectionResult".
DEFAULT_IMPORTANCE = 0.5


class Scored(msgspec.Struct, frozen=True):
    """A lesson to score. `importance`, `confidence`: the model's, or None. Texts are data, which a tool may have
    written."""

    reflection: str
    strategy: str
    outcome: str
    error_category: str
    tags: tuple[str, ...]
    event_count: int
    importance: float | None
    confidence: float | None


class Scores(msgspec.Struct, frozen=True):
    """The result of a scorer, each 0 to 1. Confidence None means unknown, not low."""

    importance: float
    confidence: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.importance <= 1.0 or not (self.confidence is None or 0.0 <= self.confidence <= 1.0):
            raise ValueError("scores are numbers from 0 to 1")


# A scorer may come from another package, so its result is checked before use.
Scorer: TypeAlias = Callable[[Scored], object]


def models_own(scored: Scored) -> Scores:
    """The default scorer: the model's own values."""
    importance = DEFAULT_IMPORTANCE if scored.importance is None else scored.importance
    return Scores(importance, scored.confidence)


def scores_of(scorer: Scorer, scored: Scored) -> Scores:
    """The scorer's values, or the model's if the scorer fails or returns no Scores."""
    try:
        made = scorer(scored)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        _log.warning("scorer_failed", extra={"error": type(error).__name__})
        return models_own(scored)
    if not isinstance(made, Scores):
        _log.warning("scorer_failed", extra={"error": "it returned no Scores"})
        return models_own(scored)
    return made
