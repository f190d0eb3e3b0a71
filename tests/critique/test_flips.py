"""The flip ledger: what counts as a flip, and when revisions are withheld."""

from fractions import Fraction
from math import comb

import pytest

from sidemirror_server.critique.flips import Flips, Reported, flips_of


def test_what_is_a_flip() -> None:
    told = [
        Reported(None, True, False, True, 3),
        Reported(None, True, True, False, 2),
        Reported(None, True, True, True, 5),
        Reported(None, True, False, False, 7),
        Reported(None, True, False, None, 11),
        Reported(None, True, None, False, 13),
    ]
    assert flips_of(told) == Flips(both=17, made_right=3, made_wrong=2)
    assert flips_of([]) == Flips()


@pytest.mark.parametrize(
    ("made_right", "made_wrong", "does_harm"),
    [(0, 0, False), (0, 6, False), (0, 7, True), (1, 9, False), (1, 10, True), (10, 10, False), (10, 25, False),
     (10, 28, True), (50, 0, False), (400, 400, False), (400, 600, True)],
)  # fmt: skip
def test_revisions_do_harm_from_here_on(made_right: int, made_wrong: int, does_harm: bool) -> None:
    assert Flips(1_000, made_right, made_wrong).does_harm is does_harm


def test_the_ratio_is_the_average_over_all_larger_probabilities() -> None:
    """The closed form in the docstring against a plain sum over probabilities."""
    for made_right, made_wrong in ((0, 6), (0, 7), (1, 9), (1, 10), (10, 25), (10, 28)):
        flips, steps = made_right + made_wrong, 20_000
        odds = ((1 + (place + 0.5) / steps) / 2 for place in range(steps))
        average = sum((2 * one) ** made_wrong * (2 - 2 * one) ** made_right for one in odds) / steps
        exact = Fraction(
            sum(comb(flips + 1, at) for at in range(made_wrong + 1)), (flips + 1) * comb(flips, made_wrong)
        )
        assert average == pytest.approx(float(exact), rel=1e-4)
        assert Flips(0, made_right, made_wrong).does_harm is (exact >= 20)
