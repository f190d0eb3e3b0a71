"""A confidence from a project's own outcomes: the logistic calibration of Platt (decision 084). Pure.

J. Platt, "Probabilistic outputs for support vector machines", 1999. What is calibrated is the confidence that the model
stated, and whether its verdict calls for a revision. Called by `keeping.py`.
"""

import math
from collections.abc import Sequence

import msgspec

from sidemirror_server.critique.flips import Reported

# Design, section 18.
LEAST_OUTCOMES = 50
# A verdict that calls for a revision lowers the log odds by at least this, whatever the outcomes say: a contradiction
# never raises a confidence. Chosen here: hardly more than nothing.
_LEAST_DROP = 0.1
# Stated confidences are cut to this distance from 0 and 1, whose log odds are infinite. Chosen here.
_EDGE = 0.01
_PPM = 1_000_000
# Pulls weights of features that never vary to 0. So small that others do not notice.
_RIDGE = 1e-4
_MOST_STEPS = 50
_DONE = 1e-9

_Row = tuple[tuple[float, float, float], float, float]  # features, wanted probability, count


class Calibration(msgspec.Struct, frozen=True):
    """Log odds of success: `base` + `by_stated` x log odds of the stated confidence + `by_revise` if a revision is
    called for. `by_stated` is never negative, `by_revise` is at most -0.1."""

    base: float
    by_stated: float
    by_revise: float

    def confidence(self, stated: float | None, *, revise: bool) -> float:
        """The probability that a response with such a verdict is right."""
        return _sigmoid(self.base + self.by_stated * _log_odds(stated) + self.by_revise * revise)


def calibration_of(reported: Sequence[Reported]) -> Calibration | None:
    """The calibration by these outcomes; None below LEAST_OUTCOMES."""
    known = [one for one in reported if one.succeeded is not None]
    right = sum(one.count for one in known if one.succeeded)
    wrong = sum(one.count for one in known) - right
    if right + wrong < LEAST_OUTCOMES:
        return None
    # Platt's targets in the place of 0 and 1: weights stay finite where the features separate the outcomes.
    targets = {True: (right + 1) / (right + 2), False: 1 / (wrong + 2)}
    rows: list[_Row] = [
        ((1.0, _log_odds(_ratio(one.stated_ppm)), float(one.revise)), targets[bool(one.succeeded)], float(one.count))
        for one in known
    ]
    fixed: dict[int, float] = {}
    while True:
        weights = _fitted(rows, fixed)
        if 2 not in fixed and weights[2] > -_LEAST_DROP:
            fixed[2] = -_LEAST_DROP
        elif 1 not in fixed and weights[1] < 0.0:
            fixed[1] = 0.0
        else:
            return Calibration(*weights)


def _fitted(rows: Sequence[_Row], fixed: dict[int, float]) -> list[float]:
    """The weights of the greatest likelihood by Newton's method, with those of `fixed` as given. A step that makes it
    worse is halved."""
    free = [place for place in range(3) if place not in fixed]
    weights = [fixed.get(place, 0.0) for place in range(3)]
    loss = _loss(rows, weights)
    for _ in range(_MOST_STEPS):
        slope = [_RIDGE * weights[place] for place in free]
        curve = [[_RIDGE * (one == other) for other in free] for one in free]
        for features, target, count in rows:
            chance = _sigmoid(_dot(weights, features))
            for at, one in enumerate(free):
                slope[at] += count * (chance - target) * features[one]
                for to, other in enumerate(free):
                    curve[at][to] += count * chance * (1 - chance) * features[one] * features[other]
        step = _solved(curve, slope)
        tried, ratio = weights, 1.0
        found = loss
        while found >= loss and ratio > _DONE:
            tried = list(weights)
            for at, place in enumerate(free):
                tried[place] -= ratio * step[at]
            found, ratio = _loss(rows, tried), ratio / 2
        if found >= loss - _DONE:
            return weights
        weights, loss = tried, found
    return weights


def _loss(rows: Sequence[_Row], weights: Sequence[float]) -> float:
    """The negative log likelihood, with the ridge."""
    loss = _RIDGE * sum(weight * weight for weight in weights) / 2
    for features, target, count in rows:
        odds = _dot(weights, features)
        loss += count * (max(odds, 0.0) - target * odds + math.log1p(math.exp(-abs(odds))))
    return loss


def _solved(matrix: list[list[float]], wanted: list[float]) -> list[float]:
    """The solution of a positive definite system by Gauss's elimination."""
    size = len(wanted)
    rows = [[*row, value] for row, value in zip(matrix, wanted, strict=True)]
    for at in range(size):
        for below in range(at + 1, size):
            ratio = rows[below][at] / rows[at][at]
            rows[below] = [one - ratio * other for one, other in zip(rows[below], rows[at], strict=True)]
    found = [0.0] * size
    for at in reversed(range(size)):
        rest = sum(rows[at][to] * found[to] for to in range(at + 1, size))
        found[at] = (rows[at][size] - rest) / rows[at][at]
    return found


def _dot(weights: Sequence[float], features: Sequence[float]) -> float:
    return sum(weight * feature for weight, feature in zip(weights, features, strict=True))


def _ratio(ppm: int | None) -> float | None:
    return None if ppm is None else ppm / _PPM


def _log_odds(stated: float | None) -> float:
    """0 for a verdict without a stated confidence."""
    if stated is None:
        return 0.0
    inside = min(1 - _EDGE, max(_EDGE, stated))
    return math.log(inside / (1 - inside))


def _sigmoid(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))
