"""What a question may cost: caps, reservations, the day's end, and a ledger that cannot be reached."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror_server.models.caps import Caps
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount, Ledger, Level, Refusal, Reservation
from sidemirror_server.models.profiles import Within, most_input_tokens
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed, StoreUnavailable
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.adapters.sqlite_store import sqlite_database
from tests.faults.clocks import SetClock
from tests.faults.waiting import until
from tests.models.gateways import (
    NOTHING,
    SCOPE,
    TOOK,
    desk,
    failed,
    most,
    question,
    refused,
    usd,
)

ONE_DOLLAR = Caps(total=usd(1.0))


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
