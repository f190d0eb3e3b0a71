"""What telemetry is told of a verdict: scores by dimension, and nothing of what was said."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sidemirror_server.critique import critique as module
from sidemirror_server.critique import evaluate as evaluate_module
from sidemirror_server.critique.critique import critique
from sidemirror_server.critique.evaluate import evaluate
from sidemirror_server.models.answers import CritiqueAnswer, DimensionAnswer
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import MATERIAL, SCOPE, Cast, gateway_of, issue

NAMES = ("accuracy", "completeness", "actionability", "clarity")
ANSWER = CritiqueAnswer(
    dimensions=tuple(DimensionAnswer(name=name, score=0.25, reason="a secret reason") for name in NAMES),  # type: ignore[arg-type]
    issues=(issue(),),
    confidence=0.3,
)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for each in (module, evaluate_module):
        monkeypatch.setattr(each, "_tracer", provider.get_tracer("test"))
    return exporter


async def test_an_event_for_each_dimension(spans: InMemorySpanExporter) -> None:
    await critique(gateway_of(Cast(critique=ANSWER)), SCOPE, MATERIAL, 5.0)
    (span,) = spans.get_finished_spans()
    assert span.name == "sidemirror.critique.critique"
    assert [event.name for event in span.events] == ["gen_ai.evaluation.result"] * 4
    assert [dict(event.attributes or {}) for event in span.events] == [
        {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.value": 0.25,
            "gen_ai.evaluation.score.label": "revise",
        }
        for name in NAMES
    ]
    assert "secret" not in span.to_json()


async def test_a_failed_verdict_has_no_scores(spans: InMemorySpanExporter) -> None:
    await critique(gateway_of(Cast(critique=ResultStatus.REFUSED)), SCOPE, MATERIAL, 5.0)
    (span,) = spans.get_finished_spans()
    assert span.events == ()
    assert (span.status.is_ok, span.status.description) == (False, "refused")


async def test_criteria_of_a_trace(spans: InMemorySpanExporter) -> None:
    await evaluate(gateway_of(Cast(trace_evaluation=ResultStatus.REFUSED)), SCOPE, [], (), 5.0)
    (span,) = spans.get_finished_spans()
    told = [(event.attributes or {})["gen_ai.evaluation.name"] for event in span.events]
    assert told == ["completeness", "efficiency"]
