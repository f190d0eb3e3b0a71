"""What revisions changed, by reported outcomes, and when they are withheld (decision 083). Pure.

A flip is a response whose outcome a revision changed: from wrong to right, or from right to wrong. Called by
`keeping.py` for each verdict that calls for a revision, and by GetCritiqueStatistics.
"""

import math
from collections.abc import Iterable

import msgspec

# The chance that a critic that does no harm is ever stopped. The usual level.
_LEVEL = 0.05


class Reported(msgspec.Struct, frozen=True):
    """How many critiques of one model have these outcomes. `stated_ppm`: the confidence that the model stated, in
    millionths; None without one. `revise`: whether the verdict called for a revision. `succeeded`, `revised_succeeded`:
    whether the judged and the revised response were right; None where that is not reported."""

    stated_ppm: int | None
    revise: bool
    succeeded: bool | None
    revised_succeeded: bool | None
    count: int


class Flips(msgspec.Struct, frozen=True):
    """What revisions changed. `both`: how many critiques have both outcomes."""

    both: int = 0
    made_right: int = 0
    made_wrong: int = 0

    @property
    def does_harm(self) -> bool:
        """Whether more is made wrong than right, and not by chance.

        Of n flips k went wrong. Without harm each goes wrong with a probability of at most 1/2. The likelihood ratio of
        every larger probability, averaged over those between 1/2 and 1, is the sum of C(n + 1, j) for j from 0 to k,
        divided by (n + 1) C(n, k). It ever exceeds 1 / level with a probability below the level, however often one
        looks (Ville 1939; Robbins 1970, "Statistical methods related to the law of the iterated logarithm").
        """
        flips = self.made_right + self.made_wrong
        ratio = sum(math.comb(flips + 1, place) for place in range(self.made_wrong + 1))
        return ratio * _LEVEL >= (flips + 1) * math.comb(flips, self.made_wrong)


def flips_of(reported: Iterable[Reported]) -> Flips:
    """The flips among these outcomes."""
    both = made_right = made_wrong = 0
    for one in reported:
        if one.succeeded is None or one.revised_succeeded is None:
            continue
        both += one.count
        made_right += one.count * (one.revised_succeeded and not one.succeeded)
        made_wrong += one.count * (one.succeeded and not one.revised_succeeded)
    return Flips(both, made_right, made_wrong)
