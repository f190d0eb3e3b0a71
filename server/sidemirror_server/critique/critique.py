"""One critique: asks the model to judge a response, and applies the rules to its answer.

A model's failure becomes the status of the `Verdict`, because a critique never blocks the response (decision 017). Only
cancellation is raised.
"""

import asyncio

import msgspec
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from sidemirror_server.critique.material import CritiqueMaterial, evidence_of
from sidemirror_server.critique.prompts import CRITIQUE_SYSTEM, critique_prompt
from sidemirror_server.critique.record import Verdict
from sidemirror_server.critique.telemetry import tell_dimensions
from sidemirror_server.critique.verdict import verdict_of
from sidemirror_server.models.answers import CritiqueAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.profiles import NO_CAPS, Within
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage, added
from sidemirror_server.vocabulary.telemetry import CRITIQUES, SPAN_CRITIQUE

_tracer = trace.get_tracer("sidemirror.critique")

# Seed response-critique, "Inference parameters". MAX_TOKENS does not include thinking tokens (decision 021).
TEMPERATURE = 0.1
MAX_TOKENS = 300
# A truncated assessment is requested once more with this limit (decision 021).
MORE_TOKENS = 1_200


async def critique(
    model: ScopedModel, scope: Scope, material: CritiqueMaterial, deadline_s: float, within: Within = NO_CAPS
) -> Verdict:
    """The model's verdict on the material's response within `deadline_s` seconds. Raises nothing but cancellation."""
    ask = Ask(
        purpose=Purpose.CRITIQUE,
        system=CRITIQUE_SYSTEM,
        prompt=critique_prompt(material),
        answer_type=CritiqueAnswer,
        evidence=evidence_of(material),
        max_tokens=MAX_TOKENS,
        temperature=TEMPERATURE,
    )
    with _tracer.start_as_current_span(SPAN_CRITIQUE) as span:
        verdict = await judged(model, scope, ask, material, deadline_s, within)
        if verdict.detail:
            span.set_status(StatusCode.ERROR, verdict.status.value)
        tell_dimensions(span, verdict)
        CRITIQUES.add(1, {"status": verdict.status.value})
        return verdict


async def judged(
    model: ScopedModel,
    scope: Scope,
    ask: Ask[CritiqueAnswer],
    material: CritiqueMaterial,
    deadline_s: float,
    within: Within = NO_CAPS,
) -> Verdict:
    """The model's verdict, or a failed one. A truncated answer is requested once more with MORE_TOKENS."""
    ends_s = asyncio.get_running_loop().time() + deadline_s
    took = None
    try:
        try:
            completion = await model.ask(scope, ask, deadline_s, within)
        except ModelFailed as failure:
            if failure.status is not ResultStatus.TRUNCATED:
                raise
            took, left_s = failure.usage, ends_s - asyncio.get_running_loop().time()
            roomier = msgspec.structs.replace(ask, max_tokens=MORE_TOKENS)
            completion = await model.ask(scope, roomier, left_s, _less(within, took))
    except ModelFailed as failure:
        return Verdict(failure.status, failure.detail, usage=added(failure.usage, took))
    return verdict_of(completion.answer, material, added(completion.usage, took))


def _less(within: Within, took: Usage | None) -> Within:
    """The caps `within` minus the usage of an earlier call."""
    if took is None:
        return within
    tokens = None if within.tokens is None else max(0, within.tokens - took.input_tokens - took.output_tokens)
    usd = None if within.usd is None else max(0.0, within.usd - (took.cost_usd or 0.0))
    return Within(tokens, usd)
