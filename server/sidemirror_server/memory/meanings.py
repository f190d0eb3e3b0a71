"""Vectors of memories and of questions: made beside every call, never on the way of a write.

What is written wakes `run`, which makes vectors for whatever has none of the present model: new memories, changed
texts, and, after another model was configured, all of them. Until most of a scope has its vectors, it is searched by
words.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from sidemirror_server.memory.search import Embedded, MemorySearch, Unembedded
from sidemirror_server.models.embedder import MOST_TEXTS
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.vocabulary.errors import ModelFailed, StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import clip

_log = logging.getLogger(__name__)

# In code points. Chosen here: what common embedding models take of English (8,192 tokens) and of Chinese.
_TEXT_CHARS = 8_000
# A question waits so long for its vector at most, then words answer it. Chosen here: a person's patience with a search.
_QUESTION_S = 2.0
_MEMORIES_S = 30.0
# Vectors of questions that are remembered. Chosen here: some megabytes.
_QUESTIONS = 512
# After a failure a scope is left alone for this long. Chosen here: as long as a breaker rests.
_PAUSE_S = 30.0
# Scopes that wait for vectors; more are taken up when they are next asked about.
_MOST_SCOPES = 10_000

Sleep = Callable[[float], Coroutine[Any, Any, None]]


class MemoryMeanings:
    """Makes vectors with one embedding model."""

    def __init__(self, embedder: PaidEmbedder, search: MemorySearch, sleep: Sleep = asyncio.sleep) -> None:
        self._embedder = embedder
        self._search = search
        self._sleep = sleep
        self._questions: OrderedDict[tuple[Scope, str], tuple[float, ...]] = OrderedDict()
        self._waiting: OrderedDict[Scope, None] = OrderedDict()
        self._news = asyncio.Event()

    @property
    def model(self) -> str:
        """What the vectors are kept under."""
        return self._embedder.name

    async def of_question(self, scope: Scope, text: str) -> tuple[float, ...] | None:
        """The vector of a question; None when there is none to be had now."""
        self.wake(scope)  # it may have been written to by another server, or before this one was started
        asked = clip(text, _TEXT_CHARS)
        known = self._questions.get((scope, asked))
        if known is not None:
            self._questions.move_to_end((scope, asked))
            return known
        try:
            made = await self._embedder.embed(scope, (asked,), _QUESTION_S)
        except ModelFailed as failure:
            _log.info("question_not_embedded", extra={"status": failure.status.name, "reason": failure.detail})
            return None
        self._questions[scope, asked] = made.vectors[0]
        while len(self._questions) > _QUESTIONS:
            self._questions.popitem(last=False)
        return made.vectors[0]

    def wake(self, scope: Scope) -> None:
        """Something of the scope may wait for its vector."""
        if len(self._waiting) < _MOST_SCOPES:
            self._waiting[scope] = None
            self._news.set()

    async def close(self) -> None:
        """Ends the connections to the embedding model."""
        await self._embedder.close()

    async def run(self) -> None:
        """Makes what is missing, scope after scope, until it is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                scope, _ = self._waiting.popitem(last=False)
                if not await self._all_of(scope):
                    await self._sleep(_PAUSE_S)
                    self.wake(scope)

    async def _all_of(self, scope: Scope) -> bool:
        """Makes what a scope lacks; False when something was in the way."""
        try:
            while waiting := await self._search.unembedded(scope, self.model, MOST_TEXTS):
                made = await self._embedder.embed(scope, tuple(map(_text, waiting)), _MEMORIES_S)
                vectors = zip(waiting, made.vectors, strict=True)
                await self._search.embed(
                    scope, self.model, tuple(Embedded(one.memory_id, one.content, vector) for one, vector in vectors)
                )
        except ModelFailed as failure:
            _log.warning("memories_not_embedded", extra={"status": failure.status.name, "reason": failure.detail})
            return False
        except (StoreUnavailable, StoreFull) as error:
            _log.warning("memories_not_embedded", extra={"reason": str(error)})
            return False
        return True


def _text(one: Unembedded) -> str:
    """What the vector is made from: what it was about, and what was learned."""
    return clip(f"{one.task_text}\n{one.content}" if one.task_text else one.content, _TEXT_CHARS) or " "
