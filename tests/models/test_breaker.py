"""Whom a failing provider keeps from asking: its breaker opens, lets one call try, and closes."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.models.language_model import Purpose
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus
from tests.faults.clocks import SetClock
from tests.faults.waiting import until
from tests.models.gateways import (
    NOTHING,
    SCOPE,
    desk,
    failed,
    question,
    refused,
)


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
