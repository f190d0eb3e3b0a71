"""Asks a model which of two responses is better, once in each order. Only an answer given in both orders counts.

A single question is not reliable, because judges often prefer the first of two answers for no reason (decision 020).
"""

import asyncio

from sidemirror_server.critique.material import CritiqueMaterial, evidence_of
from sidemirror_server.critique.prompts import COMPARISON_SYSTEM, comparison_prompt
from sidemirror_server.critique.record import Better, Comparison
from sidemirror_server.models.answers import ComparisonAnswer
from sidemirror_server.models.language_model import Ask, Completion, Purpose
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, added

_MAX_TOKENS = 1_024
_TEMPERATURE = 0.1  # decision 021


def agreed(forward: str, backward: str) -> tuple[Better, bool]:
    """Combines two answers, each first, second or tie: `forward` is for the order (earlier, later), `backward` for
    (later, earlier). Returns the preference and whether both agree. If they disagree, the preference is a tie."""
    said = {"first": Better.EARLIER, "second": Better.LATER, "tie": Better.TIE}[forward]
    again = {"first": Better.LATER, "second": Better.EARLIER, "tie": Better.TIE}[backward]
    return (said, True) if said is again else (Better.TIE, False)


async def compare(
    model: ScopedModel,
    scope: Scope,
    material: CritiqueMaterial,
    earlier: str,
    later: str,
    deadline_s: float,
    against_id: str = "",
) -> Comparison:
    """Compares two responses to the material's task. Raises nothing but cancellation.

    `deadline_s`: for both questions together. `against_id`: the critique of the earlier response.
    """
    if earlier.strip() == later.strip():
        same_text = "both are the same text"
        return Comparison(ResultStatus.OK, better=Better.TIE, agreed=True, reason=same_text, against_id=against_id)
    try:
        forward, backward = await _both(model, scope, material, earlier, later, deadline_s)
    except ModelFailed as failure:
        return Comparison(failure.status, failure.detail, against_id=against_id, usage=failure.usage)
    better, same = agreed(forward.answer.better, backward.answer.better)
    reason = forward.answer.reason if same else "the answer changed with the order: a tie"
    usage = added(forward.usage, backward.usage)
    return Comparison(ResultStatus.OK, better=better, agreed=same, reason=reason, against_id=against_id, usage=usage)


async def _both(
    model: ScopedModel, scope: Scope, material: CritiqueMaterial, earlier: str, later: str, deadline_s: float
) -> tuple[Completion[ComparisonAnswer], Completion[ComparisonAnswer]]:
    """Asks in both orders at once. The first failure, or cancellation, ends both calls."""
    forward = asyncio.create_task(model.ask(scope, _ask(material, earlier, later), deadline_s))
    backward = asyncio.create_task(model.ask(scope, _ask(material, later, earlier), deadline_s))
    try:
        return await forward, await backward
    finally:
        for task in (forward, backward):
            task.cancel()
        await asyncio.gather(forward, backward, return_exceptions=True)


def _ask(material: CritiqueMaterial, first: str, second: str) -> Ask[ComparisonAnswer]:
    return Ask(
        purpose=Purpose.COMPARISON,
        system=COMPARISON_SYSTEM,
        prompt=comparison_prompt(material, first, second),
        answer_type=ComparisonAnswer,
        evidence=evidence_of(material, (first, second)),
        max_tokens=_MAX_TOKENS,
        temperature=_TEMPERATURE,
    )
