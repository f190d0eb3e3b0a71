"""Exports traces and metrics by the OpenTelemetry SDK to OTEL_EXPORTER_OTLP_ENDPOINT, and serves metrics to Prometheus.

Imported only when tracing or metrics are on: the SDK and its exporters take longer to load than the whole server.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sidemirror_server.rpc.listening.addresses import CannotListen
from sidemirror_server.settings import BadSettings

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource

_log = logging.getLogger(__name__)

# How long the end of the process waits for a collector that does not answer. Chosen here: time for one attempt.
_LAST_EXPORT_MS = 2_000


@contextlib.contextmanager
def traces_exported(version: str) -> Iterator[None]:
    """Exports spans in batches within the context, and sends the rest at its end. Raises BadSettings without the
    extra."""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise BadSettings("tracing (SIDEMIRROR_TRACING): install sidemirror-server[telemetry]") from error
    provider = TracerProvider(resource=_resource(version))
    exporter = OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        # The processor would wait for as long as the exporter tries again, and takes no limit.
        given_up = threading.Timer(_LAST_EXPORT_MS / 1e3, exporter.shutdown)
        given_up.start()
        try:
            provider.shutdown()
        finally:
            given_up.cancel()


@contextlib.contextmanager
def metrics_exported(version: str, *, otlp: bool, address: str) -> Iterator[None]:
    """Within the context, sends metrics by OTLP once a minute (OTEL_METRIC_EXPORT_INTERVAL), and serves them at
    http://address/metrics. Raises BadSettings without the extra, CannotListen when the address is taken."""
    try:
        from opentelemetry import metrics
        from opentelemetry.sdk.metrics import MeterProvider
    except ImportError as error:
        raise BadSettings("metrics (SIDEMIRROR_METRICS): install sidemirror-server[telemetry]") from error
    readers: list[MetricReader] = []
    with contextlib.ExitStack() as stack:
        if address:
            readers.append(stack.enter_context(_scraped(address)))
        if otlp:
            readers.append(_sent())
        provider = MeterProvider(readers, resource=_resource(version))
        metrics.set_meter_provider(provider)
        stack.callback(provider.shutdown, timeout_millis=_LAST_EXPORT_MS)
        yield


def _resource(version: str) -> "Resource":
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. The SDK would prefer what it is given here to what they say.
    said = OTELResourceDetector().detect().attributes
    return Resource.create({"service.name": "sidemirror", "service.version": version, **said})


def _sent() -> "MetricReader":
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    return PeriodicExportingMetricReader(OTLPMetricExporter())


@contextlib.contextmanager
def _scraped(address: str) -> "Iterator[MetricReader]":
    """Serves our metrics and those of the process (memory, files, CPU) on a separate thread."""
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from prometheus_client import start_http_server

    host, _, port = address.rpartition(":")
    try:
        server, thread = start_http_server(int(port), host.strip("[]"))
    except OSError as error:
        raise CannotListen(f"metrics_address {address!r}: {error.strerror or error}") from error
    _log.info("metrics_served", extra={"address": f"{host}:{server.server_port}"})
    try:
        yield PrometheusMetricReader()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
