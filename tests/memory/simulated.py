"""An agent of which it is known what each lesson does: its tasks succeed at a base rate, and so much more or less with
each lesson that it is shown. Whether an outcome is reported depends on what was shown, never on the outcome."""

import math
import random
from typing import NamedTuple

import msgspec

from sidemirror_server.memory.trials.evidence import (
    FEWEST_OUTCOMES,
    Arm,
    ArmTally,
    Counts,
    LessonEvidence,
    LessonVerdict,
    evidence_of,
    is_held_back,
)

BASE = 0.5
# A mixture's reach is never less than so many standard deviations of the lift (trials/evidence.py): a look at less need
# not be looked at. sqrt(2 ln 20).
LEAST_REACH = 2.447


class Truth(NamedTuple):
    """What a lesson does to the success rate, and how often outcomes are missing with it and without it."""

    lift: float
    missing_shown: float
    missing_held_back: float


LESSONS = {"A": Truth(0.20, 0.05, 0.25), "B": Truth(-0.15, 0.25, 0.05), "C": Truth(0.0, 0.10, 0.20)}


class Run(msgspec.Struct):
    """What one agent's life came to: evidence at its end, and after how many tasks a lesson was retired."""

    evidence: dict[str, LessonEvidence]
    retired_after: dict[str, int]


class _Seen:
    """The counts of a lesson, in two arms."""

    def __init__(self) -> None:
        self.arms = {arm: [0, 0, 0] for arm in Arm}  # assigned, succeeded, failed

    def evidence(self, fraction: float) -> LessonEvidence:
        return evidence_of(ArmTally(arm, fraction, *counts) for arm, counts in self.arms.items())

    def may_harm(self) -> bool:
        """Whether a look could say so: it takes FEWEST_OUTCOMES, and a lift well below none."""
        shown, held = (Counts(*counts) for counts in self.arms.values())
        if min(shown.reported, held.reported) < FEWEST_OUTCOMES:
            return False
        (with_it, of_it), (without, of_that) = _added(shown), _added(held)
        return with_it - without < -LEAST_REACH * math.sqrt(of_it + of_that)


def live(seed: int, tasks: int, fraction: float) -> Run:
    """The life of one agent: after each outcome each of its lessons is looked at, and one that harms is retired."""
    rng = random.Random(seed)
    seen = {name: _Seen() for name in LESSONS}
    active = dict(LESSONS)
    retired_after: dict[str, int] = {}
    for task in range(tasks):
        chance, reported = BASE, 1.0
        arms: dict[str, Arm] = {}
        for name, truth in active.items():
            held = is_held_back(f"{seed}/{task}", name, fraction)
            arms[name] = Arm.HELD_BACK if held else Arm.SHOWN
            chance += 0.0 if held else truth.lift
            reported *= 1 - (truth.missing_held_back if held else truth.missing_shown)
        succeeded, is_reported = rng.random() < chance, rng.random() < reported
        for name, arm in arms.items():
            counts = seen[name].arms[arm]
            counts[0] += 1
            if is_reported:
                counts[1 if succeeded else 2] += 1
        for name in arms if is_reported else ():
            if seen[name].may_harm() and seen[name].evidence(fraction).verdict is LessonVerdict.HARMS:
                retired_after[name] = task + 1
                del active[name]
    return Run({name: one.evidence(fraction) for name, one in seen.items()}, retired_after)


def _added(counts: Counts) -> tuple[float, float]:
    rate = (counts.succeeded + 1) / (counts.reported + 2)
    return rate, rate * (1 - rate) / (counts.reported + 2)
