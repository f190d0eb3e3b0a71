"""The one way to a language model: profile, shared calls, slot, breaker, reservation, call, settlement, retries.

Rooms call `Gateway.ask` with the scope on whose account the question is. Whatever goes wrong is a `ModelFailed` with a
status; `rules` and stand-ins cost nothing and need no ledger, but are asked in the same way. No model ever answers in
the place of another.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from sidemirror_server.models.attempts import after_all, did_its_part, total
from sidemirror_server.models.breaker import Breakers
from sidemirror_server.models.language_model import BACKGROUND, AnswerT, Ask, Completion, LanguageModel, Purpose
from sidemirror_server.models.ledger import Amount
from sidemirror_server.models.prices import Prices
from sidemirror_server.models.profiles import NO_CAPS, Profile, Within, fitted, most_input_tokens, most_output_tokens
from sidemirror_server.models.sharing import SharedCalls
from sidemirror_server.models.spending import Spending
from sidemirror_server.models.telemetry import model_call
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_log = logging.getLogger(__name__)

# Decision 023: at most three attempts.
ATTEMPTS = 3
# The pause after the first attempt is up to this, after the second up to twice as much, unless the provider names one.
# Chosen here: what an overload of seconds needs, within the thirty that a call has.
_PAUSE_S = 0.5
# With less time than this, or than the attempt before took, there is no other one. Chosen here: a call that cannot come
# back costs as much as one that can.
_LEAST_ATTEMPT_S = 0.2
# How much later than the call its callers give up, so that they hear what it has to say about its end.
_GRACE_S = 0.05
# A provider's count of a prompt may be off by this (Anthropic calls its own an estimate).
_COUNT_RATIO, _COUNT_MORE = 1.1, 64

_PRICE_NOT_KNOWN = (
    "no price list has this model, so the dearest known price is counted: set model.input_usd_per_mtok and "
    "model.output_usd_per_mtok"
)


@runtime_checkable
class CountsTokens(Protocol):
    """A model whose provider counts a prompt without answering it."""

    async def count_tokens(self, ask: Ask[Any], deadline_s: float) -> int | None:
        """The input tokens; None when it does not say within `deadline_s` seconds."""
        ...


class Provider:
    """A model with what all calls of it share. `prices` None: it costs nothing, and no ledger, slot or breaker is for
    it."""

    def __init__(self, model: LanguageModel, prices: Prices | None, slots: int, clock: Clock) -> None:
        self.model = model
        self.prices = prices
        self.breakers = Breakers(clock)
        self.slots = asyncio.Semaphore(slots)


class Route(msgspec.Struct, frozen=True):
    """What is asked for a purpose, and how."""

    provider: Provider
    profile: Profile = Profile()


class _Call(msgspec.Struct, frozen=True):
    """A question that is ready to go out."""

    scope: Scope
    provider: Provider
    prices: Prices
    ask: Ask[Any]
    ends_s: float


class Gateway:
    """Asks models, each for its purpose."""

    def __init__(
        self,
        routes: Mapping[Purpose, Route],
        spending: Spending,
        clock: Clock,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance`: 0 to 1, what pauses between attempts are scaled with."""
        self._routes = routes
        self._spending = spending
        self._clock = clock
        self._chance = chance
        self._shared = SharedCalls(clock)

    async def ask(
        self, scope: Scope, ask: Ask[AnswerT], deadline_s: float, within: Within = NO_CAPS
    ) -> Completion[AnswerT]:
        """The answer within `deadline_s` seconds and, where it costs something, `within` what the asker has left.

        The usage counts every attempt. Raises `ModelFailed`, whose usage counts those that are known to have cost.
        """
        route = self._routes.get(ask.purpose)
        if route is None:
            raise ModelFailed(ResultStatus.SKIPPED_DISABLED, f"no model is set for {ask.purpose.value}")
        if deadline_s <= 0:
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer")
        asked = route.profile.applied_to(ask)
        ends_s = self._clock.monotonic_s() + deadline_s
        try:
            async with asyncio.timeout(deadline_s + _GRACE_S):
                if route.provider.prices is None:
                    return await route.provider.model.complete(asked, deadline_s)
                call = await self._prepared(scope, route.provider, route.provider.prices, asked, ends_s, within)
                return await self._shared.answer((scope, call.ask), ends_s + _GRACE_S, lambda: self._answered(call))
        except TimeoutError as error:
            why = f"the model did not answer within {deadline_s:g} s"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why) from error

    async def prepare(self) -> None:
        """Loads what a first question would otherwise wait for: SDKs and prices. Logs what is missing."""
        for provider in {route.provider for route in self._routes.values()}:
            if provider.prices is None:
                continue
            await provider.prices.load()
            if provider.prices.assumed:
                _log.warning(
                    "price_not_known",
                    extra={"model": provider.model.name, "reason": "the dearest known price is counted; set its own"},
                )
            prepare = getattr(provider.model, "prepare", None)
            try:
                if prepare is not None:
                    await prepare()
            except ModelFailed as failure:
                _log.error("model_not_usable", extra={"model": provider.model.name, "reason": failure.detail})

    async def close(self) -> None:
        """Ends the calls under way and waits until the ledger knows of them."""
        await self._shared.close()
        await self._spending.settled()
        for provider in {route.provider for route in self._routes.values()}:
            close = getattr(provider.model, "close", None)
            if close is not None:
                await close()

    async def _prepared(
        self, scope: Scope, provider: Provider, prices: Prices, ask: Ask[Any], ends_s: float, within: Within
    ) -> _Call:
        await prices.load()
        if within != NO_CAPS:
            nothing = Usage(provider.model.provider, provider.model.name)
            try:
                ask = fitted(ask, most_input_tokens(ask), within, prices, nothing)
            except ModelFailed:
                counted = await self._counted(provider, ask, ends_s)
                if counted is None:
                    raise
                ask = fitted(ask, counted, within, prices, nothing)
        return _Call(scope, provider, prices, ask, ends_s)

    async def _answered(self, call: _Call) -> Completion[Any]:
        """The answer, in as many attempts as it takes."""
        took: list[Usage] = []
        for attempt in range(1, ATTEMPTS + 1):
            began_s = self._clock.monotonic_s()
            try:
                completion = await self._attempt(call)
            except ModelFailed as failure:
                if failure.usage is not None:
                    took.append(failure.usage)
                pause_s = self._pause_s(attempt, failure)
                again_s = pause_s + max(_LEAST_ATTEMPT_S, self._clock.monotonic_s() - began_s)
                if attempt == ATTEMPTS or not failure.retryable or again_s > self._left_s(call):
                    raise after_all(failure, attempt, took, call.prices) from failure
                _log.info("model_asked_again", extra={"attempt": attempt, "reason": failure.detail})
                await asyncio.sleep(pause_s)
            else:
                usage = total([*took, completion.usage], call.prices)
                return Completion(completion.answer, usage)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, call: _Call) -> Completion[Any]:
        try:
            async with asyncio.timeout(self._left_s(call)):
                await call.provider.slots.acquire()
        except TimeoutError as error:
            why = "no place for another call to this model became free before the deadline"
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, why) from error
        try:
            return await self._guarded(call)
        finally:
            call.provider.slots.release()

    async def _guarded(self, call: _Call) -> Completion[Any]:
        """One call that the breaker lets through, and that the breaker hears about."""
        provider = call.provider
        breaker = provider.breakers.of(background=call.ask.purpose in BACKGROUND)
        wait_s = breaker.enter()
        if wait_s is not None:
            why = f"{provider.model.name} failed {breaker.failed} times in a row: not asked for {wait_s:.0f} s"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why)
        good: bool | None = None
        given_s = self._left_s(call)
        try:
            completion = await self._paid(call)
            good = True
        except ModelFailed as failure:
            ran_out = self._left_s(call) <= _GRACE_S
            good = did_its_part(failure, ran_out, given_s)
            raise
        else:
            return completion
        finally:
            breaker.leave(good)

    async def _paid(self, call: _Call) -> Completion[Any]:
        """One call with its reservation, which is settled whatever comes of it."""
        most = call.prices.most(most_input_tokens(call.ask), most_output_tokens(call.ask))
        purpose = call.ask.purpose
        try:
            reservation = await self._spending.reserve(call.scope, purpose, most, self._left_s(call))
        except ModelFailed as refused:
            counted = None
            if refused.status is ResultStatus.SKIPPED_SPEND:
                counted = await self._counted(call.provider, call.ask, call.ends_s)
            if counted is None and refused.status is ResultStatus.SKIPPED_SPEND and call.prices.assumed:
                raise ModelFailed(refused.status, f"{refused.detail}; {_PRICE_NOT_KNOWN}") from refused
            if counted is None:
                raise
            most = call.prices.most(counted, most_output_tokens(call.ask))
            reservation = await self._spending.reserve(call.scope, purpose, most, self._left_s(call))
        # What a call took that said nothing of it is what it could have taken.
        actual, left_s = reservation.most, self._left_s(call)
        try:
            if left_s <= 0:
                actual = Amount()
                raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer")
            with model_call(call.provider.model, call.ask) as told:
                async with asyncio.timeout(left_s):
                    completion = await call.provider.model.complete(call.ask, left_s)
                told.took(completion.usage, ResultStatus.OK)
            actual = call.prices.of(completion.usage)
            return completion
        except ModelFailed as failure:
            if failure.usage is not None:
                actual = call.prices.of(failure.usage)
            raise
        except TimeoutError as error:
            raise ModelFailed(ResultStatus.FAILED_MODEL, f"the model did not answer within {left_s:g} s") from error
        finally:
            self._spending.settle(reservation, actual)

    async def _counted(self, provider: Provider, ask: Ask[Any], ends_s: float) -> int | None:
        """The prompt's tokens as the provider counts them, with room for its error; None where it does not."""
        if not isinstance(provider.model, CountsTokens):
            return None
        counted = await provider.model.count_tokens(ask, max(0.0, ends_s - self._clock.monotonic_s()))
        return None if counted is None else int(counted * _COUNT_RATIO) + _COUNT_MORE

    def _left_s(self, call: _Call) -> float:
        return max(0.0, call.ends_s - self._clock.monotonic_s())

    def _pause_s(self, attempt: int, failure: ModelFailed) -> float:
        if failure.retry_after_s is not None:
            return failure.retry_after_s
        return float(_PAUSE_S * 2 ** (attempt - 1)) * self._chance()
