"""Whether a lesson helps: compares tasks for which it was shown with tasks from which it was held back at random.

Pure rules; `memory/trials/outcomes.py` supplies the counts and acts on the verdict.

- A random draw puts each task of a lesson into one of two arms (`is_held_back`), so that the arms differ by the lesson
  alone. A task with the outcome `success` succeeded; one with another outcome failed. Tasks without an outcome are only
  counted, for each arm.
- The lift is the difference of the two success rates. Tasks are compared within each fraction, and the differences are
  weighted as in Cochran (1954) and Mantel and Haenszel (1959): a fraction that rose while tasks were hard must not look
  like an effect.
- The interval of the lift is Newcombe's (1998, method 10). It combines Wilson's score intervals of both rates, and
  several fractions, by the method of variance estimates recovery (Zou and Donner 2008). It covers the true lift in
  95 % of the cases, at one look that was planned beforehand.
- Verdicts are checked after every outcome. With so many looks that interval would sooner or later be wrong about a
  lesson without effect. Verdicts rest on a confidence sequence instead, which covers the true lift at all looks at once
  in 95 % of the cases: Robbins' normal mixture (1970; as the always valid test of Johari et al. 2022). Its variance is
  that of Agresti and Caffo (2000), who add a success and a failure to each arm: few outcomes look surer than they are.
"""

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from hashlib import blake2b

import msgspec

# The 97.5 % quantile of the normal distribution: intervals cover 95 %.
_Z = 1.959963984540054
_ALPHA = 0.05
# The standard deviation of the lifts in the mixture. The sequence holds for all lifts and is narrowest near this size.
# Chosen here: the size of lift that is worth finding.
_EXPECTED_LIFT = 0.15
# Outcomes that each arm needs before a verdict: with fewer, the normal approximation fails. Chosen here.
FEWEST_OUTCOMES = 30
# A warning is due when the arms' rates of missing outcomes differ by more than this. Chosen here.
_UNEVEN_RATIO = 0.1
# A lesson with a smaller effect, either way, is not worth its place in a block. Chosen here.
INERT_LIFT = 0.1


class Arm(StrEnum):
    """Whether a fitting lesson was shown or held back. The values are stored and never change."""

    SHOWN = "shown"
    HELD_BACK = "held_back"


class LessonVerdict(StrEnum):
    """What the evidence says about a lesson."""

    HELPS = "helps"
    HARMS = "harms"
    INERT = "inert"
    NOT_ENOUGH_DATA = "not_enough_data"


class ArmTally(msgspec.Struct, frozen=True):
    """Counts of the tasks of one arm and one fraction. `fraction` 0: shown without a draw, and so not compared.
    `returned`, `stayed_away`: in how many tasks the lesson's error is known to have come up again, or not."""

    arm: Arm
    fraction: float
    assigned: int
    succeeded: int = 0
    failed: int = 0
    returned: int = 0
    stayed_away: int = 0


class Counts(msgspec.Struct, frozen=True):
    """The same counts, summed over several fractions."""

    assigned: int = 0
    succeeded: int = 0
    failed: int = 0
    returned: int = 0
    stayed_away: int = 0

    @property
    def reported(self) -> int:
        """Tasks with an outcome."""
        return self.succeeded + self.failed

    @property
    def missing(self) -> int:
        """Tasks without an outcome so far."""
        return self.assigned - self.reported


class Interval(msgspec.Struct, frozen=True):
    """From `low` to `high`, both in -1 to 1."""

    low: float
    high: float


class LessonEvidence(msgspec.Struct, frozen=True):
    """The evidence about a lesson. `outside`: tasks for which it was shown without a draw. `kept`: tasks from which
    shadow mode kept it, as it keeps all of a time, so that nothing compares them. `lift`: the success rate
    with the lesson minus the rate without it. `interval`: of the lift, valid at one look. `at_any_look`: of the lift,
    valid at all looks; the verdict rests on it. All three are None until a fraction has outcomes in both arms."""

    shown: Counts = Counts()
    held_back: Counts = Counts()
    outside: Counts = Counts()
    kept: Counts = Counts()
    lift: float | None = None
    interval: Interval | None = None
    at_any_look: Interval | None = None
    verdict: LessonVerdict = LessonVerdict.NOT_ENOUGH_DATA


def is_held_back(receipt_id: str, memory_id: str, fraction: float) -> bool:
    """Whether a fitting lesson is held back from this receipt's block. True for `fraction` of the receipts,
    independently of the rest of the block; the result for one receipt never changes."""
    drawn = blake2b(f"{receipt_id}\0{memory_id}".encode(), digest_size=8, person=b"holdout").digest()
    return int.from_bytes(drawn, "big") < fraction * 2**64


def wilson(succeeded: int, trials: int) -> Interval:
    """Wilson's score interval (1927) of a rate, at 95 %. `trials`: at least 1."""
    rate = succeeded / trials
    middle = rate + _Z**2 / (2 * trials)
    reach = _Z * math.sqrt(rate * (1 - rate) / trials + _Z**2 / (4 * trials**2))
    scale = 1 + _Z**2 / trials
    return Interval((middle - reach) / scale, (middle + reach) / scale)


def evidence_of(tallies: Iterable[ArmTally]) -> LessonEvidence:
    """The evidence in these tallies. Tallies of one arm and fraction are summed."""
    kept = list(tallies)
    compared = [one for one in kept if 0 < one.fraction < 1]
    shown = [one for one in compared if one.arm is Arm.SHOWN]
    held = [one for one in compared if one.arm is Arm.HELD_BACK]
    outside, shadow = (one for one in kept if one.fraction <= 0), (one for one in kept if one.fraction >= 1)
    found = LessonEvidence(_sum(shown), _sum(held), _sum(outside), _sum(shadow))
    strata = [
        _Stratum(_sum(one for one in shown if one.fraction == part), _sum(one for one in held if one.fraction == part))
        for part in sorted({one.fraction for one in compared})
    ]
    strata = [one for one in strata if one.weight]
    if not strata:
        return found
    lift = _weighed([(one.weight, one.lift) for one in strata])
    always = _at_any_look(strata)
    return msgspec.structs.replace(
        found,
        lift=lift,
        interval=_interval(lift, strata),
        at_any_look=always,
        verdict=_verdict(found, always),
    )


def less(evidence: LessonEvidence, part: LessonEvidence) -> LessonEvidence:
    """The counts of the evidence without those of a part of it; neither lift nor verdict."""
    return LessonEvidence(
        _less(evidence.shown, part.shown),
        _less(evidence.held_back, part.held_back),
        _less(evidence.outside, part.outside),
        _less(evidence.kept, part.kept),
    )


def _less(counts: Counts, part: Counts) -> Counts:
    pairs = zip(msgspec.structs.astuple(counts), msgspec.structs.astuple(part), strict=True)
    return Counts(*(max(0, every - some) for every, some in pairs))


def added(counts: Counts, more: Counts) -> Counts:
    """Both counts together."""
    pairs = zip(msgspec.structs.astuple(counts), msgspec.structs.astuple(more), strict=True)
    return Counts(*(one + other for one, other in pairs))


def explained(evidence: LessonEvidence) -> str:
    """The reason for the verdict, with caveats, for people."""
    shown, held = evidence.shown, evidence.held_back
    if not shown.assigned and not held.assigned:
        return "no task was compared: a comparison needs a holdout_fraction"
    return "; ".join(filter(None, (_reason(evidence), _caution(shown, held))))


def _reason(evidence: LessonEvidence) -> str:
    shown, held, always = evidence.shown, evidence.held_back, evidence.at_any_look
    if always is None or evidence.lift is None or min(shown.reported, held.reported) < FEWEST_OUTCOMES:
        known = f"{shown.reported} outcomes with it and {held.reported} without it"
        return f"{known}: a verdict needs {FEWEST_OUTCOMES} of each"
    found = f"{100 * evidence.lift:+.1f} points, at any look {100 * always.low:+.1f} to {100 * always.high:+.1f}"
    counts = f"{shown.reported} outcomes with it, {held.reported} without it"
    match evidence.verdict:
        case LessonVerdict.HELPS:
            return f"tasks succeed more often with it: {found} ({counts})"
        case LessonVerdict.HARMS:
            return f"tasks succeed less often with it: {found} ({counts})"
        case LessonVerdict.INERT:
            return f"it makes a difference of less than {100 * INERT_LIFT:.0f} points: {found} ({counts})"
        case LessonVerdict.NOT_ENOUGH_DATA:
            return f"the difference may be chance: {found} ({counts})"


def _caution(shown: Counts, held: Counts) -> str:
    if min(shown.assigned, held.assigned) < FEWEST_OUTCOMES:
        return ""
    with_it, without = shown.missing / shown.assigned, held.missing / held.assigned
    if abs(with_it - without) <= _UNEVEN_RATIO:
        return ""
    rates = f"{100 * with_it:.0f} % with it, {100 * without:.0f} % without it"
    return f"outcomes are missing unevenly ({rates}): the lift holds if that has nothing to do with success"


class _Stratum(msgspec.Struct, frozen=True):
    """Both arms of one fraction."""

    shown: Counts
    held_back: Counts

    @property
    def weight(self) -> float:
        """The Mantel-Haenszel weight; 0 if an arm has no outcome."""
        with_it, without = self.shown.reported, self.held_back.reported
        return with_it * without / (with_it + without) if with_it and without else 0.0

    @property
    def lift(self) -> float:
        return _rate(self.shown) - _rate(self.held_back)


def _verdict(found: LessonEvidence, always: Interval) -> LessonVerdict:
    if min(found.shown.reported, found.held_back.reported) < FEWEST_OUTCOMES:
        return LessonVerdict.NOT_ENOUGH_DATA
    if always.low > 0:
        return LessonVerdict.HELPS
    if always.high < 0:
        return LessonVerdict.HARMS
    return (
        LessonVerdict.INERT if always.low > -INERT_LIFT and always.high < INERT_LIFT else LessonVerdict.NOT_ENOUGH_DATA
    )


def _interval(lift: float, strata: Sequence[_Stratum]) -> Interval:
    """Newcombe's interval of each stratum, combined for their weighted mean; one stratum keeps its interval."""
    total = sum(one.weight for one in strata)
    below = above = 0.0
    for one in strata:
        with_it, without = (wilson(arm.succeeded, arm.reported) for arm in (one.shown, one.held_back))
        shown, held = _rate(one.shown), _rate(one.held_back)
        share = (one.weight / total) ** 2
        below += share * ((shown - with_it.low) ** 2 + (without.high - held) ** 2)
        above += share * ((with_it.high - shown) ** 2 + (held - without.low) ** 2)
    return Interval(lift - math.sqrt(below), lift + math.sqrt(above))


def _at_any_look(strata: Sequence[_Stratum]) -> Interval:
    """Robbins' mixture. With the lift's variance `v` and the mixture's `w`, the true lift is farther away than sqrt(v
    (v + w) / w * (ln((v + w) / v) + 2 ln(1 / alpha))) at any look in 5 % of the cases."""
    total = sum(one.weight for one in strata)
    lift = _weighed([(one.weight, _added(one.shown)[0] - _added(one.held_back)[0]) for one in strata])
    variance = sum((one.weight / total) ** 2 * (_added(one.shown)[1] + _added(one.held_back)[1]) for one in strata)
    expected = _EXPECTED_LIFT**2
    both = variance + expected
    reach = math.sqrt(variance * both / expected * (math.log(both / variance) + 2 * math.log(1 / _ALPHA)))
    return Interval(max(-1.0, lift - reach), min(1.0, lift + reach))


def _added(counts: Counts) -> tuple[float, float]:
    """A rate and its variance, with one success and one failure added."""
    trials = counts.reported + 2
    rate = (counts.succeeded + 1) / trials
    return rate, rate * (1 - rate) / trials


def _rate(counts: Counts) -> float:
    return counts.succeeded / counts.reported


def _weighed(values: Sequence[tuple[float, float]]) -> float:
    return sum(weight * value for weight, value in values) / sum(weight for weight, _ in values)


def _sum(tallies: Iterable[ArmTally]) -> Counts:
    kept = list(tallies)
    return Counts(
        sum(one.assigned for one in kept),
        sum(one.succeeded for one in kept),
        sum(one.failed for one in kept),
        sum(one.returned for one in kept),
        sum(one.stayed_away for one in kept),
    )
