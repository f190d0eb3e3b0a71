"""Cheap spans for calls, with only the fields that the SDK's processors and exporters read.

The SDK's own span allocates locks, a bounded dictionary and two bounded lists, and is copied when it ends. A call's
span needs none of these: it ends, and sometimes has an error code. So its start makes only the ids and the sampler's
decision, which child spans need. Its end makes the rest.

This works only with processors that see no span before it ends, like the SDK's. With others `call_spans_of` returns
None, and the SDK's spans are used. Imported only when tracing is on, because it needs the SDK.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import getrandbits
from time import time_ns  # noqa: TID251  # the SDK reads this clock for its spans too

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    get_current_span,
)
from opentelemetry.util.types import Attributes, AttributeValue

# Starts the span of a call. None: the caller sent no trace context.
Begin = Callable[[Context | None], Span]

_UNSET = Status(StatusCode.UNSET)
_SAMPLED = 0x01
# The W3C's flag for a random trace id; the API names it since 1.40.
_RANDOM = 0x02
# The SDK's processor classes, whose own methods do nothing before a span has ended.
_IDLE = (sdk.SpanProcessor, BatchSpanProcessor, SimpleSpanProcessor)
_UNUSED_STARTS = tuple(kind.on_start for kind in _IDLE)
_UNUSED_ENDINGS = tuple(getattr(kind, "_on_ending", None) for kind in _IDLE)


def call_spans_of(tracer: Tracer) -> "CallSpans | None":
    """A cheaper source of spans than this tracer; None where the SDK's own spans are needed."""
    if type(tracer) is not sdk.Tracer or not getattr(tracer, "_is_enabled", lambda: True)():
        return None
    if hasattr(getattr(tracer, "_tracer_metrics", None), "_started_spans"):
        return None  # the SDK counts its own spans (OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED)
    if not isinstance(tracer.span_processor, sdk.SynchronousMultiSpanProcessor):
        return None
    known = tracer.span_processor._span_processors  # noqa: SLF001  # the SDK has no public accessor
    return CallSpans(tracer) if all(_looks_at_ends(type(processor)) for processor in known) else None


def _looks_at_ends(kind: type[sdk.SpanProcessor]) -> bool:
    """Whether processors of this class ignore a span until it has ended."""
    ending = getattr(kind, "_on_ending", None)
    return kind.on_start in _UNUSED_STARTS and ending in _UNUSED_ENDINGS


class CallSpans:
    """Starts spans for a tracer of the SDK, with its sampler, ids, resource, limits and processors."""

    def __init__(self, tracer: sdk.Tracer) -> None:
        self.tracer = tracer
        self.limits: sdk.SpanLimits = tracer._span_limits  # noqa: SLF001  # the provider's limits
        self.scope = tracer._instrumentation_scope  # noqa: SLF001  # the scope of the SDK's own spans
        self.on_end = tracer.span_processor.on_end
        ids = tracer.id_generator
        is_random = getattr(ids, "is_trace_id_random", lambda: False)()
        self.flags = _RANDOM if is_random else 0
        self.new_trace_id, self.new_span_id = ids.generate_trace_id, ids.generate_span_id
        if type(ids) is RandomIdGenerator:  # as the SDK does, without its check for an id of 0
            self.new_trace_id, self.new_span_id = partial(getrandbits, 128), partial(getrandbits, 64)

    def beginning(self, name: str, attributes: Mapping[str, AttributeValue]) -> Begin:
        """A function that starts spans with this name and these attributes."""
        kept = self.bounded(attributes)
        new_trace_id, new_span_id = self.new_trace_id, self.new_span_id
        flags = TraceFlags(self.flags | _SAMPLED)
        takes_all = self.tracer.sampler is DEFAULT_ON or self.tracer.sampler is ALWAYS_ON

        def begin(within: Context | None) -> Span:
            if takes_all and within is None:
                # These samplers accept every span. Asking them would cost as much as all the rest.
                context = SpanContext(new_trace_id(), new_span_id(), False, flags)  # not remote; a keyword is slower
                return CallSpan(self, name, context, None, kept)
            parent = None if within is None else get_current_span(within).get_span_context()
            return self._asked(name, within, parent if parent is not None and parent.is_valid else None, kept)

        return begin

    def _asked(self, name: str, within: Context | None, parent: SpanContext | None, kept: BoundedAttributes) -> Span:
        """A span according to the sampler's decision."""
        trace_id = self.new_trace_id() if parent is None else parent.trace_id
        decided = self.tracer.sampler.should_sample(within, trace_id, name, SpanKind.SERVER, kept, ())
        flags = (self.flags if parent is None else parent.trace_flags) & _RANDOM
        if decided.decision is Decision.RECORD_AND_SAMPLE:
            flags |= _SAMPLED
        own = SpanContext(
            trace_id,
            self.new_span_id(),
            is_remote=False,
            trace_flags=TraceFlags(flags),
            trace_state=decided.trace_state,
        )
        if decided.decision is Decision.DROP:
            return NonRecordingSpan(own)
        attributes = kept if decided.attributes == kept else self.bounded(decided.attributes)
        return CallSpan(self, name, own, parent, attributes)

    def bounded(self, attributes: Attributes, more: Attributes = None) -> BoundedAttributes:
        """A span's attributes, cut to the provider's limits."""
        limits, both = self.limits, {**(attributes or {}), **(more or {})}
        longest = limits.max_span_attribute_length
        return BoundedAttributes(limits.max_span_attributes, both, immutable=True, max_value_len=longest)


class CallSpan(Span):
    """The span of a call in progress. Fields that are never set keep the defaults of the class."""

    _status = _UNSET
    _events: tuple[sdk.Event, ...] = ()
    _links: tuple[Link, ...] = ()
    _has_ended = False

    def __init__(
        self, made_by: CallSpans, name: str, context: SpanContext, parent: SpanContext | None, attributes: Attributes
    ) -> None:
        self._made_by = made_by
        self._name = name
        self._context = context
        self._parent = parent
        self._attributes = attributes
        self._began_ns = time_ns()

    def end(self, end_time: int | None = None) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        made_by = self._made_by
        # Positional arguments, in the SDK's order since 1.11: keyword arguments take two to four times as long.
        made_by.on_end(
            sdk.ReadableSpan(
                self._name,
                self._context,
                self._parent,
                made_by.tracer.resource,
                self._attributes,
                self._events,
                self._links,
                SpanKind.SERVER,
                made_by.tracer.instrumentation_info,
                self._status,
                self._began_ns,
                time_ns() if end_time is None else end_time,
                made_by.scope,
            )
        )

    def get_span_context(self) -> SpanContext:
        return self._context

    def is_recording(self) -> bool:
        return not self._has_ended

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self.set_attributes({key: value})

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        if not self._has_ended:
            self._attributes = self._made_by.bounded(self._attributes, attributes)

    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        limits = self._made_by.limits
        if not self._has_ended and (limits.max_events is None or len(self._events) < limits.max_events):
            most, longest = limits.max_event_attributes, limits.max_attribute_length
            bounded = BoundedAttributes(most, attributes, immutable=True, max_value_len=longest)
            self._events = (*self._events, sdk.Event(name, bounded, timestamp))

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        limits = self._made_by.limits
        if not self._has_ended and (limits.max_links is None or len(self._links) < limits.max_links):
            most, longest = limits.max_link_attributes, limits.max_attribute_length
            bounded = BoundedAttributes(most, attributes, immutable=True, max_value_len=longest)
            self._links = (*self._links, Link(context, bounded))

    def update_name(self, name: str) -> None:
        if not self._has_ended:
            self._name = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        if isinstance(status, StatusCode):
            status = Status(status, description)
        # OK is final, and UNSET changes nothing (specification of the tracing API, "Set Status").
        is_final = self._status.status_code is StatusCode.OK or status.status_code is StatusCode.UNSET
        if not self._has_ended and not is_final:
            self._status = status

    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """Records only the exception's type: its message may contain an agent's text."""
        kind = {"exception.type": type(exception).__qualname__, "exception.escaped": str(escaped)}
        self.add_event("exception", {**kind, **(attributes or {})}, timestamp)
