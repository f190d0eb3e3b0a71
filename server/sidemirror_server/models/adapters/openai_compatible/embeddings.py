"""Vectors over `/v1/embeddings`. Imports the SDK, so only `embedder.py` imports this module, on first use."""

import math
from typing import Annotated, Any

import msgspec
import openai
from msgspec import Meta

from sidemirror_server.models.adapters import http
from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.models.token_counts import count_in, told
from sidemirror_server.models.untrusted import NotJson, json_of
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# A shorter vector has no direction.
_SHORTEST = 1e-9
# More dimensions than any model has.
_MOST_DIMENSIONS = 16_384


class _Vector(msgspec.Struct, frozen=True):
    index: Annotated[int, Meta(ge=0)]
    embedding: Annotated[tuple[float, ...], Meta(min_length=1, max_length=_MOST_DIMENSIONS)]


class _Took(msgspec.Struct, frozen=True):
    prompt_tokens: Any = None


class _Made(msgspec.Struct, frozen=True):
    data: tuple[_Vector, ...]
    usage: Any = None


class EmbeddingsEndpoint:
    """A connection to one embedding model."""

    def __init__(self, model: str, api_key: str, base_url: str, *, direct: bool = False) -> None:
        """`direct`: ignores the environment's proxies."""
        self._name = model
        self._nothing = Usage("openai_compatible", model)
        self._client = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(**http.client_settings(direct=direct)),
        )

    async def embed(self, texts: tuple[str, ...], ends_s: float) -> Embeddings:
        """The vectors. The caller ends the call at `ends_s`, on the monotonic clock. Raises ModelFailed."""
        call = self._client.embeddings.with_raw_response.create(
            model=self._name, input=list(texts), encoding_format="float", timeout=http.timeout_until(ends_s)
        )
        body = await http.body_of(call, openai.APIStatusError, openai.OpenAIError, self._nothing)
        made = _decoded(body)
        vectors = {vector.index: _of_length_1(vector.embedding) for vector in made.data}
        dimensions = {len(vector) for vector in vectors.values()}
        if sorted(vectors) != list(range(len(texts))) or len(made.data) != len(texts) or len(dimensions) != 1:
            raise _failed("the answer does not hold one vector for each text")
        took = count_in(told(made.usage, _Took).prompt_tokens)
        return Embeddings(tuple(vectors[place] for place in range(len(texts))), took)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()


def _decoded(body: bytes) -> _Made:
    try:
        return msgspec.convert(json_of(body), _Made)
    except (NotJson, msgspec.ValidationError) as error:
        raise _failed("the answer is not what /v1/embeddings answers") from error


def _of_length_1(vector: tuple[float, ...]) -> tuple[float, ...]:
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not math.isfinite(length) or length < _SHORTEST:
        raise _failed("the answer holds a vector that has no direction")
    return tuple(value / length for value in vector)


def _failed(why: str) -> ModelFailed:
    return ModelFailed(ResultStatus.FAILED_PARSE, why, retryable=True)
