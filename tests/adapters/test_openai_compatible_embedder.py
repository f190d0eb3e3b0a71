"""The port `Embedder` on `/v1/embeddings`: its clauses, and what it makes of answers that are none."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleEmbedder
from sidemirror_server.models.embedder import Embedder, Embeddings
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus
from tests.conformance import embedder as suite
from tests.conformance.clauses import clauses_of
from tests.models import provider_answers
from tests.models.endpoint import EMBEDDING, KEY, Endpoint, Fault, unused_url

CLAUSES = clauses_of(suite)
FAULTS = (
    *(Fault.RATE_LIMITED, Fault.ERROR_500, Fault.HTML_502, Fault.ECHOING_400, Fault.HTML_200, Fault.EMPTY_BODY),
    *(Fault.RESET, Fault.REDIRECT, Fault.TEN_MEGABYTES),
)


class Local:
    """The adapter against an endpoint on loopback."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.made: list[OpenAICompatibleEmbedder] = []

    def _new(self, key: str = KEY, url: str = "") -> Embedder:
        self.made.append(OpenAICompatibleEmbedder(EMBEDDING, key, url or self.endpoint.openai_url))
        return self.made[-1]

    def answering(self) -> Embedder:
        return self._new()

    def failing(self) -> Iterator[Embedder]:
        for fault in FAULTS:
            self.endpoint.faults = [fault]
            yield self._new()
        self.endpoint.faults = []
        yield self._new(key="sk-ant-test-of-somebody-else")
        yield self._new(url=unused_url())
        yield self._new(url="nowhere")

    def never_answering(self) -> Embedder:
        self.endpoint.faults = [Fault.BLACK_HOLE]
        return self._new()

    def requests(self) -> int:
        return len(self.endpoint.calls)


@pytest.fixture
async def local() -> AsyncIterator[Local]:
    async with Endpoint() as endpoint:
        provider = Local(endpoint)
        yield provider
        for embedder in provider.made:
            await embedder.close()


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, local: Local) -> None:
    await CLAUSES[clause](local)


async def test_the_request(local: Local) -> None:
    await local.answering().embed(("one", "two"), 10.0)
    (call,) = local.endpoint.calls
    assert call.path == "/v1/embeddings"
    assert call.body == {"model": EMBEDDING, "input": ["one", "two"], "encoding_format": "float"}


def answer(*vectors: Any, indexes: tuple[int, ...] = (0, 1)) -> bytes:
    data = [{"index": index, "embedding": vector} for index, vector in zip(indexes, vectors, strict=False)]
    return json.dumps({"data": data, "usage": {"prompt_tokens": 2}}).encode()


@pytest.mark.parametrize(
    "body",
    [
        answer([1.0, 0.0]),
        answer([1.0, 0.0], [1.0]),
        answer([1.0, 0.0], [0.0, 0.0]),
        answer([1.0, 0.0], [1.0, float("nan")]),
        answer([1.0, 0.0], [1.0, float("inf")]),
        answer([1.0, 0.0], [1e200, 1e200]),
        answer([1.0, 0.0], []),
        answer([1.0, 0.0], ["1", "2"]),
        answer([1.0, 0.0], [0.0, 1.0], indexes=(0, 0)),
        answer([1.0, 0.0], [0.0, 1.0], indexes=(0, 2)),
        answer([1.0, 0.0], [0.0, 1.0], indexes=(0, -1)),
        answer([1.0, 0.0], [0.0, 1.0], [0.0, 1.0], indexes=(0, 1, 1)),
        b'{"data": {}}',
        b"[]",
    ],
)
async def test_what_is_no_vector_for_each_text_is_refused(
    local: Local, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_answers, "_embeddings", lambda _: (body, 2, 0))
    with pytest.raises(ModelFailed) as failed:
        await local.answering().embed(("one", "two"), 10.0)
    assert failed.value.status is ResultStatus.FAILED_PARSE


async def test_vectors_come_back_in_the_order_of_the_texts(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    body = answer([0.0, 3.0], [4.0, 0.0], indexes=(1, 0))
    monkeypatch.setattr(provider_answers, "_embeddings", lambda _: (body, 2, 0))
    assert await local.answering().embed(("one", "two"), 10.0) == Embeddings(((1.0, 0.0), (0.0, 1.0)), 2)


async def test_without_a_key_or_an_address_nothing_is_asked() -> None:
    with pytest.raises(ModelFailed, match="API key"):
        await OpenAICompatibleEmbedder(EMBEDDING, None).embed(("one",), 10.0)


async def test_without_what_searches_them_no_vectors_are_made(local: Local) -> None:
    needy = OpenAICompatibleEmbedder(EMBEDDING, None, local.endpoint.openai_url, needed=("json", "no_such_package"))
    with pytest.raises(ModelFailed, match="no_such_package") as failed:
        await needy.embed(("one",), 10.0)
    assert failed.value.status is ResultStatus.FAILED_MODEL
