"""The port to embedding models: texts in, vectors out, by which texts of like meaning lie near each other."""

from typing import Protocol

import msgspec

# A body of answers is read up to a megabyte (models/untrusted.py): so many vectors of 3,072 numbers fit into it.
MOST_TEXTS = 8
# Added by providers around each text.
_ADDED_TOKENS = 16


def most_tokens(texts: tuple[str, ...]) -> int:
    """More tokens than the texts can have: no tokenizer makes two tokens of one byte."""
    return sum(len(text.encode()) + _ADDED_TOKENS for text in texts)


class Embeddings(msgspec.Struct, frozen=True):
    """Vectors of length 1, one for each text in its order, all of the same dimensions; and the tokens that they took, 0
    where that is not said."""

    vectors: tuple[tuple[float, ...], ...]
    input_tokens: int


class Embedder(Protocol):
    """A model that makes vectors of texts.

    EM1  Each text of at most MOST_TEXTS gets one vector, in the order of the texts: of length 1, of finite numbers, all
         of the same dimensions; anything else is a failure.
    EM2  The call ends within `deadline_s`; what took longer is a failure.
    EM3  Every failure is a `ModelFailed` whose status is not OK, and whose detail quotes no text and no secret.
    EM4  Equal texts get equal vectors, whatever else is in the call.
    EM5  A failed call is not tried again: that is for whoever asked.
    """

    @property
    def provider(self) -> str:
        """Who answers: `openai_compatible`."""
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
