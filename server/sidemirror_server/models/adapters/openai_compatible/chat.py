"""One question over Chat Completions. Imports the SDK, so only `model.py` imports this module, on first use."""

import time
from collections.abc import Awaitable
from typing import Annotated, Any

import msgspec
import openai
from msgspec import Meta

from sidemirror_server.models.adapters import http
from sidemirror_server.models.adapters.openai_compatible.parameters import ChatRequest, request_of, server_at
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.models.token_counts import count_in, credible, told, with_reasoning
from sidemirror_server.models.untrusted import ModelReply, NotJson, accepted, json_of
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_ENDINGS = {"stop": "done", "length": "cut", "content_filter": "refused"}
# Other names for `response_format` in the errors of Ollama, vLLM, llama.cpp and OpenAI.
_OTHER_NAMES = {"json_schema": "response_format", "json_object": "response_format", "guided": "response_format"}


class _Details(msgspec.Struct, frozen=True):
    cached_tokens: Any = None
    reasoning_tokens: Any = None


class _Took(msgspec.Struct, frozen=True):
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    prompt_tokens_details: Any = None
    completion_tokens_details: Any = None

    def written(self) -> int:
        """The tokens of the answer with all reasoning. Some servers count reasoning only in the total."""
        answer, total = count_in(self.completion_tokens), count_in(self.total_tokens)
        details = told(self.completion_tokens_details, _Details)
        beside = total - count_in(self.prompt_tokens) if count_in(self.prompt_tokens) else 0
        return max(with_reasoning(answer, count_in(details.reasoning_tokens)), beside)


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None
    # Some servers put the whole output of a thinking model here, including its answer.
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct, frozen=True):
    choices: Annotated[tuple[_Choice, ...], Meta(min_length=1)]
    usage: Any = None
    model: str | None = None


class Chat:
    """A connection to one model."""

    def __init__(self, model: str, api_key: str, base_url: str, *, direct: bool = False) -> None:
        """`direct`: ignores the environment's proxies."""
        self._name = model
        self._nothing = Usage("openai_compatible", model)
        self._server = server_at(base_url)
        # Disables the SDK's retries, which wait as long as a server asks.
        self._client = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(**http.client_settings(direct=direct)),
        )

    async def complete(self, ask: Ask[AnswerT], ends_s: float) -> Completion[AnswerT]:
        """The answer. The caller ends the call at `ends_s`, on the monotonic clock. Raises ModelFailed."""
        begun_s = time.monotonic()
        request = request_of(ask, self._name, self._server)
        create = self._client.chat.completions.with_raw_response.create
        timeout = http.timeout_until(ends_s)
        completion = _decoded(await self._send(create(**request.body, timeout=timeout), request))
        heard = self._heard(completion, ask, request.applied, begun_s)
        return Completion(accepted(heard, ask, lenient=True), heard.usage)

    async def count_tokens(self, ask: Ask[Any], ends_s: float) -> int | None:  # noqa: ARG002
        """None: Chat Completions cannot count tokens."""
        return None

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def _send(self, call: Awaitable[Any], request: ChatRequest) -> bytes:
        try:
            return await http.body_of(call, openai.APIStatusError, openai.OpenAIError, self._nothing)
        except ModelFailed as failure:
            error = failure.__cause__
            if not isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError):
                raise
            unwanted = http.named_in(error.body, (*request.sent, *_OTHER_NAMES))
            unwanted = _OTHER_NAMES.get(unwanted or "", unwanted)
            if unwanted not in request.sent:
                raise
            self._server = self._server.without(unwanted)
            why = f"{failure.detail}; {unwanted} is left out from now on"
            raise ModelFailed(failure.status, why, retryable=True, retry_after_s=0.0, usage=failure.usage) from error

    def _heard(self, completion: _Completion, ask: Ask[Any], applied: dict[str, str], begun_s: float) -> ModelReply:
        choice = completion.choices[0]
        message = choice.message
        text = message.content or ""
        thought = message.reasoning or message.reasoning_content or ""
        extra: dict[str, str] = {}
        if not text.strip():
            text, thought = thought, ""
            if text:
                extra["answered_in"] = "reasoning"
        if completion.model and completion.model != self._name:
            extra["served_by"] = completion.model[:128]
        took = told(completion.usage, _Took)
        prompt_tokens = count_in(took.prompt_tokens)
        usage = Usage(
            self._nothing.provider,
            self._name,
            {**applied, **extra},
            input_tokens=prompt_tokens,
            output_tokens=took.written(),
            cache_read_tokens=min(count_in(told(took.prompt_tokens_details, _Details).cached_tokens), prompt_tokens),
            latency_us=int((time.monotonic() - begun_s) * 1e6),
        )
        ending = "refused" if message.refusal else _ENDINGS.get(choice.finish_reason or "", choice.finish_reason or "")
        return ModelReply(text, ending, credible(usage, ask, text + thought))


def _decoded(body: bytes) -> _Completion:
    try:
        value = json_of(body)
        if isinstance(value, dict) and value.get("error"):
            names = ", ".join(http.error_names(value)) or "unnamed"
            why = f"the provider answered with an error ({names})"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why, retryable=True)
        return msgspec.convert(value, _Completion)
    except (NotJson, msgspec.ValidationError) as error:
        begins = body.lstrip()[:1]
        what = "a web page" if begins == b"<" else "not what Chat Completions answers"
        retryable = begins == b"{"  # cut off, most likely
        raise ModelFailed(ResultStatus.FAILED_MODEL, f"the answer is {what}", retryable=retryable) from error
