"""What both agents begin and end with: an exporter that the environment alone tells where to send."""

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MISSING = "Table 'shop.orders' doesn't exist"
TABLES = "orders_2026, customers"
CONVERSATIONS = ("c1", "c2", "c3", "c4", "c5")


def sql(query: str) -> str:
    """The agent's database. Raises ValueError for a table that is not there."""
    if "orders_2026" not in query:
        raise ValueError(MISSING)
    return "17"


@contextmanager
def exporting() -> Iterator[Any]:
    """A provider of tracers; what was recorded has been sent when it ends."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    protocol = "grpc" if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc" else "http"
    exporter = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{protocol}.trace_exporter")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter.OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    yield provider
    provider.shutdown()
