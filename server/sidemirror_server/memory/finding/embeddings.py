"""Vectors of memories and of questions. No write waits for a vector.

A write wakes `run`, which embeds all memories without a vector of the present model: new ones, those with a changed
text, and after a change of model all memories. Until most memories of a scope have vectors, the scope is searched by
words. Vectors with other dimensions count as another model's, because a server may change the model behind a name.
Among sidecars that share a store, only one at a time embeds a scope, since each vector costs money.
"""

import asyncio
import contextlib
import logging
from array import array
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any

from sidemirror_server.memory.finding.search import Embedded, MemorySearch, Unembedded
from sidemirror_server.memory.finding.weighing import Weight
from sidemirror_server.memory.finding.weights import Weights
from sidemirror_server.models.embedder import MOST_TEXTS, Embeddings
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed, StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.ids import new_id
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves, whose
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.text import clip

_log = logging.getLogger(__name__)

# In code points. Chosen here: common embedding models accept this much English (8,192 tokens) and Chinese.
_TEXT_CHARS = 8_000
# How long a question waits for its vector, before words answer it. Chosen here: a person's patience with a search.
_QUESTION_S = 2.0
_MEMORIES_S = 30.0
# A refused text is retried with this length: some models accept few tokens, and some scripts take many for a character.
_SHORT_TEXT_CHARS = 500
# A text that every model accepts. It shows the dimensions of its vectors, and whether it answers at all.
_PLAIN_TEXT = "memory"
# The limits of the cache of question vectors: entries and bytes. Chosen here: 512 vectors with the 3,072 numbers of
# large embedding models fit, and fewer longer ones.
_QUESTIONS = 512
_QUESTIONS_BYTES = 16 * 1024 * 1024
# How long to pause after a failure, and how long to skip a scope that has reached a spend cap. Chosen here: as long as
# a breaker stays open.
_PAUSE_S = 30.0
# Memories written within this time are embedded together: otherwise each would take a call and a commit. Chosen here:
# less time than a call to an embedding model takes.
_GATHER_S = 0.02
# Memories read at once, then embedded in batches of MOST_TEXTS. Chosen here: as many as 64 writers write at once.
_AT_ONCE = 64
# When another sidecar embeds a scope, the scope is checked again after this time: its latest memories may lack vectors.
# Chosen here: a question in between is answered, and mostly by vectors.
_ELSEWHERE_S = 5.0
# A question triggers a check for memories without vectors, unless a check within this time found none: in Postgres the
# check scans the whole scope. Chosen here: as long as `_ELSEWHERE_S`.
_LOOK_AGAIN_S = _ELSEWHERE_S
# Two sidecars with different models would replace each other's vectors for ever, and pay each time. A sidecar whose
# vectors are replaced leaves the scope alone for this time. Chosen here: longer than most rolling upgrades.
_REPLACED_S = 600.0
# To detect replaced vectors: how many embedded texts are remembered, and how many of them must lack a vector at once.
# If fewer lack one, the texts may have been changed back, or deleted and imported.
_MOST_MADE, _FEWEST_REPLACED = 20_000, 8
# The longest wait for the release of a lease.
_LEAVE_S = 1.0
# Limit on the scopes that wait for vectors. A further scope is added at its next question.
_MOST_SCOPES = 10_000
# How many memories with a refused text are remembered, so as not to retry them before a restart. Chosen here: a scope
# with more of them stays incomplete.
_MOST_REFUSED = 1_000

Sleep = Callable[[float], Coroutine[Any, Any, None]]


class _InTheWay(Enum):
    """Why a scope has no vectors yet."""

    MONEY = "money"
    ANOTHER = "another"  # another sidecar embeds the scope
    REPLACED = "replaced"  # a sidecar with another model replaced the vectors
    FAILURE = "failure"


# How long the scope rests for each reason.
_REST_S = {_InTheWay.MONEY: _PAUSE_S, _InTheWay.ANOTHER: _ELSEWHERE_S, _InTheWay.REPLACED: _REPLACED_S}


class MemoryMeanings:
    """Makes vectors with one embedding model, for the scopes served. `shared`: other sidecars, whose models may differ,
    use this store. `weights` None: vectors are made and count for nothing."""

    def __init__(
        self,
        embedder: PaidEmbedder,
        search: MemorySearch,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        *,
        shared: bool = True,
        serves: Serves = SERVES_ALL,
        weights: Weights | None = None,
    ) -> None:
        self._serves = serves
        self._weights = weights
        self._shared = shared
        self._embedder = embedder
        self._search = search
        self._clock = clock
        self._holder = new_id(clock.now_us())
        self._sleep = sleep
        self._dimensions = 0
        # Arrays take a quarter of the memory of Python floats.
        self._questions: OrderedDict[tuple[Scope, str], array[float]] = OrderedDict()
        self._waiting: OrderedDict[Scope, None] = OrderedDict()
        self._resting: set[Scope] = set()
        self._whole: dict[Scope, float] = {}  # since when no memory lacks a vector, in monotonic seconds
        self._refused: dict[Scope, dict[str, str]] = {}
        self._made_before: OrderedDict[int, None] = OrderedDict()  # digests
        self._news = asyncio.Event()

    @property
    def model(self) -> str:
        """The name that vectors are stored under. It includes their dimensions as soon as these are known."""
        return f"{self._embedder.name}/{self._dimensions}" if self._dimensions else self._embedder.name

    def weight(self, scope: Scope) -> Weight:
        """How much vectors count in this scope; 0 until it is measured."""
        self._look(scope)
        return Weight() if self._weights is None else self._weights.of(scope, self.model)

    async def of_question(self, scope: Scope, text: str, wait_s: float | None = None) -> tuple[float, ...] | None:
        """The vector of a question by the present `model`; None if there is none within `wait_s` (None: 2 s)."""
        self._look(scope)
        asked = clip(text, _TEXT_CHARS)
        known = self._questions.get((scope, asked))
        if known is not None:
            self._questions.move_to_end((scope, asked))
            return tuple(known)
        try:
            made = await self._embedder.embed(scope, (asked,), _QUESTION_S if wait_s is None else wait_s)
        except ModelFailed as failure:
            told = {**whose(scope), "status": failure.status.name, "reason": failure.detail}
            _log.info("question_not_embedded", extra=told)
            return None
        self._has_dimensions_of(made)
        kept = self._questions[scope, asked] = array("d", made.vectors[0])
        most = min(_QUESTIONS, _QUESTIONS_BYTES // (kept.itemsize * len(kept)))
        while len(self._questions) > most:
            self._questions.popitem(last=False)
        return made.vectors[0]

    def _look(self, scope: Scope) -> None:
        """Wakes a scope now and then: another sidecar, or this one before a restart, may have written to it."""
        if self._clock.monotonic_s() - self._whole.get(scope, -_LOOK_AGAIN_S) >= _LOOK_AGAIN_S:
            self.wake(scope)

    def wake(self, scope: Scope) -> None:
        """Reports that memories of this scope may lack a vector."""
        if len(self._waiting) < _MOST_SCOPES and scope not in self._resting and self._serves.covers(scope):
            self._waiting[scope] = None
            self._news.set()

    async def prepare(self) -> None:
        """Loads the SDK and the prices before the first vector."""
        await self._embedder.prepare()

    async def close(self) -> None:
        """Ends the connections to the embedding model."""
        await self._embedder.close()

    async def run(self) -> None:
        """Makes missing vectors, scope by scope, until cancelled."""
        async with asyncio.TaskGroup() as resting:
            while True:
                await self._news.wait()
                self._news.clear()
                await asyncio.sleep(_GATHER_S)
                while self._waiting:
                    scope, _ = self._waiting.popitem(last=False)
                    in_the_way = await self._all_of(scope)
                    if in_the_way is None:
                        self._is_whole(scope)
                    if in_the_way is _InTheWay.FAILURE:
                        await self._sleep(_PAUSE_S)
                        self.wake(scope)
                    elif in_the_way is not None:  # concerns this scope only
                        self._resting.add(scope)
                        resting.create_task(self._rest(scope, _REST_S[in_the_way]))

    def _is_whole(self, scope: Scope) -> None:
        self._whole.pop(scope, None)
        self._whole[scope] = self._clock.monotonic_s()
        if len(self._whole) > _MOST_SCOPES:
            del self._whole[next(iter(self._whole))]

    async def _rest(self, scope: Scope, for_s: float) -> None:
        await self._sleep(for_s)
        self._resting.discard(scope)
        self.wake(scope)

    async def _all_of(self, scope: Scope) -> _InTheWay | None:
        """Makes the missing vectors of a scope, unless another sidecar does. Returns what prevented it, or None."""
        try:
            if not await self._take(scope):
                return _InTheWay.ANOTHER
            try:
                in_the_way = await self._made_all(scope)
                if in_the_way is None and self._weights is not None:
                    await self._weights.measure(scope, self.model)
                return in_the_way
            finally:
                with contextlib.suppress(TimeoutError, StoreUnavailable, StoreFull):  # the lease then expires
                    async with asyncio.timeout(_LEAVE_S):
                        await self._search.leave(scope, self._embedder.name, self._holder)
        except ModelFailed as failure:
            told = {**whose(scope), "status": failure.status.name, "reason": failure.detail}
            _log.info("memories_not_embedded", extra=told)
            return _InTheWay.MONEY if failure.status is ResultStatus.SKIPPED_SPEND else _InTheWay.FAILURE
        except (StoreUnavailable, StoreFull) as error:
            _log.info("memories_not_embedded", extra={**whose(scope), "reason": str(error)})
            return _InTheWay.FAILURE

    async def _made_all(self, scope: Scope) -> _InTheWay | None:
        if not self._dimensions:
            self._has_dimensions_of(await self._embedder.embed(scope, (_PLAIN_TEXT,), _MEMORIES_S, background=True))
        while waiting := await self._unembedded(scope):
            made = {hash((scope, one.memory_id, one.content)): None for one in waiting}
            replaced = len(made.keys() & self._made_before.keys())
            if self._shared and replaced >= _FEWEST_REPLACED and 2 * replaced >= len(made):
                _log.warning("embedding_models_differ", extra={**whose(scope), "model": self.model})
                self._made_before.clear()
                return _InTheWay.REPLACED
            # The next batch is made while this one is stored: batches that are ready together share a commit.
            keeping: list[asyncio.Task[None]] = []
            try:
                in_the_way = await self._made_some(scope, waiting, keeping)
            finally:
                await _all_done(keeping)
            if in_the_way is not None:
                return in_the_way
            self._made_before.update(made)
            while len(self._made_before) > _MOST_MADE:
                self._made_before.popitem(last=False)
        return None

    async def _made_some(
        self, scope: Scope, waiting: tuple[Unembedded, ...], keeping: list[asyncio.Task[None]]
    ) -> _InTheWay | None:
        """Makes these memories' vectors; adds the tasks that store them to `keeping`. Returns the same as `_all_of`."""
        for first in range(0, len(waiting), MOST_TEXTS):
            if not await self._take(scope):  # the last batch outlasted the lease
                return _InTheWay.ANOTHER
            there = await self._still_there(scope, waiting[first : first + MOST_TEXTS])
            if not there:
                continue
            model, made = self.model, await self._made(scope, there)
            if self.model != model:  # stored vectors now count as another model's: check again
                _log.warning("embedding_dimensions_changed", extra={**whose(scope), "model": self.model})
                return _InTheWay.FAILURE
            keeping.append(asyncio.create_task(self._search.embed(scope, model, made)))
        return None

    async def _still_there(self, scope: Scope, batch: tuple[Unembedded, ...]) -> tuple[Unembedded, ...]:
        """The memories of a batch that are still there after earlier batches were made: what is erased goes nowhere."""
        there = await self._search.terms_in(scope, tuple(one.memory_id for one in batch))
        return tuple(one for one in batch if one.memory_id in there)

    async def _take(self, scope: Scope) -> bool:
        return await self._search.take(scope, self._embedder.name, self._holder, self._clock.now_us())

    async def _unembedded(self, scope: Scope) -> tuple[Unembedded, ...]:
        refused = self._refused.get(scope, {})
        found = await self._search.unembedded(scope, self.model, _AT_ONCE + len(refused))
        return tuple(one for one in found if refused.get(one.memory_id) != one.content)[:_AT_ONCE]

    async def _made(self, scope: Scope, waiting: tuple[Unembedded, ...]) -> tuple[Embedded, ...]:
        """Vectors of these memories, without those whose text the model refuses. Raises ModelFailed."""
        try:
            return await self._of(scope, waiting, _TEXT_CHARS)
        except ModelFailed as failure:
            if not failure.is_not_taken:
                raise
        made: list[Embedded] = []
        for one in waiting:
            for most_chars in (_TEXT_CHARS, _SHORT_TEXT_CHARS):
                try:
                    made += await self._of(scope, (one,), most_chars)
                    break
                except ModelFailed as failure:
                    if not failure.is_not_taken:
                        raise
        if not made:  # raises if the model refuses all texts; else these texts are the reason
            await self._embedder.embed(scope, (_PLAIN_TEXT,), _MEMORIES_S, background=True)
        answered = {one.memory_id for one in made}
        for one in waiting:
            if one.memory_id not in answered:
                self._set_aside(scope, one)
        return tuple(made)

    def _set_aside(self, scope: Scope, one: Unembedded) -> None:
        if sum(map(len, self._refused.values())) < _MOST_REFUSED:
            self._refused.setdefault(scope, {})[one.memory_id] = one.content
        told = {**whose(scope), "memory_id": one.memory_id, "reason": "the model refuses its text"}
        _log.warning("memory_not_embedded", extra=told)

    async def _of(self, scope: Scope, waiting: tuple[Unembedded, ...], most_chars: int) -> tuple[Embedded, ...]:
        texts = tuple(_text(one, most_chars) for one in waiting)
        made = await self._embedder.embed(scope, texts, _MEMORIES_S, background=True)
        self._has_dimensions_of(made)
        vectors = zip(waiting, made.vectors, strict=True)
        return tuple(Embedded(one.memory_id, one.content, vector) for one, vector in vectors)

    def _has_dimensions_of(self, made: Embeddings) -> None:
        """Takes the dimensions of these vectors as the model's. A change clears the state of the old dimensions."""
        dimensions = len(made.vectors[0])
        if dimensions != self._dimensions:
            self._dimensions = dimensions
            self._questions.clear()
            self._whole.clear()
            self._made_before.clear()


async def _all_done(tasks: list[asyncio.Task[None]]) -> None:
    """Waits for all tasks, even after one failed. Raises the first failure."""
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if outcome is not None:
            raise outcome


def _text(one: Unembedded, most_chars: int) -> str:
    """The text to embed: the task, then the content."""
    return clip(f"{one.task_text}\n{one.content}" if one.task_text else one.content, most_chars) or " "
