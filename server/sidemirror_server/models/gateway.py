"""The one way to a language model: profile, shared calls, slot, breaker, reservation, call, settlement, retries.

Rooms call `Gateway.ask` with the scope that pays for the question. Every failure is a `ModelFailed` with a status.
`rules` and test models cost nothing and need no ledger, but are called in the same way. A failed model is never
replaced by another.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from sidemirror_server.models.attempts import after_all, did_its_part, total, unanswered
from sidemirror_server.models.breaker import Breakers
from sidemirror_server.models.language_model import BACKGROUND, AnswerT, Ask, Completion, LanguageModel, Purpose
from sidemirror_server.models.ledger import Amount
from sidemirror_server.models.prices import Prices
from sidemirror_server.models.profiles import NO_CAPS, Profile, Within, fitted, most_input_tokens, most_output_tokens
from sidemirror_server.models.sharing import SharedCalls
from sidemirror_server.models.slots import FairSlots
from sidemirror_server.models.spending import Spending
from sidemirror_server.models.telemetry import Questions, model_call
from sidemirror_server.models.templates import PurposePrompts
from sidemirror_server.models.token_counts import can_be_count, credible
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_log = logging.getLogger(__name__)

# Decision 023: at most three attempts.
ATTEMPTS = 3
# The longest pause after the first attempt; it doubles after the second. A pause that the provider requests is used
# instead. Chosen here: an overload lasts seconds, and a call may take thirty.
_PAUSE_S = 0.5
# No further attempt is made if less time is left than this, or than the last attempt took. Chosen here: a call that
# cannot return in time still costs money.
_LEAST_ATTEMPT_S = 0.2
# Callers wait this much longer than the call, so that they receive the call's own error.
_GRACE_S = 0.05
# The margin for a provider's count of a prompt (Anthropic calls its count an estimate).
_COUNT_RATIO, _COUNT_MORE = 1.1, 64

_PRICE_NOT_KNOWN = (
    "no price list has this model, so the dearest known price is counted: set model.input_usd_per_mtok and "
    "model.output_usd_per_mtok"
)


@runtime_checkable
class CountsTokens(Protocol):
    """A model whose provider counts a prompt's tokens without answering it."""

    async def count_tokens(self, ask: Ask[Any], deadline_s: float) -> int | None:
        """The input tokens; None if the provider does not answer within `deadline_s` seconds."""
        ...


@runtime_checkable
class AnswersSome(Protocol):
    """A model that has no answer for some purposes."""

    def answers(self, purpose: Purpose) -> bool:
        """Whether it has an answer for this purpose."""
        ...


class Provider:
    """A model and the state that its calls share. `prices` None: calls are free, without ledger, slot or breaker."""

    def __init__(self, model: LanguageModel, prices: Prices | None, slots: int, clock: Clock) -> None:
        self.model = model
        self.prices = prices
        self.breakers = Breakers(clock)
        self.slots = FairSlots(slots)
        # False once the provider has reported an impossible count of tokens.
        self.is_credible = True
        # True once the model could not be loaded.
        self.is_missing = False

    def would_answer(self, purpose: Purpose) -> bool:
        """Whether a question for this purpose would be sent now, as far as caps allow it."""
        if isinstance(self.model, AnswersSome) and not self.model.answers(purpose):
            return False
        return not self.is_missing and self.breakers.of(background=purpose in BACKGROUND).state != "open"


class Route(msgspec.Struct, frozen=True):
    """The model and profile for a purpose."""

    provider: Provider
    profile: Profile = Profile()


class _Call(msgspec.Struct, frozen=True):
    """A question that is ready to send."""

    scope: Scope
    provider: Provider
    prices: Prices
    ask: Ask[Any]
    ends_s: float


class Gateway:
    """Sends each question to the model for its purpose."""

    def __init__(
        self,
        routes: Mapping[Purpose, Route],
        spending: Spending,
        clock: Clock,
        chance: Callable[[], float] = random.random,
        prompts: PurposePrompts | None = None,
    ) -> None:
        """`chance`: a random factor from 0 to 1 for the pauses between attempts. `prompts`: with the operator's
        templates; None for the built-in texts."""
        self._routes = routes
        self._spending = spending
        self._clock = clock
        self._chance = chance
        self._prompts = prompts or PurposePrompts()
        self._shared = SharedCalls(clock)
        # Those of other gateways to models may be counted in it, too.
        self.questions = Questions(clock)

    async def ask(
        self, scope: Scope, ask: Ask[AnswerT], deadline_s: float, within: Within = NO_CAPS
    ) -> Completion[AnswerT]:
        """The answer within `deadline_s` seconds. A paid call also stays `within` the caller's remaining budget.

        The usage counts every attempt. Raises `ModelFailed`; its usage counts the attempts that are known to have cost
        something.
        """
        route = self._routes.get(ask.purpose)
        if route is None:
            raise ModelFailed(ResultStatus.SKIPPED_DISABLED, f"no model is set for {ask.purpose.value}")
        if deadline_s <= 0:
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer")
        model = route.provider.model
        asked = self._prompts.applied_to(route.profile.applied_to(ask))
        with self.questions.asked(scope, ask.purpose, model.provider, model.name):
            return await self._ask(scope, route.provider, asked, deadline_s, within)

    async def _ask(
        self, scope: Scope, provider: Provider, ask: Ask[AnswerT], deadline_s: float, within: Within
    ) -> Completion[AnswerT]:
        ends_s = self._clock.monotonic_s() + deadline_s
        try:
            async with asyncio.timeout(deadline_s + _GRACE_S):
                if provider.prices is None:
                    return await provider.model.complete(ask, deadline_s)
                call = await self._prepared(scope, provider, provider.prices, ask, ends_s, within)
                return await self._shared.answer((scope, call.ask), ends_s + _GRACE_S, lambda: self._answered(call))
        except TimeoutError as error:
            why = f"the model did not answer within {deadline_s:g} s"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why) from error

    async def prepare(self) -> None:
        """Loads SDKs and prices before the first question. Logs what is ready or missing."""
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
                provider.is_missing = True
                _log.error("model_not_usable", extra={"model": provider.model.name, "reason": failure.detail})
            else:
                _log.info("model_ready", extra={"model": provider.model.name})

    async def close(self) -> None:
        """Ends the open calls and waits until the ledger has recorded their cost."""
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
        """The answer, with retries."""
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
        slots = call.provider.slots
        try:
            await slots.take(call.scope, self._left_s(call))
        except TimeoutError as error:
            why = "no place for another call to this model became free before the deadline"
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, why) from error
        try:
            return await self._guarded(call)
        finally:
            slots.give_back()

    async def _guarded(self, call: _Call) -> Completion[Any]:
        """One call, if the breaker allows it. The breaker learns its result."""
        provider = call.provider
        breaker = provider.breakers.of(background=call.ask.purpose in BACKGROUND)
        wait_s = breaker.enter()
        if wait_s is not None:
            why = breaker.in_words(provider.model.name, wait_s)
            raise ModelFailed(ResultStatus.FAILED_MODEL, why, not_asked=True)
        good: bool | None = None
        why, given_s = "", self._left_s(call)
        try:
            completion = await self._paid(call)
            good = True
        except ModelFailed as failure:
            ran_out = self._left_s(call) <= _GRACE_S
            good, why = did_its_part(failure, ran_out, given_s), failure.detail
            raise
        else:
            return completion
        finally:
            breaker.leave(good, why)

    async def _paid(self, call: _Call) -> Completion[Any]:
        """One call with a reservation, which is settled whether the call succeeds or fails."""
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
        # None while nobody knows what the call took.
        actual: Amount | None = None
        began_s, left_s = self._clock.monotonic_s(), self._left_s(call)
        try:
            if left_s <= 0:
                actual = Amount()
                raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer")
            model = call.provider.model
            with self.questions.sent(purpose, model.provider, model.name), model_call(model, call.ask) as told:
                async with asyncio.timeout(left_s):
                    completion = await model.complete(call.ask, left_s)
                told.took(completion.usage, ResultStatus.OK)
            usage = _credible(call, completion)
            actual = call.prices.of(usage)
            return Completion(completion.answer, usage)
        except ModelFailed as failure:
            if failure.usage is not None:
                actual = call.prices.of(failure.usage)
            raise
        except TimeoutError as error:
            raise ModelFailed(ResultStatus.FAILED_MODEL, f"the model did not answer within {left_s:g} s") from error
        finally:
            took = unanswered(call.ask, self._clock.monotonic_s() - began_s, call.prices) if actual is None else actual
            self._spending.settle(reservation, took.at_most(reservation.most), is_estimate=actual is None)

    async def _counted(self, provider: Provider, ask: Ask[Any], ends_s: float) -> int | None:
        """The provider's count of the prompt's tokens plus a margin for its error; None without a count."""
        if not isinstance(provider.model, CountsTokens):
            return None
        counted = await provider.model.count_tokens(ask, max(0.0, ends_s - self._clock.monotonic_s()))
        if counted is None or not can_be_count(counted, ask):
            return None
        return int(counted * _COUNT_RATIO) + _COUNT_MORE

    def _left_s(self, call: _Call) -> float:
        return max(0.0, call.ends_s - self._clock.monotonic_s())

    def _pause_s(self, attempt: int, failure: ModelFailed) -> float:
        if failure.retry_after_s is not None:
            return failure.retry_after_s
        return float(_PAUSE_S * 2 ** (attempt - 1)) * self._chance()


def _credible(call: _Call, completion: Completion[Any]) -> Usage:
    """The call's usage with impossible counts replaced. The first impossible count of each model is logged."""
    usage = credible(completion.usage, call.ask, msgspec.json.encode(completion.answer).decode())
    if "tokens" in usage.parameters and call.provider.is_credible:
        call.provider.is_credible = False
        _log.warning("tokens_estimated", extra={"model": usage.model, "reason": "its own counts cannot be true"})
    return usage
