"""What telemetry is told of a call to a model, through the unmodified SDKs, over HTTP: names and numbers, no words.

Seen to fail when `Gateway._paid` makes no span, and when the prompt is put into one.
"""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from sidemirror_server.models import telemetry
from tests.models.endpoint import CLAUDE, EXPECTED, KEY, LOCAL, Fault
from tests.models.talk import CANARY, PROVIDERS, talk

SAID = "canary-of-the-answer"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", provider.get_tracer("test"))
    return exporter


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_call_is_told_without_its_words(provider: str, spans: InMemorySpanExporter, tmp_path: Path) -> None:
    async with talk(tmp_path, provider) as made:
        made.endpoint.answer = {"reflection": SAID, "suggested_action": SAID, "confidence": 0.9, "cited_event_ids": []}
        await made.turn("t")
        result = await made.reflect()
        assert result.reflection == SAID
        (call,) = made.endpoint.calls
    assert CANARY in str(call.body)
    (span,) = spans.get_finished_spans()
    model = CLAUDE if provider == "anthropic" else LOCAL
    assert (span.name, span.kind) == (f"chat {model}", SpanKind.CLIENT)
    told = dict(span.attributes or {})
    assert told.pop("gen_ai.request.max_tokens", None)
    told.pop("gen_ai.request.temperature", None)
    assert told.pop("gen_ai.response.model")
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": call.input_tokens,
        "gen_ai.usage.output_tokens": call.output_tokens,
        "gen_ai.response.finish_reasons": ("stop",),
    }
    assert not any(text in span.to_json() for text in (CANARY, SAID, KEY))


@pytest.mark.parametrize("fault", [fault for fault in Fault if EXPECTED[fault][0] != "ok"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_failure_is_told_by_its_kind(
    provider: str, fault: Fault, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    """One span for each attempt; none of them quotes anything. On a machine that has no time a turn's limit may be over
    before there is one: the next turn has more."""
    async with talk(tmp_path, provider) as made:
        made.endpoint.fault = fault
        for limit_s in (0.8, 8.0, 50.0):
            if not spans.get_finished_spans():
                await made.turn(f"{limit_s} s", time_limit_s=limit_s)
                await made.reflect(f"{limit_s} s")
    told = spans.get_finished_spans()
    assert told
    for span in told:
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"]
        assert not span.events
        assert not any(text in span.to_json() for text in (CANARY, KEY))
