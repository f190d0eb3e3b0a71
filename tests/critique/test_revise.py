"""A revision is kept when it is called for and found better in both orders, and not otherwise."""

import asyncio
from functools import partial
from typing import Any

import pytest

from sidemirror_server.critique.critique import critique
from sidemirror_server.critique.revise import Compared, KeptResponse, Revised, Step, StepVerdict, revise
from sidemirror_server.models.answers import ComparisonAnswer, CritiqueAnswer, RevisionAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import (
    FINE,
    MATERIAL,
    RESPONSE,
    REVISED,
    SCOPE,
    Cast,
    critical,
    gateway_of,
    issue,
    prefers,
    until,
)

TIE = ComparisonAnswer(better="tie")


async def steps_of(cast: Cast, revisions: int = 1) -> list[Step]:
    gateway = gateway_of(cast)
    judge = partial(critique, gateway, SCOPE)
    return [step async for step in revise(gateway, judge, SCOPE, MATERIAL, revisions, lambda: 5.0)]


def kinds(steps: list[Step]) -> list[type]:
    return [type(step) for step in steps]


async def test_an_improvement_is_kept() -> None:
    steps = await steps_of(Cast(critique=critical(), revision=REVISED, comparison=prefers("4,808")))
    assert kinds(steps) == [StepVerdict, Revised, Compared, KeptResponse]
    assert steps[-1] == KeptResponse(1, REVISED.response, "the revision was found better in both orders")


async def test_a_worsening_is_refused() -> None:
    steps = await steps_of(Cast(critique=critical(), revision=REVISED, comparison=prefers("4,208")))
    assert steps[-1] == KeptResponse(0, RESPONSE, "the revision was found worse in both orders")


@pytest.mark.parametrize("judge", [TIE, ComparisonAnswer(better="first"), ComparisonAnswer(better="second")])
async def test_a_tie_and_a_judge_who_goes_by_place_keep_the_original(judge: ComparisonAnswer) -> None:
    steps = await steps_of(Cast(critique=critical(), revision=REVISED, comparison=judge))
    assert steps[-1] == KeptResponse(0, RESPONSE, "a tie keeps what there was")


@pytest.mark.parametrize("answer", [FINE, critical(issue("style")), critical(issue(quote="not there"))])
async def test_nothing_is_revised_that_does_not_call_for_it(answer: CritiqueAnswer) -> None:
    cast = Cast(critique=answer)
    steps = await steps_of(cast)
    assert kinds(steps) == [StepVerdict, KeptResponse]
    assert (steps[-1], cast.purposes()) == (
        KeptResponse(0, RESPONSE, "the critique does not call for a revision"),
        ["critique"],
    )


@pytest.mark.parametrize(
    ("parts", "reason", "made"),
    [
        ({"critique": ResultStatus.FAILED_MODEL}, "the critique failed: nothing calls for a revision", 2),
        ({"critique": critical(), "revision": ResultStatus.FAILED_PARSE}, "the revision failed", 3),
        (
            {"critique": critical(), "revision": REVISED, "comparison": ResultStatus.SKIPPED_SPEND},
            "the comparison failed",
            4,
        ),
    ],
)
async def test_a_failure_keeps_the_original(parts: dict[str, Any], reason: str, made: int) -> None:
    steps = await steps_of(Cast(**parts))
    assert (steps[-1], len(steps)) == (KeptResponse(0, RESPONSE, reason), made)


async def test_one_revision_is_made_where_one_is_asked_for() -> None:
    cast = Cast(critique=critical(), revision=REVISED, comparison=prefers("4,808"))
    await steps_of(cast, revisions=1)
    assert cast.purposes().count("revision") == 1


async def test_the_best_is_kept_and_not_the_last() -> None:
    """The first revision is better, the second one worse again."""
    texts = ["Mont Blanc is 4,208 metres high, or rather 4,808.", "Mont Blanc is 4,208 metres high."]

    def revised(ask: Ask[Any]) -> RevisionAnswer:
        return RevisionAnswer(response=texts.pop(0))

    steps = await steps_of(Cast(critique=critical(), revision=revised, comparison=prefers("4,808")), revisions=3)
    assert kinds(steps) == [StepVerdict, Revised, Compared, StepVerdict, Revised, Compared, KeptResponse]
    assert steps[-1] == KeptResponse(
        1, "Mont Blanc is 4,208 metres high, or rather 4,808.", "the revision was found worse in both orders"
    )


async def test_the_revision_is_told_the_problems() -> None:
    cast = Cast(critique=critical(), revision=REVISED, comparison=TIE)
    await steps_of(cast)
    prompt = next(ask.prompt for ask in cast.asked if ask.purpose is Purpose.REVISION)
    assert "The evidence says 4,808 m." in prompt
    assert RESPONSE in prompt


@pytest.mark.parametrize("held", [Purpose.CRITIQUE, Purpose.REVISION, Purpose.COMPARISON])
async def test_whoever_leaves_ends_the_call_that_is_being_made(held: Purpose) -> None:
    cast = Cast(held=(held,), critique=critical(), revision=REVISED, comparison=TIE)
    reading = asyncio.create_task(steps_of(cast))
    await until(lambda: held in [ask.purpose for ask in cast.asked])
    asked = len(cast.asked)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert cast.cancelled.acquire(timeout=60)
    assert len(cast.asked) <= asked + 1  # the other order of a comparison was under way too
