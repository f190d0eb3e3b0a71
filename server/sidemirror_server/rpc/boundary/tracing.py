"""One span for each call, by our own thin wrapper (decision 008).

The package opentelemetry-instrumentation-grpc traces our Python client only. On an aio server it would make a small
call 1.3 to 1.5 times as dear, and it breaks streaming handlers that write through their context, such as health Watch.
Names follow the semantic conventions for RPC. Contents never enter a span.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import grpc
from opentelemetry import propagate, trace
from opentelemetry.context import Context as OtherContext
from opentelemetry.context import attach
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from sidemirror_server.rpc.boundary.call import Context

if TYPE_CHECKING:
    from sidemirror_server.rpc.boundary.call_spans import CallSpans

In = TypeVar("In")
UnaryHandler = Callable[[bytes, Context], Awaitable[bytes]]
StreamHandler = Callable[[In, Context], AsyncIterator[bytes]]

# The key of the span in a context.
_SPAN = next(iter(trace.set_span_in_context(trace.INVALID_SPAN, OtherContext())))
_CODE = "rpc.grpc.status_code"
# Codes that are the server's fault (semantic conventions for gRPC, server spans).
_SERVER_FAULTS = {
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DATA_LOSS,
}
_CODES: dict[object, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class Tracing:
    """Wraps handlers in spans if tracing is on, else returns them unchanged."""

    def __init__(self, *, on: bool, tracer: Tracer | None = None) -> None:
        """`tracer`: the process's own if None. Span processors that are added to it later are not examined."""
        self._on = on
        self._tracer = tracer or trace.get_tracer("sidemirror.rpc")
        self._spans = _call_spans_of(self._tracer) if on else None
        # The headers that may carry a caller's trace context (OTEL_PROPAGATORS).
        self._fields = frozenset(propagate.get_global_textmap().fields)

    def unary(self, method: str, handle: UnaryHandler) -> UnaryHandler:
        """`handle` within a span."""
        if not self._on:
            return handle
        begin, fields = self._beginning(method), self._fields

        async def traced(raw: bytes, context: Context) -> bytes:
            within = None
            # Inlined on purpose, as is the rest: CPU caches are cold between two calls, and each function call costs as
            # much as its body.
            for key, _ in context.invocation_metadata() or ():
                if key in fields:
                    within = self._trace_of(context)
                    break
            span = begin(within)
            # Never detached: grpc.aio gives each call its own task, and the attached context ends with the task.
            attach(OtherContext({_SPAN: span}))
            try:
                answer = await handle(raw, context)
            except BaseException:
                # Without a code the call was cancelled: every other exception has become a code by now.
                _end(span, context, finished=context.code() is not None)
                raise
            if context.code() is None:
                span.end()
            else:
                _end(span, context, finished=True)
            return answer

        return traced

    def stream(self, method: str, handle: StreamHandler[In]) -> StreamHandler[In]:
        """`handle` within a span. The span is not made current: a stream that is closed at a `yield` ends in another
        context, where detaching would fail."""
        if not self._on:
            return handle
        begin = self._beginning(method)

        async def traced(incoming: In, context: Context) -> AsyncIterator[bytes]:
            span = begin(self._trace_of(context))
            finished = False
            try:
                async for response in handle(incoming, context):
                    yield response
                finished = True
            finally:
                _end(span, context, finished=finished or bool(context.code()))

        return traced

    def _beginning(self, method: str) -> Callable[[OtherContext | None], Span]:
        """A function that starts a span of the method within a given trace context."""
        attributes = _attributes(method)
        if self._spans is not None:
            return self._spans.beginning(method, attributes)
        return partial(self._tracer.start_span, method, kind=SpanKind.SERVER, attributes=attributes)

    def _trace_of(self, context: Context) -> OtherContext | None:
        """The caller's trace context; None if it sent none."""
        metadata = {key: value for key, value in context.invocation_metadata() or () if key in self._fields}
        return propagate.extract(metadata) if metadata else None


def _call_spans_of(tracer: Tracer) -> "CallSpans | None":
    """Cheaper spans than the SDK's; None without an SDK, or where its own spans are needed."""
    try:
        from sidemirror_server.rpc.boundary.call_spans import call_spans_of
    except ImportError:
        return None
    return call_spans_of(tracer)


def _attributes(method: str) -> Mapping[str, AttributeValue]:
    """The attributes of every span of the method. Calls that fail get another status code."""
    service, _, name = method.rpartition("/")
    return {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name, _CODE: grpc.StatusCode.OK.value[0]}


def _end(span: Span, context: Context, *, finished: bool) -> None:
    code = code_of(context) if finished else grpc.StatusCode.CANCELLED
    if code is not grpc.StatusCode.OK:
        span.set_attribute(_CODE, code.value[0])
        if code in _SERVER_FAULTS:
            span.set_status(StatusCode.ERROR, code.name)
    span.end()


def code_of(context: Context) -> grpc.StatusCode:
    """The call's code so far: grpc.aio gives a number, an enum value, or None for OK."""
    code: object = context.code()
    if isinstance(code, grpc.StatusCode):
        return code
    return _CODES.get(code, grpc.StatusCode.OK)
