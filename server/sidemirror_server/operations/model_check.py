"""The part of `sidemirror doctor` that asks each chosen model one question and reports its cost.

It asks the provider directly: a running sidecar holds the ledger, and a single question by a person needs no cap. The
question has the form of a reflection's, so that a provider that refuses reflections refuses it too.
"""

import msgspec

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.assembly import routes_of
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.models.gateway import Provider, Route
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.settings import Settings
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# The longest time of a reflection (vocabulary/budget.py); enough for a local model that is loaded from disk first.
_DEADLINE_S = 30.0
# The first attempts may fail because of parameters that the model refuses; the adapter then leaves them out.
_ATTEMPTS = 3
_MAX_TOKENS = 512


class ModelCheck(msgspec.Struct, frozen=True):
    """The result of asking one model.

    `purposes`: the purposes that it serves. `detail`: why there is no answer. `clamped`: parameters that the provider
    dropped or changed. `usage`: None where it is unknown.
    """

    purposes: tuple[str, ...]
    provider: str
    model: str
    status: ResultStatus
    detail: str = ""
    usage: Usage | None = None
    price_known: bool = True
    clamped: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the model answers."""
        return self.status is ResultStatus.OK


def other_models(info: pb.GetServerInfoResponse, settings: Settings) -> str:
    """Which models a sidecar has that these settings do not choose, and what they choose in their place; empty if there
    is none."""
    routes = {purpose.value: route.provider.model for purpose, route in routes_of(settings, SystemClock()).items()}
    here = {purpose: f"{model.provider} {model.name}" for purpose, model in routes.items()}
    there = {one.purpose: f"{one.provider} {one.model}" for one in info.models if one.purpose in here}
    differ = [purpose for purpose, model in there.items() if model != here[purpose]]
    pairs = dict.fromkeys((there[purpose], here[purpose]) for purpose in differ)
    return "; ".join(
        f"{own}, these settings {other} ({', '.join(one for one in differ if (there[one], here[one]) == (own, other))})"
        for own, other in pairs
    )


async def check_models(settings: Settings) -> tuple[ModelCheck, ...]:
    """Asks each model that the settings choose, one after the other. Raises BadSettings. If a model fails, its check
    holds the error."""
    routes = routes_of(settings, SystemClock())
    found = []
    for provider in dict.fromkeys(route.provider for route in routes.values()):
        purposes = tuple(purpose for purpose, route in routes.items() if route.provider is provider)
        try:
            found.append(await _check(purposes, routes[purposes[0]]))
        finally:
            close = getattr(provider.model, "close", None)
            if close is not None:
                await close()
    return tuple(found)


async def _check(purposes: tuple[Purpose, ...], route: Route) -> ModelCheck:
    provider = route.provider
    asked = route.profile.applied_to(_question())
    if provider.prices is not None:
        await provider.prices.load()
    names = tuple(purpose.value for purpose in purposes)
    check = ModelCheck(names, provider.model.provider, provider.model.name, ResultStatus.FAILED_MODEL)
    check = msgspec.structs.replace(check, price_known=provider.prices is None or not provider.prices.assumed)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            completion = await provider.model.complete(asked, _DEADLINE_S)
        except ModelFailed as failure:
            usage = None if failure.usage is None else _priced(provider, failure.usage)
            check = msgspec.structs.replace(check, status=failure.status, detail=failure.detail, usage=usage)
            # A person is waiting, so only a failure whose parameter is now left out gets another attempt.
            if attempt == _ATTEMPTS or not failure.retryable or failure.retry_after_s != 0.0:
                return check
        else:
            usage = _priced(provider, completion.usage)
            return msgspec.structs.replace(
                check, status=ResultStatus.OK, detail="", usage=usage, clamped=_clamped(asked, usage)
            )
    return check


def _question() -> Ask[MidTurnAnswer]:
    step = EvidenceStep(EventId("e1"), "user_message", "", "", "Are you there?")
    return Ask(
        purpose=Purpose.MID_TURN_REFLECTION,
        system="This is a check whether you can be reached. Answer in one short sentence.",
        prompt="Are you there? Cite the event e1.",
        answer_type=MidTurnAnswer,
        evidence=Evidence(question="Are you there?", steps=(step,)),
        max_tokens=_MAX_TOKENS,
    )


def _priced(provider: Provider, usage: Usage) -> Usage:
    if provider.prices is None:
        return usage
    return msgspec.structs.replace(usage, cost_usd=provider.prices.of(usage).usd)


def _clamped(asked: Ask[MidTurnAnswer], usage: Usage) -> tuple[str, ...]:
    """The parameters that the provider dropped or changed, as text."""
    told = usage.parameters
    found = [f"{name} is left out: {usage.model} does not take it" for name in told.get("left_out", "").split()]
    applied = told.get("effort", told.get("reasoning_effort"))
    if asked.effort is not None and applied not in {None, asked.effort}:
        found.append(f"effort: {asked.effort} was asked for, {applied} applies")
    return tuple(found)
