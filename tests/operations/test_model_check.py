"""Does the chosen model answer, what did that cost, and what was clamped?"""

import asyncio

import pytest

from sidemirror_server.assembly import ASKED_FOR
from sidemirror_server.operations.doctor import _models
from sidemirror_server.operations.model_check import ModelCheck, check_models
from sidemirror_server.settings import Settings, load
from sidemirror_server.vocabulary.status import ResultStatus
from tests.models.endpoint import CLAUDE, KEY, LOCAL, Endpoint, Fault, unused_url
from tests.models.provider_answers import BY_BUDGET


def claude(endpoint: Endpoint, **more: str) -> Settings:
    told = {"model__provider": "anthropic", "model__base_url": endpoint.anthropic_url, "model__api_key": KEY}
    return load({**told, **more}, {})


async def checked(settings: Settings) -> ModelCheck:
    (check,) = await check_models(settings)
    return check


async def test_rules_always_answers() -> None:
    check = await checked(load({}, {}))
    assert (check.ok, check.provider, check.model) == (True, "rules", "rules-8")
    assert check.usage is not None
    assert check.usage.cost_usd == 0.0


async def test_a_model_that_answers_and_what_it_cost() -> None:
    async with Endpoint() as endpoint:
        check = await checked(claude(endpoint))
        assert (check.ok, check.provider, check.model) == (True, "anthropic", CLAUDE), check.detail
        assert check.purposes == tuple(purpose.value for purpose in ASKED_FOR)
        (call,) = endpoint.calls
        assert check.usage is not None
        assert check.usage.cost_usd == pytest.approx((call.input_tokens * 0.1 + call.output_tokens * 0.5) / 1e6)
        assert (check.price_known, check.clamped) == (True, ())


async def test_a_price_that_nobody_knows() -> None:
    async with Endpoint() as endpoint:
        told = {"model__base_url": endpoint.openai_url, "model__name": LOCAL, "model__api_key": KEY}
        check = await checked(load(told, {}))
        assert (check.ok, check.price_known) == (True, False), check.detail
        own = {"model__input_usd_per_mtok": "0", "model__output_usd_per_mtok": "0"}
        check = await checked(load({**told, **own}, {}))
        assert check.price_known
        assert check.usage is not None
        assert check.usage.cost_usd == 0.0


async def test_doctor_says_that_nobody_knows_the_price() -> None:
    async with Endpoint() as endpoint:
        told = {"model__base_url": endpoint.openai_url, "model__name": LOCAL, "model__api_key": KEY}
        found = await asyncio.to_thread(lambda: list(_models(load(told, {}), [])))
        (unknown,) = [finding for finding in found if "no price list has it" in finding.found]
        assert (unknown.ok, unknown.advice) == (True, "set model__input_usd_per_mtok and model__output_usd_per_mtok")
        own = {"model__input_usd_per_mtok": "0", "model__output_usd_per_mtok": "0"}
        (answers,) = await asyncio.to_thread(lambda: list(_models(load({**told, **own}, {}), [])))
        assert answers.found.endswith("answers, 0.000000 USD")


async def test_what_the_model_does_not_take() -> None:
    async with Endpoint() as endpoint:
        more = {"model__name": BY_BUDGET, "purposes__mid_turn_reflection__effort": "high"}
        check = await checked(claude(endpoint, **more))
        assert check.ok, check.detail
        assert check.clamped == (f"effort is left out: {BY_BUDGET} does not take it",)


async def test_models_that_do_not_answer() -> None:
    async with Endpoint() as endpoint:
        endpoint.fault = Fault.OVERLOADED_529
        check = await checked(claude(endpoint))
        assert (check.ok, check.status) == (False, ResultStatus.FAILED_MODEL)
        assert check.detail.startswith("the provider answered 529: it is overloaded")
        assert len(endpoint.calls) == 1
        check = await checked(claude(endpoint, model__base_url=unused_url()))
        assert check.detail.startswith("the provider cannot be reached")


async def test_each_model_is_asked_once() -> None:
    async with Endpoint() as endpoint:
        settings = claude(endpoint, purposes__mid_turn_reflection__model=BY_BUDGET)
        # One model for reflections, and one for everything else.
        assert [check.model for check in await check_models(settings)] == [BY_BUDGET, CLAUDE]
