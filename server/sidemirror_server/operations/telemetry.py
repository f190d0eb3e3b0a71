"""Where traces go: to the OTLP endpoint that OTEL_EXPORTER_OTLP_ENDPOINT names, by the OpenTelemetry SDK.

Imported only when tracing is on: the SDK and its exporter take longer to load than the whole server.
"""

import contextlib
from collections.abc import Iterator

from sidemirror_server.settings import BadSettings


@contextlib.contextmanager
def traces_exported(version: str) -> Iterator[None]:
    """Within, spans are exported in batches; at the end what waits is sent. Raises BadSettings without the extra."""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise BadSettings("tracing (SIDEMIRROR_TRACING): install sidemirror-server[telemetry]") from error
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, which the SDK reads, come on top of these.
    resource = Resource.create({"service.name": "sidemirror", "service.version": version})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()
