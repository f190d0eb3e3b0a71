"""One question over the Messages API. Imports the SDK, so only `model.py` imports this module, on first use."""

import asyncio
import time
from typing import Any, TypeVar

import anthropic
import msgspec

from sidemirror_server.models.adapters import http
from sidemirror_server.models.adapters.anthropic.capabilities import DescribedModel, MessagesRequest, request_of
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.models.token_counts import count_in, credible, told, with_reasoning
from sidemirror_server.models.untrusted import ModelReply, NotJson, accepted, json_of
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# The look-up of a model's capabilities takes part of the call's time, at most two seconds. If it fails, calls do
# without the capabilities for a while.
_LOOKUP_S = 2.0
_LOOKUP_PART = 0.25
_LOOK_AGAIN_S = 60.0

_ENDINGS = {
    "end_turn": "done",
    "stop_sequence": "done",
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
}
# Retryable errors that arrive in a body with status 200, for example an overload during the answer.
_PASSING = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})

RecordT = TypeVar("RecordT", bound=msgspec.Struct)


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str | None = None
    thinking: str | None = None


class _OutputDetails(msgspec.Struct, frozen=True):
    thinking_tokens: Any = None


class _Took(msgspec.Struct, frozen=True):
    input_tokens: Any = None
    output_tokens: Any = None
    output_tokens_details: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None


class _Message(msgspec.Struct, frozen=True):
    content: tuple[_Block, ...]
    usage: Any = None
    stop_reason: str | None = None
    model: str = ""


class _Count(msgspec.Struct, frozen=True):
    input_tokens: Any = None


class Messages:
    """A connection to one model."""

    def __init__(self, model: str, api_key: str, base_url: str, *, direct: bool = False) -> None:
        """`direct`: ignores the environment's proxies."""
        self._name = model
        self._nothing = Usage("anthropic", model)
        # Disables the SDK's retries, which wait as long as a provider asks, and its spans, which send our trace ids.
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            open_telemetry=False,
            http_client=anthropic.DefaultAsyncHttpxClient(**http.client_settings(direct=direct)),
        )
        self._model = DescribedModel()
        self._is_known = False
        self._lookup: asyncio.Task[None] | None = None
        self._look_again_s = 0.0
        self._left_out: frozenset[str] = frozenset()

    async def complete(self, ask: Ask[AnswerT], ends_s: float) -> Completion[AnswerT]:
        """The answer. The caller ends the call at `ends_s`, on the monotonic clock. Raises ModelFailed."""
        begun_s = time.monotonic()
        model = await self._capabilities(min(_LOOKUP_S, (ends_s - begun_s) * _LOOKUP_PART))
        request = request_of(ask, self._name, model, self._left_out)
        create = self._client.messages.with_raw_response.create
        body = await self._send(create(**request.body, timeout=http.timeout_until(ends_s)), request)
        message = _message(body)
        applied = request.applied
        if message.model and message.model != self._name:
            applied = {**applied, "served_by": message.model[:128]}
        thought = "".join(block.thinking or "" for block in message.content)
        text = "".join(block.text or "" for block in message.content if block.type == "text")
        usage = credible(self._usage(told(message.usage, _Took), applied, begun_s), ask, text + thought)
        ending = _ENDINGS.get(message.stop_reason or "", message.stop_reason or "")
        return Completion(accepted(ModelReply(text, ending, usage), ask, lenient="format" not in applied), usage)

    async def count_tokens(self, ask: Ask[Any], ends_s: float) -> int | None:
        """The provider's count of the ask's input tokens. Raises ModelFailed."""
        model = await self._capabilities(min(_LOOKUP_S, (ends_s - time.monotonic()) * _LOOKUP_PART))
        request = request_of(ask, self._name, model, self._left_out)
        body = {name: value for name, value in request.body.items() if name != "max_tokens"}
        count = self._client.messages.with_raw_response.count_tokens
        content = await self._send(count(**body, timeout=http.timeout_until(ends_s)), request)
        return count_in(_decoded(content, _Count).input_tokens)

    async def close(self) -> None:
        """Closes the connections."""
        if self._lookup is not None:
            self._lookup.cancel()
        await self._client.close()

    async def _send(self, call: Any, request: MessagesRequest | None = None) -> bytes:
        try:
            return await http.body_of(call, anthropic.APIStatusError, anthropic.AnthropicError, self._nothing)
        except ModelFailed as failure:
            error = failure.__cause__
            if request is None or not isinstance(error, anthropic.BadRequestError):
                raise
            unwanted = http.named_in(error.body, request.sent)
            if unwanted is None:
                raise
            self._left_out |= {unwanted}
            why = f"{failure.detail}; {unwanted} is left out from now on"
            raise ModelFailed(failure.status, why, retryable=True, retry_after_s=0.0, usage=failure.usage) from error

    def _usage(self, took: _Took, applied: dict[str, str], begun_s: float) -> Usage:
        read, written = count_in(took.cache_read_input_tokens), count_in(took.cache_creation_input_tokens)
        details = told(took.output_tokens_details, _OutputDetails)
        return Usage(
            self._nothing.provider,
            self._name,
            applied,
            input_tokens=count_in(took.input_tokens) + read + written,
            output_tokens=with_reasoning(count_in(took.output_tokens), count_in(details.thinking_tokens)),
            cache_read_tokens=read,
            cache_write_tokens=written,
            latency_us=int((time.monotonic() - begun_s) * 1e6),
        )

    async def _capabilities(self, within_s: float) -> DescribedModel:
        """The model's capabilities; unknown if they do not arrive in time. Concurrent callers share one look-up."""
        if self._is_known:
            return self._model
        running = self._lookup is not None and not self._lookup.done()
        if not running and time.monotonic() >= self._look_again_s:
            self._lookup = asyncio.create_task(self._look_up())
            running = True
        if running and self._lookup is not None:
            await asyncio.wait({self._lookup}, timeout=within_s)
        return self._model

    async def _look_up(self) -> None:
        self._look_again_s = time.monotonic() + _LOOK_AGAIN_S
        retrieve = self._client.models.with_raw_response.retrieve
        try:
            async with asyncio.timeout(_LOOKUP_S):
                self._model = _decoded(await self._send(retrieve(self._name, timeout=_LOOKUP_S)), DescribedModel)
                self._is_known = True
        except (TimeoutError, ModelFailed):
            return  # the next call looks it up again


def _message(body: bytes) -> _Message:
    try:
        value = json_of(body)
    except NotJson:
        value = None
    if isinstance(value, dict) and value.get("type") == "error":
        names = http.error_names(value)
        why = f"the provider answered with an error ({', '.join(names)})"
        raise ModelFailed(ResultStatus.FAILED_MODEL, why, retryable=not _PASSING.isdisjoint(names))
    return _decoded(body, _Message)


def _decoded(body: bytes, kind: type[RecordT]) -> RecordT:
    """The body as a `kind`. Raises ModelFailed."""
    try:
        return msgspec.convert(json_of(body), kind)
    except (NotJson, msgspec.ValidationError) as error:
        begins = body.lstrip()[:1]
        what = "a web page" if begins == b"<" else "not what the Messages API answers"
        retryable = begins == b"{"  # cut off, most likely
        raise ModelFailed(ResultStatus.FAILED_MODEL, f"the answer is {what}", retryable=retryable) from error
