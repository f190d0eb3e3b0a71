"""One critique: asks the model what it makes of a response, and holds the answer against the rules.

Whatever a model does, the answer is a `Verdict`: a critique never blocks the response (seed response-critique,
"Failure handling"), so only cancellation passes through.
"""

from opentelemetry import trace
from opentelemetry.trace import StatusCode

from sidemirror_server.critique.asking import Asking, asked
from sidemirror_server.critique.material import Material, evidence_of
from sidemirror_server.critique.prompts import CRITIQUE_SYSTEM, critique_prompt
from sidemirror_server.critique.record import Verdict
from sidemirror_server.critique.telemetry import tell_dimensions
from sidemirror_server.critique.verdict import verdict_of
from sidemirror_server.models.answers import CritiqueAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.telemetry import SPAN_CRITIQUE

_tracer = trace.get_tracer("sidemirror.critique")

# Seed response-critique, "Inference parameters". Only the assessment that is to be read counts against the 300: what
# six projects had cut off (research page critique-and-thinking, section 2.4) was the schema and the thinking around it,
# so the ceiling of the call is higher and the schema asks for short texts.
TEMPERATURE = 0.1
VISIBLE_TOKENS = 300
MAX_TOKENS = 2_048


async def critique(model: Asking, scope: Scope, material: Material, deadline_s: float) -> Verdict:
    """What the model makes of the material's response within `deadline_s`. Raises nothing but cancellation."""
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
        verdict = await judged(model, scope, ask, material, deadline_s)
        if verdict.detail:
            span.set_status(StatusCode.ERROR, verdict.status.value)
        tell_dimensions(span, verdict)
        return verdict


async def judged(
    model: Asking, scope: Scope, ask: Ask[CritiqueAnswer], material: Material, deadline_s: float
) -> Verdict:
    """The verdict on one ask, whatever comes of it."""
    try:
        completion = await asked(model, scope, ask, deadline_s)
    except ModelFailed as failure:
        return Verdict(failure.status, failure.detail, usage=failure.usage)
    return verdict_of(completion.answer, material, completion.usage)
