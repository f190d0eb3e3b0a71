"""Default fields of a mid-turn reflection without an answer from a model.

Only the converter in `rpc` fills them in. Inside the server a missing text or confidence stays missing: no default is
stored, counted or ranked (decision 017).
"""

from sidemirror_server.vocabulary.status import ResultStatus

# Seed reflection-engine, "Budget Gate" and "Outcome".
BUDGET_EXHAUSTED = "[budget exhausted]"
DEADLINE_EXPIRED = "[deadline expired]"
REFLECTION_FAILED = "[reflection failed]"

# Seed reflection-engine, "ReflectionResult": the default confidence. A reflection never stops a turn.
CONFIDENCE = 0.7
SHOULD_CONTINUE = True

_TEXTS = {
    ResultStatus.SKIPPED_BUDGET: BUDGET_EXHAUSTED,
    ResultStatus.SKIPPED_DEADLINE: DEADLINE_EXPIRED,
    ResultStatus.NOTHING: "",
}


def default_text(status: ResultStatus) -> str:
    """Seed reflection-engine's text for `status`, or "[reflection failed]" if it names none. `status` is never OK."""
    return _TEXTS.get(status, REFLECTION_FAILED)
