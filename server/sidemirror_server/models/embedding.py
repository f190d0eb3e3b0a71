"""The one way to an embedding model: breaker, reservation, call, settlement. There are no retries: a stored text can
wait for its vector, and a question is answered by its words instead."""

import asyncio
import logging
import time

from sidemirror_server.models.breaker import Breaker, Breakers
from sidemirror_server.models.embedder import Embedder, Embeddings, most_tokens
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount
from sidemirror_server.models.prices import Prices
from sidemirror_server.models.slots import FairSlots
from sidemirror_server.models.spending import Spending
from sidemirror_server.models.telemetry import Questions
from sidemirror_server.models.token_counts import believed, estimate
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_log = logging.getLogger(__name__)

# The call ends this much before the caller's time limit, so that the failure can name the late model.
_GRACE_S = 0.05
# A timeout counts against the model only if it had this much time. Chosen here: half of a question's time limit.
_FAIR_S = 1.0


class PaidEmbedder:
    """An embedding model with spending caps. Use it from one event loop."""

    def __init__(
        self,
        embedder: Embedder,
        prices: Prices,
        slots: int,
        spending: Spending,
        clock: Clock,
        questions: Questions | None = None,
    ) -> None:
        """`questions`: None for its own."""
        self._embedder = embedder
        self._prices = prices
        self._slots = FairSlots(slots)
        self._spending = spending
        self._breakers = Breakers(clock)
        self._questions = questions or Questions(clock)

    @property
    def name(self) -> str:
        """The model name under which vectors are stored. Vectors of different models are never compared."""
        return f"{self._embedder.provider}/{self._embedder.name}"

    async def embed(
        self, scope: Scope, texts: tuple[str, ...], deadline_s: float, *, background: bool = False
    ) -> Embeddings:
        """The vectors, charged to the scope. `background`: no caller waits for them. Raises ModelFailed."""
        embedder = self._embedder
        with self._questions.asked(scope, Purpose.MEMORY_EMBEDDING, embedder.provider, embedder.name):
            return await self._embed(scope, texts, deadline_s, background=background)

    async def _embed(self, scope: Scope, texts: tuple[str, ...], deadline_s: float, *, background: bool) -> Embeddings:
        started_s = time.monotonic()
        try:
            async with asyncio.timeout(deadline_s):
                await self._prices.load()
                await self._slots.take(scope, deadline_s)
                try:
                    left_s = started_s + deadline_s - time.monotonic() - _GRACE_S
                    return await self._guarded(scope, texts, left_s, self._breakers.of(background=background))
                finally:
                    self._slots.give_back()
        except TimeoutError as error:
            why = f"there were no vectors within {deadline_s:g} s"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why) from error

    async def prepare(self) -> None:
        """Loads the SDK and the prices before the first call. Logs what is ready or missing."""
        await self._prices.load()
        prepare = getattr(self._embedder, "prepare", None)
        try:
            if prepare is not None:
                await prepare()
        except ModelFailed as failure:
            _log.error("model_not_usable", extra={"model": self._embedder.name, "reason": failure.detail})
        else:
            _log.info("model_ready", extra={"model": self._embedder.name})

    async def close(self) -> None:
        """Ends the connections."""
        await self._embedder.close()

    async def _guarded(self, scope: Scope, texts: tuple[str, ...], deadline_s: float, breaker: Breaker) -> Embeddings:
        wait_s = breaker.enter()
        if wait_s is not None:
            why = breaker.in_words(self._embedder.name, wait_s)
            raise ModelFailed(ResultStatus.FAILED_MODEL, why, not_asked=True)
        good: bool | None = None
        why = ""
        try:
            made = await self._paid(scope, texts, deadline_s)
            good = True
        except ModelFailed as failure:
            good = None if _says_nothing(failure) or deadline_s < _FAIR_S else False
            why = failure.detail
            raise
        else:
            return made
        finally:
            breaker.leave(good, why)

    async def _paid(self, scope: Scope, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        most = self._prices.most(most_tokens(texts), 0)
        reservation = await self._spending.reserve(scope, Purpose.MEMORY_EMBEDDING, most, deadline_s)
        # None while nobody knows what the call took.
        actual: Amount | None = None
        sent = sum(len(text.encode()) for text in texts)
        try:
            with self._questions.sent(Purpose.MEMORY_EMBEDDING, self._embedder.provider, self._embedder.name):
                made = await self._embedder.embed(texts, deadline_s)
            took = believed(made.input_tokens, sent, estimate(sent), most_tokens(texts))
            actual = self._prices.of(Usage("", "", input_tokens=took))
            return made
        except ModelFailed as failure:
            if failure.usage is not None:  # the call is known to have cost nothing
                actual = Amount()
            raise
        finally:
            guess = self._prices.guessed(Usage("", "", input_tokens=estimate(sent)))
            self._spending.settle(
                reservation, (guess if actual is None else actual).at_most(most), is_estimate=actual is None
            )


def _says_nothing(failure: ModelFailed) -> bool:
    """Whether the failure is due to spending, time or this request, and so says nothing about other calls."""
    if failure.status in {ResultStatus.SKIPPED_SPEND, ResultStatus.SKIPPED_DEADLINE}:
        return True
    return failure.usage is not None and not failure.retryable
