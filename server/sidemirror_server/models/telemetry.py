"""Telemetry of models: a span `chat {model}` for each attempt (OpenTelemetry semantic conventions for generative AI),
and of each question how long it took and how it ended. All have names, numbers and the status, no content such as
prompts and answers.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from sidemirror_server.models.language_model import Ask, LanguageModel, Purpose
from sidemirror_server.models.silence import SILENT_S, ModelSilence
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.vocabulary.telemetry import MODEL_DURATION

_T = TypeVar("_T")
_tracer = trace.get_tracer("sidemirror.models")
_log = logging.getLogger(__name__)

# The finish reason of an answer, by status. Failures with another status have none.
_FINISHED = {
    ResultStatus.OK: "stop",
    ResultStatus.TRUNCATED: "length",
    ResultStatus.REFUSED: "content_filter",
}
# Of how many scopes it is remembered how each model did for them. Chosen here: some 500 KB for each.
_SCOPES = 1_000
# How a question ends whose caller hangs up: while the model answers others, and while it answers nobody.
_CANCELLED, UNANSWERED = "cancelled", "unanswered"
# How a question ends that was not sent, since the model had failed others: no failure of its own.
_NOT_ASKED = "skipped_resting"


class ModelCall:
    """The span of one attempt."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def took(self, usage: Usage, status: ResultStatus) -> None:
        """Records the attempt's usage and how it ended."""
        self._span.set_attribute("gen_ai.response.model", usage.parameters.get("served_by", usage.model))
        self._span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
        self._span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
        if status in _FINISHED:
            self._span.set_attribute("gen_ai.response.finish_reasons", [_FINISHED[status]])

    def failed(self, kind: str) -> None:
        """Records that the attempt ended without a usable answer."""
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)


@contextlib.contextmanager
def model_call(model: LanguageModel, ask: Ask[Any]) -> Iterator[ModelCall]:
    """The span around one attempt. A failure is recorded by its status, never by its message."""
    attributes: dict[str, str | int | float] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model.provider,
        "gen_ai.request.model": model.name,
        "gen_ai.request.max_tokens": ask.max_tokens,
    }
    if ask.temperature is not None:
        attributes["gen_ai.request.temperature"] = ask.temperature
    with _tracer.start_as_current_span(
        f"chat {model.name}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        call = ModelCall(span)
        try:
            yield call
        except ModelFailed as failure:
            if failure.usage is not None:
                call.took(failure.usage, failure.status)
            call.failed(failure.status.value)
            raise
        except TimeoutError:
            call.failed("timeout")
            raise
        except asyncio.CancelledError:
            call.failed("cancelled")
            raise


# Caps have a line of their own, and what is off or had no time says nothing about the model.
_ANSWERS = frozenset((ResultStatus.FAILED_PARSE, ResultStatus.TRUNCATED, ResultStatus.REFUSED))
_MODELS_FAULT = _ANSWERS | {ResultStatus.FAILED_MODEL}


class ModelOutage(msgspec.Struct, frozen=True):
    """Questions of one purpose that a model failed one after the other, since it answered last. `status`: how the last
    one ended: `failed_model`, `failed_parse`, `truncated`, `refused` or `unanswered`. `answered_others_us`: when the
    model answered another purpose after that; 0 before, and once this purpose has failed beside others that were
    answered."""

    purpose: Purpose
    provider: str
    model: str
    failed_count: int
    first_us: int
    last_us: int
    status: str
    answered_others_us: int = 0


def _together(outages: Iterator[ModelOutage]) -> ModelOutage | None:
    """The outage of several scopes as one; None without any."""
    found = sorted(outages, key=lambda one: one.last_us)
    if not found:
        return None
    count, first_us = sum(one.failed_count for one in found), min(one.first_us for one in found)
    return msgspec.structs.replace(found[-1], failed_count=count, first_us=first_us)


class _Asked:
    """What is known of one model's questions of one purpose, by scope: what a tenant is told of them says nothing of
    when and how often others asked."""

    def __init__(self, purpose: Purpose, provider: str, model: str, clock: Clock) -> None:
        self._asks = (purpose, provider, model)
        self._named = {"provider": provider, "model": model, "purpose": purpose.value}
        self._clock = clock
        self._told = Outage(_log, "model_failed", "model_answers_again", clock)
        self.silence = ModelSilence(clock)
        # Empty while it answers: a model that answers one scope answers all.
        self._outages: dict[Scope, ModelOutage] = {}
        # When it answered last.
        self._answered_us: dict[Scope, int] = {}
        # When it answered another purpose since it failed this one; whether it has failed this one again after that.
        self._others_us: dict[Scope, int] = {}
        self._fails_alone = False

    def is_of(self, provider: str, model: str) -> bool:
        return self._asks[1:] == (provider, model)

    def outage(self, is_told: Callable[[Scope], bool]) -> ModelOutage | None:
        """The questions of these scopes that it failed since it answered last."""
        found = _together(one for scope, one in self._outages.items() if is_told(scope))
        others_us = min((at_us for scope, at_us in self._others_us.items() if is_told(scope)), default=0)
        return found and msgspec.structs.replace(found, answered_others_us=others_us)

    def answered_us(self, is_told: Callable[[Scope], bool]) -> int:
        """When it answered one of these scopes last; 0 before."""
        return max((at_us for scope, at_us in self._answered_us.items() if is_told(scope)), default=0)

    def worked(self, scope: Scope) -> None:
        """It answered."""
        self._told.worked({**whose(scope), **self._named})
        self._outages.clear()
        self._others_us.clear()
        self._fails_alone = False
        _remember(self._answered_us, scope, self._clock.now_us())

    def answered_another(self, scope: Scope) -> None:
        """The model answered a question of another purpose."""
        if self._outages and not self._fails_alone and scope not in self._others_us:
            _remember(self._others_us, scope, self._clock.now_us())

    def failed(self, scope: Scope, status: str, reason: str) -> None:
        """It did not, or not what was asked for."""
        self._told.failed({**whose(scope), **self._named, "status": status, "reason": reason})
        self._fails_alone = self._fails_alone or bool(self._others_us)
        self._others_us.clear()
        now_us, before = self._clock.now_us(), self._outages.get(scope)
        failed_count, first_us = (before.failed_count, before.first_us) if before else (0, now_us)
        _remember(self._outages, scope, ModelOutage(*self._asks, failed_count + 1, first_us, now_us, status))


def _remember(of: dict[Scope, _T], scope: Scope, value: _T) -> None:
    """Puts the scope's value last, and forgets the first one of too many."""
    of.pop(scope, None)
    of[scope] = value
    if len(of) > _SCOPES:
        del of[next(iter(of))]


def _any(_: Scope) -> bool:
    return True


class Questions:
    """Questions to models, of every purpose. The log has one warning for each model and purpose that fails, or that is
    silent until its callers hang up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: dict[tuple[str, str, Purpose], _Asked] = {}

    def outages(self, is_told: Callable[[Scope], bool] = _any) -> tuple[ModelOutage, ...]:
        """Each model and purpose whose last question failed, in the order in which they were first asked. `is_told`:
        the scopes whose questions count."""
        found = (asked.outage(is_told) for asked in self._asked.values())
        return tuple(one for one in found if one is not None)

    def answered_us(self, purpose: str, is_told: Callable[[Scope], bool] = _any) -> int:
        """When a model answered a question of this purpose last, of these scopes; 0 before the first answer."""
        of_purpose = (asked for (*_, of), asked in self._asked.items() if of.value == purpose)
        return max((asked.answered_us(is_told) for asked in of_purpose), default=0)

    @contextlib.contextmanager
    def asked(self, scope: Scope, purpose: Purpose, provider: str, model: str) -> Iterator[None]:
        """Around one question with all its attempts, of the model by this name."""
        began_s, status = self._clock.monotonic_s(), "defect"
        asked = self._of(purpose, provider, model)
        try:
            yield
            status = ResultStatus.OK.value
            asked.worked(scope)
            for other in self._asked.values():
                if other is not asked and other.is_of(provider, model):
                    other.answered_another(scope)
        except ModelFailed as failure:
            status = _NOT_ASKED if failure.not_asked else failure.status.value
            if failure.status in _MODELS_FAULT and not failure.not_asked:
                asked.failed(scope, status, failure.detail)
            raise
        except asyncio.CancelledError:
            status = _CANCELLED
            raise
        finally:
            if status == _CANCELLED and asked.silence.lasts():
                status = UNANSWERED
                asked.failed(scope, status, f"its callers hung up: no answer in {SILENT_S:.0f} s of waiting and more")
            attributes = {"purpose": purpose.value, "provider": provider, "status": status}
            MODEL_DURATION.record(self._clock.monotonic_s() - began_s, attributes)

    @contextlib.contextmanager
    def sent(self, purpose: Purpose, provider: str, model: str) -> Iterator[None]:
        """Around one call of the model. Silence is counted here: a question also waits for a slot and the ledger."""
        silence = self._of(purpose, provider, model).silence
        silence.sent()
        answered = False
        try:
            yield
            answered = True
        except ModelFailed as failure:
            # Also a refusal, and what cannot be read, is an answer.
            answered = failure.status in _ANSWERS
            raise
        finally:
            silence.ended(answered=answered)

    def _of(self, purpose: Purpose, provider: str, model: str) -> _Asked:
        asked = self._asked.get((provider, model, purpose))
        if asked is None:
            asked = self._asked[provider, model, purpose] = _Asked(purpose, provider, model, self._clock)
        return asked
