"""Which of two responses is better: asked in both orders, and only an agreed answer counts."""

import pytest

from sidemirror_server.critique.compare import agreed, compare
from sidemirror_server.critique.record import Better
from sidemirror_server.models.answers import ComparisonAnswer
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import MATERIAL, SCOPE, Cast, gateway_of, prefers

EARLIER, LATER, TIE = Better.EARLIER, Better.LATER, Better.TIE


@pytest.mark.parametrize(
    ("forward", "backward", "better", "same"),
    [
        ("first", "second", EARLIER, True),
        ("second", "first", LATER, True),
        ("tie", "tie", TIE, True),
        ("first", "first", TIE, False),
        ("second", "second", TIE, False),
        ("second", "tie", TIE, False),
        ("tie", "first", TIE, False),
        ("tie", "second", TIE, False),
        ("first", "tie", TIE, False),
    ],
)
def test_both_orders_have_to_agree(forward: str, backward: str, better: Better, same: bool) -> None:
    assert agreed(forward, backward) == (better, same)


async def test_the_order_is_swapped() -> None:
    cast = Cast(comparison=prefers("4,808"))
    found = await compare(gateway_of(cast), SCOPE, MATERIAL, "It is 4,208 m.", "It is 4,808 m.", 5.0)
    assert (found.better, found.agreed, found.reason) == (LATER, True, "it has 4,808")
    shown = [[step.text for step in ask.evidence.steps if step.kind == "response"] for ask in cast.asked]
    assert shown == [["It is 4,208 m.", "It is 4,808 m."], ["It is 4,808 m.", "It is 4,208 m."]]
    assert all(ask.prompt.count("4,808 m.") >= 1 for ask in cast.asked)
    assert cast.asked[0].prompt != cast.asked[1].prompt


async def test_a_judge_who_takes_whatever_comes_first_decides_nothing() -> None:
    cast = Cast(comparison=ComparisonAnswer(better="first", reason="because"))
    found = await compare(gateway_of(cast), SCOPE, MATERIAL, "one", "two", 5.0)
    assert (found.better, found.agreed) == (TIE, False)


async def test_a_failing_judge_decides_nothing() -> None:
    cast = Cast(comparison=ResultStatus.REFUSED)
    found = await compare(gateway_of(cast), SCOPE, MATERIAL, "one", "two", 5.0)
    assert (found.status, found.better, found.agreed) == (ResultStatus.REFUSED, None, False)


async def test_the_same_text_is_not_asked_about() -> None:
    cast = Cast()
    found = await compare(gateway_of(cast), SCOPE, MATERIAL, "one", " one ", 5.0)
    assert (found.better, cast.asked) == (TIE, [])
