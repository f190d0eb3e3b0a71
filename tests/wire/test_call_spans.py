"""A call's span is put together by ourselves when it ends; processors and exporters cannot tell it from the SDK's."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    DEFAULT_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import SpanKind, StatusCode

from sidemirror_server.rpc.boundary.call import Context
from sidemirror_server.rpc.boundary.call_spans import CallSpan, call_spans_of
from sidemirror_server.rpc.boundary.tracing import Tracing
from tests.wire.sidecar import PATIENCE_S

METHOD = "test.Service/Method"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = (("traceparent", f"00-{TRACE}-{SPAN}-01"), ("tracestate", "vendor=1"))
NOT_SAMPLED = (("traceparent", f"00-{TRACE}-{SPAN}-00"),)
Handle = Callable[[bytes, Context], Awaitable[bytes]]
Metadata = tuple[tuple[str, str], ...]


class AtStart(SpanProcessor):
    """Looks at spans when they start, so that they have to be the SDK's."""

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        assert span.is_recording()


class Marks(Sampler):
    """Takes every span, adds an attribute and a state of its own."""

    def should_sample(self, parent_context: Any, trace_id: int, name: str, *args: Any, **kwargs: Any) -> SamplingResult:
        return SamplingResult(Decision.RECORD_AND_SAMPLE, {"marked": name}, trace.TraceState([("marks", "2")]))

    def get_description(self) -> str:
        return "Marks"


class Traced:
    """A provider whose spans are kept."""

    def __init__(self, *processors: SpanProcessor, **given: Any) -> None:
        self.kept = InMemorySpanExporter()
        self.provider = TracerProvider(**given)
        for processor in (*processors, SimpleSpanProcessor(self.kept)):
            self.provider.add_span_processor(processor)
        self.tracer = self.provider.get_tracer("test")

    def told(self) -> list[Any]:
        """What an exporter would tell of the spans, without what is another one in each run."""
        told = [json.loads(span.to_json()) for span in self.kept.get_finished_spans()]
        for span in told:
            del span["start_time"], span["end_time"], span["context"]["span_id"]
            if span["parent_id"] is None:
                del span["context"]["trace_id"]
        return told


@asynccontextmanager
async def served(folder: Path, traced: Traced, handle: Handle) -> AsyncIterator[tuple[Any, asyncio.Event]]:
    """A call's stub, with `handle` behind a real server, and what is set when a call has ended there."""
    whole, ended = Tracing(on=True, tracer=traced.tracer).unary(METHOD, handle), asyncio.Event()

    async def noted(raw: bytes, context: Context) -> bytes:
        try:
            return await whole(raw, context)
        finally:
            ended.set()

    handlers: Any = {"Method": grpc.unary_unary_rpc_method_handler(noted)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Service", handlers),))
    server.add_insecure_port(f"unix:{folder}/s")
    await server.start()
    async with grpc.aio.insecure_channel(f"unix:{folder}/s") as channel:
        yield channel.unary_unary(f"/{METHOD}"), ended
    await server.stop(PATIENCE_S)


async def call(folder: Path, traced: Traced, handle: Handle, metadata: Metadata = ()) -> None:
    async with served(folder, traced, handle) as (stub, ended):
        with suppress(grpc.aio.AioRpcError):
            await stub(b"", metadata=metadata, timeout=PATIENCE_S)
        await ended.wait()


async def answers(_: bytes, __: Context) -> bytes:
    return b""


async def is_not_found(_: bytes, context: Context) -> NoReturn:
    await context.abort(grpc.StatusCode.NOT_FOUND, "no")


async def fails(_: bytes, context: Context) -> NoReturn:
    await context.abort(grpc.StatusCode.INTERNAL, "oh")


async def says_more(_: bytes, __: Context) -> bytes:
    span = trace.get_current_span()
    span.set_attribute("more", "four")
    span.set_attributes({"rpc.method": "another", "list": ["a", "b"]})
    span.add_event("seen", {"what": "longer"}, timestamp=1)
    span.add_link(trace.SpanContext(1, 2, is_remote=True), {"a": 1})
    span.set_status(StatusCode.ERROR, "first")
    span.set_status(StatusCode.UNSET)
    span.set_status(trace.Status(StatusCode.OK))
    span.set_status(StatusCode.ERROR, "too late")
    span.update_name("renamed")
    return b""


@pytest.mark.parametrize("metadata", [(), SAMPLED, NOT_SAMPLED, (("traceparent", "nonsense"),)])
@pytest.mark.parametrize("handle", [answers, is_not_found, fails, says_more])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"sampler": ALWAYS_ON},
        {"sampler": ALWAYS_OFF},
        {"sampler": ParentBased(TraceIdRatioBased(0.0))},
        {"sampler": Marks()},
        {"sampler": DEFAULT_ON, "span_limits": SpanLimits(max_span_attributes=2, max_attribute_length=3)},
    ],
)
async def test_spans_are_as_the_sdks(tmp_path: Path, given: dict[str, Any], handle: Handle, metadata: Metadata) -> None:
    """Seen to fail without the sampler's attributes, without the trace's state, and with a status after OK."""
    ours, theirs = Traced(**given), Traced(AtStart(), **given)
    assert call_spans_of(ours.tracer) is not None
    assert call_spans_of(theirs.tracer) is None
    for traced in (ours, theirs):
        await call(tmp_path, traced, handle, metadata)
    assert ours.told() == theirs.told()
    unsampled = given.get("sampler") is ALWAYS_OFF or (
        metadata == NOT_SAMPLED
        and not isinstance(given.get("sampler"), Marks)
        and given.get("sampler") is not ALWAYS_ON
    )
    if unsampled:
        assert ours.told() == []


async def test_a_span_of_its_own_and_one_within_a_trace(tmp_path: Path) -> None:
    traced = Traced()
    for metadata in ((), SAMPLED):
        await call(tmp_path, traced, answers, metadata)
    root, within = traced.kept.get_finished_spans()
    assert (root.parent, root.kind, root.name) == (None, SpanKind.SERVER, METHOD)
    assert root.context.is_valid
    assert not root.context.is_remote
    assert root.context.trace_flags.sampled
    assert dict(root.attributes or {}) == {
        "rpc.system": "grpc", "rpc.service": "test.Service", "rpc.method": "Method", "rpc.grpc.status_code": 0,
    }  # fmt: skip
    assert root.resource is traced.provider.resource
    assert root.start_time is not None
    assert root.end_time is not None
    assert root.start_time <= root.end_time
    assert within.parent is not None
    assert (within.parent.span_id, within.parent.is_remote) == (int(SPAN, 16), True)
    assert within.context.trace_id == int(TRACE, 16)
    assert within.context.trace_state == {"vendor": "1"}
    assert len({root.context.span_id, within.context.span_id, within.parent.span_id}) == 3


async def test_what_is_traced_within_belongs_to_the_call(tmp_path: Path) -> None:
    """Its ids are there from the beginning, and so are those of a call that is not sampled."""
    seen: list[trace.Span] = []

    async def works(_: bytes, __: Context) -> bytes:
        seen.append(trace.get_current_span())
        with traced.tracer.start_as_current_span("within"):
            return b""

    for metadata, count in ((), 2), (NOT_SAMPLED, 0):
        traced = Traced()
        await call(tmp_path, traced, works, metadata)
        spans = {span.name: span for span in traced.kept.get_finished_spans()}
        assert len(spans) == count
        if spans:
            assert spans["within"].parent == spans[METHOD].context == seen[0].get_span_context()
    assert isinstance(seen[0], CallSpan)
    assert not seen[0].is_recording()
    assert seen[1].get_span_context().trace_id == int(TRACE, 16)
    assert trace.get_current_span() is trace.INVALID_SPAN


async def test_a_cancelled_call_says_so(tmp_path: Path) -> None:
    """Seen to fail as code OK, before it was looked at."""
    traced, begun = Traced(), asyncio.Event()

    async def waits(_: bytes, __: Context) -> bytes:
        begun.set()
        await asyncio.Event().wait()
        return b""

    async with served(tmp_path, traced, waits) as (stub, ended), asyncio.timeout(PATIENCE_S):
        calling = stub(b"")
        await begun.wait()
        calling.cancel()
        await ended.wait()
    (span,) = traced.kept.get_finished_spans()
    assert (span.attributes or {})["rpc.grpc.status_code"] == grpc.StatusCode.CANCELLED.value[0]
    assert span.status.status_code is StatusCode.UNSET


async def test_an_error_is_told_by_its_kind_alone(tmp_path: Path) -> None:
    async def works(_: bytes, __: Context) -> bytes:
        trace.get_current_span().record_exception(ValueError("what the agent wrote"))
        return b""

    traced = Traced()
    await call(tmp_path, traced, works)
    (span,) = traced.kept.get_finished_spans()
    assert "ValueError" in span.to_json()
    assert "agent" not in span.to_json()


async def test_processors_that_export_in_batches_are_served(tmp_path: Path) -> None:
    kept = InMemorySpanExporter()
    traced = Traced(BatchSpanProcessor(kept))
    await call(tmp_path, traced, answers, SAMPLED)
    traced.provider.force_flush()
    assert [span.context for span in kept.get_finished_spans()] == [
        span.context for span in traced.kept.get_finished_spans()
    ]
    traced.provider.shutdown()
