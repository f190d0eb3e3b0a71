"""What the gateway does between a room's question and a model."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.ledger import Amount, Ledger, Level, Refusal, Reservation
from sidemirror_server.models.profiles import Profile, Within, most_input_tokens
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed, StoreUnavailable
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.adapters.sqlite_store import sqlite_database
from tests.faults.clocks import SetClock
from tests.faults.machine import Machine
from tests.faults.waiting import until
from tests.models.gateways import ANSWER, NOTHING, SCOPE, TOOK, TOOK_NANO_USD, Desk, desk, failed, question, usd

ONE_DOLLAR = Caps(total=usd(1.0))


async def refused(made: Desk, asked: Ask[Any] | None = None, deadline_s: float = 10.0, **given: Any) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        await made.gateway.ask(SCOPE, asked or question(), deadline_s, **given)
    return caught.value


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


# --- retries -------------------------------------------------------------------------------------------------------


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


# --- slots and the breaker ------------------------------------------------------------------------------------------


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


async def test_the_breaker_opens_and_closes(tmp_path: Path) -> None:
    clock = SetClock()
    async with desk(tmp_path, clock=clock) as made:
        made.model.failures = [failed(usage=NOTHING) for _ in range(6)]
        await refused(made)
        opened = await refused(made)
        assert opened.detail == "scripted failed 5 times in a row (as told): not asked for 30 s (after 3 attempts)"
        assert (len(made.model.asked), made.provider.breakers.waited_for.state) == (5, "open")
        clock.advance(29.0)
        assert (await refused(made)).detail == "scripted failed 5 times in a row (as told): not asked for 1 s"
        clock.advance(1.0)
        # One call finds out that it is still down, and then that it is back.
        await refused(made)
        assert (len(made.model.asked), made.provider.breakers.waited_for.state) == (6, "open")
        clock.advance(30.0)
        await made.gateway.ask(SCOPE, question(), 10.0)
        assert made.provider.breakers.waited_for.state == "closed"


async def test_what_is_back_for_agents_is_asked_in_the_background_at_once(tmp_path: Path) -> None:
    """Seen to fail when it rested for the rest of its half minute."""
    dream = msgspec.structs.replace(question(), purpose=Purpose.DREAMING)
    clock = SetClock()
    async with desk(tmp_path, clock=clock) as made:
        made.model.failures = [failed(usage=NOTHING) for _ in range(10)]
        await refused(made)
        await refused(made)
        clock.advance(20.0)
        for _ in range(5):
            made.provider.breakers.background.leave(good=False)
        clock.advance(10.0)
        made.model.failures = []
        await made.gateway.ask(SCOPE, question(), 10.0)
        await made.gateway.ask(SCOPE, dream, 10.0)
        assert made.provider.breakers.background.state == "closed"


async def test_what_fails_in_the_background_keeps_no_agent_waiting(tmp_path: Path) -> None:
    """Seen to fail when all calls of a provider shared one breaker: the agent's call was refused."""
    dream = msgspec.structs.replace(question(), purpose=Purpose.DREAMING)
    clock = SetClock()
    async with desk(tmp_path, clock=clock) as made:
        made.model.failures = [failed(usage=NOTHING) for _ in range(5)]
        await refused(made, dream)
        await refused(made, dream)
        assert (await refused(made, dream)).detail == "scripted failed 5 times in a row (as told): not asked for 30 s"
        assert len(made.model.asked) == 5
        await made.gateway.ask(SCOPE, question(), 10.0)
        # What fails the agents is left alone by the background too, until they have had their try.
        clock.advance(30.0)
        made.model.failures = [failed(usage=NOTHING) for _ in range(6)]
        await refused(made)
        await refused(made)
        assert len(made.model.asked) == 11
        assert (await refused(made, dream)).detail == "scripted failed 5 times in a row (as told): not asked for 30 s"
        clock.advance(30.0)
        made.model.failures = []
        await made.gateway.ask(SCOPE, dream, 10.0)


async def test_only_one_call_tries_a_provider_that_was_left_alone(tmp_path: Path) -> None:
    clock = SetClock()
    async with desk(tmp_path, clock=clock) as made:
        for _ in range(5):
            made.provider.breakers.waited_for.leave(good=False)
        clock.advance(30.0)
        made.model.gate.clear()
        probe = asyncio.create_task(made.gateway.ask(SCOPE, question(), 10.0))
        await until(lambda: len(made.model.asked) == 1)
        await refused(made, question(1))
        probe.cancel()
        await asyncio.wait([probe])
        made.model.gate.set()
        await made.gateway.ask(SCOPE, question(2), 10.0)
        assert len(made.model.asked) == 2


@pytest.mark.parametrize(
    ("failure", "deadline_s"),
    [
        (ModelFailed(ResultStatus.FAILED_PARSE, "x", usage=NOTHING), 10.0),
        (ModelFailed(ResultStatus.REFUSED, "x", usage=NOTHING), 10.0),
        (failed(retryable=False, usage=NOTHING), 10.0),
        (None, 0.02),
    ],
    ids=["no JSON", "a refusal", "a question that it does not take", "a caller in a hurry"],
)
async def test_one_callers_trouble_does_not_close_a_provider_to_others(
    failure: ModelFailed | None, deadline_s: float, tmp_path: Path
) -> None:
    async with desk(tmp_path) as made:
        for _ in range(6):
            if failure is None:
                made.model.gate.clear()
            else:
                made.model.failures = [failure]
            await refused(made, deadline_s=deadline_s)
        assert made.provider.breakers.waited_for.state == "closed"


# --- shared calls ---------------------------------------------------------------------------------------------------


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


# --- money ----------------------------------------------------------------------------------------------------------


def most(asked: Ask[MidTurnAnswer]) -> tuple[int, int]:
    """What is reserved for a call of `tests.models.gateways`: tokens, and their price in nano USD."""
    tokens = most_input_tokens(asked)
    return tokens + asked.max_tokens, tokens * 1_000 + asked.max_tokens * 10_000


async def test_two_hundred_callers_spend_at_most_the_dollar_that_is_left(tmp_path: Path) -> None:
    async with desk(tmp_path, caps=ONE_DOLLAR, slots=200) as made:
        made.model.gate.clear()
        # Each takes all that is reserved for it: about three cents.
        asked = msgspec.structs.replace(question(), max_tokens=3_000)
        price = most(asked)[1] / 1e9
        made.model.usage = Usage("test", "scripted", input_tokens=most_input_tokens(asked), output_tokens=3_000)
        calls = [
            asyncio.create_task(made.gateway.ask(SCOPE, msgspec.structs.replace(asked, prompt=f"{n:019}"), 10.0))
            for n in range(200)
        ]
        await until(lambda: len(made.model.asked) + sum(call.done() for call in calls) == 200)
        made.model.gate.set()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        turned_away = [outcome for outcome in outcomes if isinstance(outcome, ModelFailed)]
        assert {failure.status for failure in turned_away} == {ResultStatus.SKIPPED_SPEND}
        assert len(made.model.asked) == 200 - len(turned_away) == int(1.0 / price)
        assert 1.0 - price < (await made.used()).usd <= 1.0


async def test_a_refusal_names_the_cap_and_until_when(tmp_path: Path) -> None:
    clock = SetClock(1_800_000_000_000_000)
    async with desk(tmp_path, caps=Caps(tenant=Cap(tokens=100)), clock=clock) as made:
        failure = await refused(made)
        assert failure.status is ResultStatus.SKIPPED_SPEND
        wanted = most(question())[0]
        assert failure.detail == (
            "the cap of this sidecar on tenant acme is 100 tokens a day, 0 tokens are spent or reserved, and this call "
            f"may take up to {wanted} tokens; until 2027-01-16T00:00:00Z"
        )
        assert made.model.asked == []


async def test_a_refusal_at_an_assumed_price_says_how_to_set_ones_own(tmp_path: Path) -> None:
    async with desk(tmp_path, caps=Caps(total=usd(0.01)), own_price=None) as made:
        failure = await refused(made)
        assert failure.status is ResultStatus.SKIPPED_SPEND
        assert failure.detail.endswith("set model.input_usd_per_mtok and model.output_usd_per_mtok")


async def test_each_attempt_is_reserved_for_itself(tmp_path: Path) -> None:
    once = Caps(total=Cap(tokens=most(question())[0] + 100))
    async with desk(tmp_path, caps=once) as made:
        made.model.failures = [failed(usage=TOOK)]
        failure = await refused(made)
        assert (failure.status, len(made.model.asked)) == (ResultStatus.SKIPPED_SPEND, 1)
        assert failure.usage is not None
        assert failure.usage.input_tokens == 1_000


async def test_the_day_turns_by_the_clock(tmp_path: Path) -> None:
    clock = SetClock(20_000 * 86_400_000_000 - 1)
    once = Caps(total=Cap(tokens=most(question())[0]))
    async with desk(tmp_path, caps=once, clock=clock) as made:
        await made.gateway.ask(SCOPE, question(), 10.0)
        await made.spending.settled()
        assert (await refused(made)).status is ResultStatus.SKIPPED_SPEND
        clock.us += 1
        await made.gateway.ask(SCOPE, question(), 10.0)
        await made.spending.settled()
        days = [(spend.day, spend.settled.tokens) for spend in await made.spending.spent(SCOPE, 7)]
        assert days == [(20_000, 1_100), (19_999, 1_100)]


async def test_a_purpose_has_a_cap_of_its_own(tmp_path: Path) -> None:
    caps = Caps(total=usd(5.0), purposes={Purpose.DREAMING: Cap(tokens=10)})
    async with desk(tmp_path, caps=caps) as made:
        await made.gateway.ask(SCOPE, question(), 10.0)
        failure = await refused(made, msgspec.structs.replace(question(), purpose=Purpose.DREAMING))
        assert failure.detail.startswith("the cap of this sidecar for dreaming is reached for a call that may take up")


async def test_a_failed_call_that_does_not_say_what_it_took_counts_by_an_estimate(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.failures = [failed(retryable=False), failed(retryable=False, usage=NOTHING)]
        assert (await refused(made)).usage is None
        guess = await made.used()
        assert 0 < guess.tokens < most(made.model.asked[0])[0]
        await refused(made)
        assert await made.used() == guess


async def test_near_a_cap_the_provider_counts_the_prompt(tmp_path: Path) -> None:
    tight = Caps(total=Cap(tokens=600 + 64 + 110))
    async with desk(tmp_path, caps=tight) as made:
        made.model.usage = NOTHING
        assert (await refused(made)).status is ResultStatus.SKIPPED_SPEND
        made.model.counted = 100
        asked = msgspec.structs.replace(question(), max_tokens=600)
        await made.gateway.ask(SCOPE, asked, 10.0)
        made.model.counted = 101
        await made.spending.settled()
        assert (await refused(made, asked)).status is ResultStatus.SKIPPED_SPEND


@pytest.mark.parametrize(
    ("within", "longest"),
    [
        (Within(), 500),
        (Within(tokens=3_000), 500),
        (Within(tokens=2_400), 400),
        (Within(usd=0.007), 500),
        (Within(usd=0.0055), 350),
        (Within(tokens=2_400, usd=0.0055), 350),
    ],
)
async def test_the_turns_own_caps_bound_the_answer(tmp_path: Path, within: Within, longest: int) -> None:
    asked = question()
    padded = msgspec.structs.replace(asked, prompt="x" * (2_000 - most_input_tokens(asked) + len(asked.prompt)))
    assert most_input_tokens(padded) == 2_000
    async with desk(tmp_path) as made:
        await made.gateway.ask(SCOPE, padded, 10.0, within)
        assert made.model.asked[0].max_tokens == longest


@pytest.mark.parametrize(
    ("within", "detail"),
    [
        (Within(tokens=1_000), "max_tokens leaves 1000 tokens of this turn, which is too little for a prompt of up to"),
        (Within(usd=0.001), "max_usd leaves 0.0010 USD of this turn, which is too little for a prompt of up to"),
    ],
)
async def test_too_little_left_of_a_turns_caps(tmp_path: Path, within: Within, detail: str) -> None:
    async with desk(tmp_path) as made:
        failure = await refused(made, within=within)
        assert failure.status is ResultStatus.SKIPPED_BUDGET
        assert failure.detail.startswith(detail)
        assert made.model.asked == []
        made.model.counted = 10
        await made.gateway.ask(SCOPE, question(), 10.0, Within(tokens=1_000))
        assert made.model.asked[0].max_tokens == 500


class Away:
    """A ledger that cannot be reached."""

    def __init__(self, behind: Ledger) -> None:
        self._behind = behind

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        raise StoreUnavailable(store="test")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)


async def test_nothing_is_spent_that_cannot_be_recorded(tmp_path: Path) -> None:
    async with desk(tmp_path, ledger=Away) as made:
        failure = await refused(made)
        assert failure.status is ResultStatus.SKIPPED_SPEND
        assert failure.detail == "nothing is spent that cannot be recorded: The store did not answer. (store='test')"
        assert made.model.asked == []


class Slow(SqliteLedger):
    """A ledger whose answers take their time."""

    gate = asyncio.Event()

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        await self.gate.wait()
        return await super().reserve(scope, purpose, most, caps, lease_s, now_us, serves)


async def test_a_reservation_that_comes_too_late_is_given_back(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        ledger = Slow(database)
        ledger.gate = asyncio.Event()
        spending = Spending(ledger, Caps(), SystemClock())
        with pytest.raises(ModelFailed) as late:
            await spending.reserve(SCOPE, Purpose.MID_TURN_REFLECTION, Amount(7, 7), 0.01)
        assert late.value.status is ResultStatus.SKIPPED_DEADLINE
        left = asyncio.create_task(spending.reserve(SCOPE, Purpose.MID_TURN_REFLECTION, Amount(5, 5), 10.0))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.wait([left])
        ledger.gate.set()

        def calls() -> int:
            row = database.read(
                lambda connection: connection.execute("SELECT sum(calls), sum(reserved_tokens) FROM ledger_totals")
            )
            made, reserved = row.fetchone()
            return 0 if reserved else int(made or 0)

        await until(lambda: calls() == 12)


async def test_a_model_that_cannot_be_loaded_would_not_answer(tmp_path: Path) -> None:
    """Seen to fail when the gateway only logs it."""

    async def prepare() -> None:
        raise failed(retryable=False)

    async with desk(tmp_path) as made:
        assert made.provider.would_answer(Purpose.CRITIQUE)
        made.model.prepare = prepare  # type: ignore[attr-defined]  # models may have one
        await made.gateway.prepare()
        assert not made.provider.would_answer(Purpose.CRITIQUE)
