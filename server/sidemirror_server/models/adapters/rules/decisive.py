"""The decisive step of an episode: what decided how it went, for reflections in a turn and on episodes alike."""

from sidemirror_server.models.adapters.rules.findings import FailedStep, Findings
from sidemirror_server.models.evidence import EvidenceStep

# Limit on the steps of one loop. Chosen here: more add nothing to a claim.
MOST_OF_A_LOOP = 4


def worst_of(found: Findings) -> FailedStep | None:
    """The first failure without a recovery, else the first failure; None without failures."""
    standing = (failure for failure in found.failures if failure.recovered_by is None)
    return next(standing, found.failures[0] if found.failures else None)


def decisive_steps(found: Findings) -> list[EvidenceStep]:
    """The decisive step first, then those that bear it out. The step is what led to the worst failure, else the loop,
    else what all that came after rests on, which is the likeliest place of an error that nothing shows."""
    steps: list[EvidenceStep] = []
    if failure := worst_of(found):
        steps += [failure.cause, failure.failed, *([failure.recovered_by] if failure.recovered_by else [])]
    steps += (found.repeated or found.alternating)[-MOST_OF_A_LOOP:]
    return steps or [step for step in (found.basis or found.claim,) if step is not None]
