"""Telemetry of a verdict: an event `gen_ai.evaluation.result` for each dimension (OpenTelemetry semantic conventions
for generative AI). An event has scores and labels only, no content such as reasons and quotes."""

from opentelemetry.trace import Span

from sidemirror_server.critique.record import Verdict
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.telemetry import EVENT_EVALUATION_RESULT


def tell_dimensions(span: Span, verdict: Verdict) -> None:
    """Adds one event for each dimension of an OK verdict; adds none for a failed verdict."""
    if verdict.status is not ResultStatus.OK or not span.is_recording():
        return
    for dimension in verdict.dimensions:
        span.add_event(
            EVENT_EVALUATION_RESULT,
            {
                "gen_ai.evaluation.name": dimension.name,
                "gen_ai.evaluation.score.value": dimension.score,
                "gen_ai.evaluation.score.label": "revise" if verdict.should_revise else "pass",
            },
        )
