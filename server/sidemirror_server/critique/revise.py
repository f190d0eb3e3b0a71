"""Critique, revision and comparison, step by step. The best response is kept, never simply the last.

Self-critique turns some right answers into wrong ones (decision 020). So a revision is made only if the verdict calls
for it, and must win a comparison in both orders; a tie keeps the earlier response.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable

import msgspec

from sidemirror_server.critique.compare import compare
from sidemirror_server.critique.material import CritiqueMaterial, evidence_of
from sidemirror_server.critique.prompts import REVISION_SYSTEM, revision_prompt
from sidemirror_server.critique.record import Better, Comparison, Verdict
from sidemirror_server.models.answers import RevisionAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# Decision 020.
DEFAULT_REVISIONS = 1
MOST_REVISIONS = 3
_MAX_TOKENS = 4_096

Remaining = Callable[[], float]
# The verdict on a material's response within so many seconds.
Judge = Callable[[CritiqueMaterial, float], Awaitable[Verdict]]


class StepVerdict(msgspec.Struct, frozen=True):
    """A verdict on `response`. `number`: 0 for the original, n for the n-th revision."""

    number: int
    response: str
    verdict: Verdict


class Revised(msgspec.Struct, frozen=True):
    """The n-th revision; `response` is empty when the status is not OK."""

    number: int
    status: ResultStatus
    detail: str = ""
    response: str = ""
    usage: Usage | None = None


class Compared(msgspec.Struct, frozen=True):
    """The comparison of the n-th revision with the best response so far."""

    number: int
    comparison: Comparison


class KeptResponse(msgspec.Struct, frozen=True):
    """The last step: the best response and why it was kept. `number`: 0 for the original, n for the n-th revision."""

    number: int
    response: str
    reason: str


Step = StepVerdict | Revised | Compared | KeptResponse


async def revise(
    model: ScopedModel, judge: Judge, scope: Scope, material: CritiqueMaterial, revisions: int, remaining_s: Remaining
) -> AsyncGenerator[Step, None]:
    """Yields each step when it is made, `KeptResponse` last. `judge`: makes the verdicts, and raises nothing.
    `remaining_s`: returns how many seconds a call may take.

    Raises nothing but cancellation, which also ends the call in flight.
    """
    best, number = material, 0
    for attempt in range(1, revisions + 1):
        verdict = await judge(best, remaining_s())
        yield StepVerdict(number, best.response, verdict)
        if verdict.status is not ResultStatus.OK:
            yield KeptResponse(number, best.response, "the critique failed: nothing calls for a revision")
            return
        if verdict.withheld:
            yield KeptResponse(number, best.response, "revisions made more right responses wrong than the other way")
            return
        if not verdict.should_revise:
            yield KeptResponse(number, best.response, "the critique does not call for a revision")
            return
        revised = await _revision(model, scope, best, verdict, attempt, remaining_s())
        yield revised
        if revised.status is not ResultStatus.OK:
            yield KeptResponse(number, best.response, "the revision failed")
            return
        comparison = await compare(model, scope, best, best.response, revised.response, remaining_s())
        yield Compared(attempt, comparison)
        if comparison.better is not Better.LATER:
            yield KeptResponse(number, best.response, _why_not(comparison))
            return
        best, number = msgspec.structs.replace(best, response=revised.response), attempt
    yield KeptResponse(number, best.response, "the revision was found better in both orders")


async def _revision(
    model: ScopedModel, scope: Scope, material: CritiqueMaterial, verdict: Verdict, number: int, deadline_s: float
) -> Revised:
    ask = Ask(
        purpose=Purpose.REVISION,
        system=REVISION_SYSTEM,
        prompt=revision_prompt(material, verdict.revision_prompt),
        answer_type=RevisionAnswer,
        evidence=evidence_of(material),
        max_tokens=_MAX_TOKENS,
    )
    try:
        completion = await model.ask(scope, ask, deadline_s)
    except ModelFailed as failure:
        return Revised(number, failure.status, failure.detail, usage=failure.usage)
    return Revised(number, ResultStatus.OK, response=completion.answer.response, usage=completion.usage)


def _why_not(comparison: Comparison) -> str:
    if comparison.better is Better.EARLIER:
        return "the revision was found worse in both orders"
    return "a tie keeps what there was" if comparison.better is Better.TIE else "the comparison failed"
