"""What the gateway does between a room's question and a model: attempts, deadlines, slots, and shared calls."""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount
from sidemirror_server.models.profiles import Profile
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from tests.faults.machine import Machine
from tests.faults.waiting import until
from tests.models.gateways import (
    ANSWER,
    NOTHING,
    SCOPE,
    TOOK,
    TOOK_NANO_USD,
    desk,
    failed,
    most,
    question,
    refused,
)


async def test_an_answer_with_its_price(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        completion = await made.gateway.ask(SCOPE, question(), 10.0)
        assert completion.answer == ANSWER
        assert completion.usage == msgspec.structs.replace(TOOK, cost_usd=0.002)
        assert await made.used() == Amount(1_100, TOOK_NANO_USD)


async def test_a_profile_goes_before_what_the_question_says_but_for_a_longer_answer(tmp_path: Path) -> None:
    profile = Profile(effort="high", temperature=0.7, max_tokens=300)
    async with desk(tmp_path, profile=profile) as made:
        await made.gateway.ask(SCOPE, question(), 10.0)
        await made.gateway.ask(SCOPE, msgspec.structs.replace(question(), temperature=None, max_tokens=200), 10.0)
        told = [(asked.effort, asked.temperature, asked.max_tokens) for asked in made.model.asked]
        assert told == [("high", 0.7, 300), ("high", 0.7, 200)]


async def test_a_purpose_without_a_model(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        gateway = Gateway({}, made.spending, SystemClock())
        with pytest.raises(ModelFailed) as caught:
            await gateway.ask(SCOPE, question(), 10.0)
        assert caught.value.status is ResultStatus.SKIPPED_DISABLED


async def test_a_retryable_failure_is_tried_again_and_counted(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.failures = [failed(usage=NOTHING), failed(usage=TOOK)]
        usage = (await made.gateway.ask(SCOPE, question(), 10.0)).usage
        assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (2_000, 200, 0.004)
        assert usage.parameters == {"attempts": "3"}
        assert await made.used() == Amount(2_200, 2 * TOOK_NANO_USD)


async def test_three_attempts_and_no_more(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.failures = [failed(usage=TOOK) for _ in range(9)]
        failure = await refused(made)
        assert failure.detail == "as told (after 3 attempts)"
        assert failure.usage is not None
        assert (len(made.model.asked), failure.usage.input_tokens) == (3, 3_000)


async def test_what_would_fail_again_is_not_tried_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.failures = [failed(retryable=False)]
        assert (await refused(made)).detail == "as told"
        assert len(made.model.asked) == 1


async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.failures = [failed(after_s=3_600.0), failed(after_s=0.5)]
        began_s = time.monotonic()
        await refused(made, deadline_s=20.0)
        assert time.monotonic() - began_s < 10.0
        assert len(made.model.asked) == 1
        began_s = time.monotonic()
        await made.gateway.ask(SCOPE, question(), 20.0)
        assert time.monotonic() - began_s >= 0.5
        assert len(made.model.asked) == 3


async def test_the_deadline_bounds_all_attempts_together(machine: Machine, tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.gate.clear()
        machine.late_s()
        began_s = time.monotonic()
        failure = await refused(made, deadline_s=0.3)
        assert time.monotonic() - began_s < 0.4 + machine.late_s()
        assert (failure.status, failure.detail[:24]) == (ResultStatus.FAILED_MODEL, "the model did not answer")
        assert 0 < (await made.used()).tokens < most(made.model.asked[0])[0]


async def test_no_time_no_call(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        assert (await refused(made, deadline_s=0.0)).status is ResultStatus.SKIPPED_DEADLINE
        assert made.model.asked == []


async def test_calls_wait_for_a_slot_but_not_beyond_their_deadline(tmp_path: Path) -> None:
    async with desk(tmp_path, slots=2) as made:
        made.model.gate.clear()
        calls = [asyncio.create_task(made.gateway.ask(SCOPE, question(n), 30.0)) for n in range(3)]
        await until(lambda: len(made.model.asked) == 2)
        failure = await refused(made, question(9), deadline_s=0.1)
        assert failure.status is ResultStatus.SKIPPED_DEADLINE
        assert len(made.model.asked) == 2
        made.model.gate.set()
        await asyncio.gather(*calls)
        assert len(made.model.asked) == 3


async def test_a_hundred_equal_questions_make_one_call(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.gate.clear()
        calls = [asyncio.create_task(made.gateway.ask(SCOPE, question(), 10.0)) for _ in range(100)]
        await until(lambda: len(made.model.asked) == 1)
        for call in calls[:99]:
            call.cancel()
        await asyncio.wait(calls[:99])
        made.model.gate.set()
        assert (await calls[99]).answer == ANSWER
        assert all(call.cancelled() for call in calls[:99])
        assert len(made.model.asked) == 1
        assert await made.used() == Amount(1_100, TOOK_NANO_USD)


async def test_a_failure_is_shared_too(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.failures = [failed(retryable=False)]
        calls = [made.gateway.ask(SCOPE, question(), 10.0) for _ in range(20)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, ModelFailed) for outcome in outcomes)
        assert len(made.model.asked) == 1


async def test_when_the_last_one_leaves_the_call_ends_and_counts_as_spent(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.gate.clear()
        calls = [asyncio.create_task(made.gateway.ask(SCOPE, question(), 10.0)) for _ in range(2)]
        await until(lambda: len(made.model.asked) == 1)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert 0 < (await made.used()).tokens < most(made.model.asked[0])[0]
        made.model.gate.set()
        await made.gateway.ask(SCOPE, question(), 10.0)
        assert len(made.model.asked) == 2


async def test_tenants_and_projects_never_share_a_call(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        scopes = [SCOPE, Scope("acme", "blog"), Scope("other", "shop")]
        await asyncio.gather(*[made.gateway.ask(scope, question(), 10.0) for scope in scopes * 5])
        assert len(made.model.asked) == 3
        await made.spending.settled()
        for scope in scopes:
            assert [spend.calls for spend in await made.spending.spent(scope, 1)] == [1]


async def test_another_question_is_another_call(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        await asyncio.gather(*[made.gateway.ask(SCOPE, question(number), 10.0) for number in (1, 2, 1)])
        assert len(made.model.asked) == 2


async def test_who_has_more_time_is_not_held_to_the_deadline_of_another(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.gate.clear()
        hurried = asyncio.create_task(made.gateway.ask(SCOPE, question(), 0.2))
        await until(lambda: len(made.model.asked) == 1)
        patient = asyncio.create_task(made.gateway.ask(SCOPE, question(), 10.0))
        await asyncio.wait([hurried])
        made.model.gate.set()
        assert (await patient).answer == ANSWER


async def test_a_model_that_cannot_be_loaded_would_not_answer(tmp_path: Path) -> None:
    """Seen to fail when the gateway only logs it."""

    async def prepare() -> None:
        raise failed(retryable=False)

    async with desk(tmp_path) as made:
        assert made.provider.would_answer(Purpose.CRITIQUE)
        made.model.prepare = prepare  # type: ignore[attr-defined]  # models may have one
        await made.gateway.prepare()
        assert not made.provider.would_answer(Purpose.CRITIQUE)
