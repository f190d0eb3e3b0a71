"""Telemetry of calls to models: a span `chat {model}` for each attempt (OpenTelemetry semantic conventions for
generative AI). A span has names, numbers and the status, no content such as prompts and answers.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from sidemirror_server.models.language_model import Ask, LanguageModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_tracer = trace.get_tracer("sidemirror.models")

# The finish reason of an answer, by status. Failures with another status have none.
_FINISHED = {
    ResultStatus.OK: "stop",
    ResultStatus.TRUNCATED: "length",
    ResultStatus.REFUSED: "content_filter",
}


class ModelCall:
    """The span of one attempt."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def took(self, usage: Usage, status: ResultStatus) -> None:
        """Records the attempt's usage and how it ended."""
        self._span.set_attribute("gen_ai.response.model", usage.parameters.get("served_by", usage.model))
        self._span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
        self._span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
        if status in _FINISHED:
            self._span.set_attribute("gen_ai.response.finish_reasons", [_FINISHED[status]])

    def failed(self, kind: str) -> None:
        """Records that the attempt ended without a usable answer."""
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)


@contextlib.contextmanager
def model_call(model: LanguageModel, ask: Ask[Any]) -> Iterator[ModelCall]:
    """The span around one attempt. A failure is recorded by its status, never by its message."""
    attributes: dict[str, str | int | float] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model.provider,
        "gen_ai.request.model": model.name,
        "gen_ai.request.max_tokens": ask.max_tokens,
    }
    if ask.temperature is not None:
        attributes["gen_ai.request.temperature"] = ask.temperature
    with _tracer.start_as_current_span(
        f"chat {model.name}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        call = ModelCall(span)
        try:
            yield call
        except ModelFailed as failure:
            if failure.usage is not None:
                call.took(failure.usage, failure.status)
            call.failed(failure.status.value)
            raise
        except TimeoutError:
            call.failed("timeout")
            raise
        except asyncio.CancelledError:
            call.failed("cancelled")
            raise
