"""`sidemirror serve` with the OpenTelemetry SDK and a batch processor whose exporter throws the spans away: what
tracing costs in the server, without what a collector costs. `python -m bench.traced FLAGS`."""

import sys
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from sidemirror_server.cli import main


class Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - the interface's name
        return SpanExportResult.SUCCESS


if __name__ == "__main__":
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    trace.set_tracer_provider(provider)
    sys.exit(main(["serve", *sys.argv[1:]]))
