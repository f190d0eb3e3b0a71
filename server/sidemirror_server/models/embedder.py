"""The port to embedding models, which turn texts into vectors. Texts of similar meaning get close vectors."""

from typing import Protocol

import msgspec

# At most a megabyte of an answer is read (models/untrusted.py); it holds this many vectors of 3,072 numbers.
MOST_TEXTS = 8
# Providers add this many tokens around each text.
_ADDED_TOKENS = 16


def most_tokens(texts: tuple[str, ...]) -> int:
    """An upper bound on the texts' tokens: every token covers at least one byte."""
    return sum(len(text.encode()) + _ADDED_TOKENS for text in texts)


class Embeddings(msgspec.Struct, frozen=True):
    """Unit vectors of equal dimensions, one for each text in order. `input_tokens` is 0 if not reported."""

    vectors: tuple[tuple[float, ...], ...]
    input_tokens: int


class Embedder(Protocol):
    """A model that turns texts into vectors.

    EM1  Each of at most MOST_TEXTS texts gets one vector, in the order of the texts. Vectors have length 1, finite
         numbers and the same dimensions; anything else is a failure.
    EM2  The call ends within `deadline_s`; a longer call is a failure.
    EM3  Every failure is a `ModelFailed` whose status is not OK, and whose detail quotes no text and no secret.
    EM4  Equal texts get equal vectors, whatever else is in the call.
    EM5  A failed call is not retried: the caller decides.
    """

    @property
    def provider(self) -> str:
        """The provider: `openai_compatible`."""
        ...

    @property
    def name(self) -> str:
        """The model's name at its provider."""
        ...

    async def embed(self, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        """The vectors within `deadline_s` seconds. Raises `ModelFailed`."""
        ...

    async def close(self) -> None:
        """Ends the connections."""
        ...
