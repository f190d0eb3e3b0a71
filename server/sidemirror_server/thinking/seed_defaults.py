"""What a mid-turn reflection says when no model said anything.

Only the converter in `rpc` writes these: inside the server an absent text or confidence is absent, and nothing stores,
counts or ranks a default (design, section 3).
"""

from sidemirror_server.vocabulary.status import ResultStatus

# Seed reflection-engine, "Budget Gate" and "Outcome".
BUDGET_EXHAUSTED = "[budget exhausted]"
DEADLINE_EXPIRED = "[deadline expired]"
REFLECTION_FAILED = "[reflection failed]"

# Seed reflection-engine, "ReflectionResult": the confidence where none is given; a reflection never stops a turn.
CONFIDENCE = 0.7
SHOULD_CONTINUE = True

_TEXTS = {
    ResultStatus.SKIPPED_BUDGET: BUDGET_EXHAUSTED,
    ResultStatus.SKIPPED_DEADLINE: DEADLINE_EXPIRED,
}


def default_text(status: ResultStatus) -> str:
    """The seed's text for a reflection that came to `status`; "[reflection failed]" where the seed names none.

    Not for OK, which has a text of its own.
    """
    return _TEXTS.get(status, REFLECTION_FAILED)
