"""Vectors, as the caps and the breaker let them be asked for."""

from pathlib import Path

import pytest

from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.prices import Prices
from sidemirror_server.vocabulary.errors import ModelFailed
from tests.models.gateways import PRICE, SCOPE, desk, failed


class Embedder:
    """Fails with what `failures` holds, then answers."""

    provider, name = "test", "small"

    def __init__(self) -> None:
        self.failures: list[ModelFailed] = []
        self.asked = 0

    async def embed(self, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        assert deadline_s > 0
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return Embeddings(tuple((1.0, 0.0) for _ in texts), 1)

    async def close(self) -> None:
        pass


async def test_memories_whose_vectors_fail_keep_no_question_waiting(tmp_path: Path) -> None:
    """Seen to fail when questions and memories shared one breaker."""
    async with desk(tmp_path) as made:
        model = Embedder()
        prices = Prices(model.provider, model.name, None, PRICE)
        embedder = PaidEmbedder(model, prices, 2, made.spending, made.clock)
        model.failures = [failed() for _ in range(5)]
        for _ in range(6):
            with pytest.raises(ModelFailed):
                await embedder.embed(SCOPE, ("a", "b"), 10.0, background=True)
        assert model.asked == 5
        assert (await embedder.embed(SCOPE, ("a question",), 10.0)).vectors == ((1.0, 0.0),)
