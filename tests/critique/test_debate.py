"""A debate ends on agreement, after two rounds at most, and its first round is blind."""

import asyncio
from typing import Any

import pytest

from sidemirror_server.critique.debate import Argument, Judged, debate
from sidemirror_server.models.answers import DebateAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import FINE, MATERIAL, SCOPE, Cast, argues, critical, gateway_of, issue, until


def parts(*, judge: Any = FINE, **by_brief: Any) -> Cast:
    """Critics by brief, and the judge, who is asked for the same purpose."""

    def speak(ask: Ask[Any]) -> Any:
        if ask.answer_type is not DebateAnswer:
            return judge
        brief = brief_of(ask)
        part = by_brief.get(brief, argues(argument=f"{brief} speaks."))
        return part(ask) if callable(part) else part

    return Cast(debate=speak)


def brief_of(ask: Ask[Any]) -> str:
    words = {
        "contradicts": "accuracy",
        "defend": "advocate",
        "does not give": "completeness",
        "hurt": "harm",
        "act on": "actionability",
    }
    brief = ask.system.rpartition("Your brief: ")[2]
    return next(name for word, name in words.items() if word in brief)


async def held(cast: Cast, critics: int = 3, rounds: int = 2) -> tuple[list[Argument], Judged]:
    said = [part async for part in debate(gateway_of(cast), SCOPE, MATERIAL, critics, rounds, lambda: 5.0)]
    *arguments, judged = said
    assert isinstance(judged, Judged)
    assert all(isinstance(argument, Argument) for argument in arguments)
    return [argument for argument in arguments if isinstance(argument, Argument)], judged


@pytest.mark.parametrize("critics", [2, 3, 4, 5])
async def test_agreement_ends_it_after_the_blind_round(critics: int) -> None:
    cast = parts()
    arguments, judged = await held(cast, critics)
    assert [(one.round, one.critic) for one in arguments] == [(1, number) for number in range(1, critics + 1)]
    assert len({one.brief for one in arguments}) == critics
    assert (judged.rounds, judged.agreed, judged.verdict.confidence) == (1, True, 0.9)
    assert len(cast.asked) == critics + 1


async def test_disagreement_is_argued_once_more_and_no_further() -> None:
    cast = parts(accuracy=argues(issue(), argument="The height is wrong."), judge=critical())
    arguments, judged = await held(cast, 2)
    assert [one.round for one in arguments] == [1, 1, 2, 2]
    assert [one.revise for one in arguments] == [True, False, True, False]
    assert (judged.rounds, judged.agreed, judged.verdict.should_revise) == (2, False, True)


async def test_a_second_round_that_agrees() -> None:
    def convinced(ask: Ask[Any]) -> DebateAnswer:
        return argues(issue()) if "The height is wrong." in ask.prompt else argues(argument="All is well.")

    cast = parts(accuracy=argues(issue(), argument="The height is wrong."), advocate=convinced, judge=critical())
    _, judged = await held(cast, 2)
    assert (judged.rounds, judged.agreed) == (2, True)


async def test_the_first_round_is_blind() -> None:
    cast = parts(accuracy=argues(issue(), argument="The height is wrong."))
    await held(cast, 2)
    first, second = cast.asked[:2], cast.asked[2:4]
    assert not any("speaks." in ask.prompt or "The height is wrong." in ask.prompt for ask in first)
    by_brief = {brief_of(ask): ask.prompt for ask in second}
    assert "advocate speaks." in by_brief["accuracy"]
    assert "The height is wrong." in by_brief["advocate"]
    assert "The height is wrong." not in by_brief["accuracy"]


async def test_one_round_where_one_is_asked_for() -> None:
    _, judged = await held(parts(accuracy=argues(issue())), 2, rounds=1)
    assert (judged.rounds, judged.agreed) == (1, False)


async def test_where_a_critic_stands_follows_from_what_it_can_show() -> None:
    arguments, _ = await held(parts(accuracy=argues(issue(quote="it is not there"), issue("style"))), 2)
    assert [one.revise for one in arguments] == [False, False]
    assert [len(one.issues) for one in arguments] == [1, 0]


async def test_the_judge_is_bound_by_the_same_rules() -> None:
    _, judged = await held(parts(judge=critical(issue(quote="invented by the judge"))), 2)
    assert (judged.verdict.should_revise, judged.verdict.dropped) == (False, 1)


async def test_one_critic_who_fails_leaves_a_debate_and_one_who_is_left_does_not() -> None:
    _, judged = await held(parts(accuracy=ResultStatus.FAILED_MODEL), 3)
    assert (judged.verdict.status, judged.agreed) == (ResultStatus.OK, True)
    cast = parts(accuracy=ResultStatus.FAILED_MODEL)
    _, judged = await held(cast, 2)
    assert judged.verdict.status is ResultStatus.FAILED_MODEL
    assert judged.verdict.confidence is None
    assert judged.agreed is False
    assert len(cast.asked) == 2, "no judge is asked about one voice"


async def test_each_argument_comes_as_it_is_made() -> None:
    waiting = asyncio.Event()

    class Slow(Cast):
        async def complete(self, ask: Ask[Any], deadline_s: float) -> Any:
            if ask.answer_type is DebateAnswer and brief_of(ask) == "accuracy":
                await waiting.wait()
            return await super().complete(ask, deadline_s)

    cast = Slow(debate=lambda ask: argues() if ask.answer_type is DebateAnswer else FINE)
    speaking = debate(gateway_of(cast), SCOPE, MATERIAL, 2, 1, lambda: 5.0)
    first = await anext(speaking)
    assert isinstance(first, Argument)
    assert first.brief == "advocate"
    waiting.set()
    second = await anext(speaking)
    assert isinstance(second, Argument)
    assert second.brief == "accuracy"
    await speaking.aclose()


async def test_whoever_leaves_ends_every_call_that_is_being_made() -> None:
    cast = Cast(held=(Purpose.DEBATE,), debate=argues())
    reading = asyncio.create_task(held(cast, 4))
    await until(lambda: len(cast.asked) == 4)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert all(cast.cancelled.acquire(timeout=60) for _ in range(4))
    assert len(cast.asked) == 4
