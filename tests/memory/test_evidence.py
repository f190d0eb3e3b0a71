"""The rules of evidence: their limits as literals, their formulas against published examples and against each other."""

import math
import random
from itertools import pairwise

import msgspec
import pytest

from sidemirror_server.memory.trials import evidence as rules
from sidemirror_server.memory.trials.evidence import (
    Arm,
    ArmTally,
    LessonEvidence,
    LessonVerdict,
    evidence_of,
    explained,
    is_held_back,
    less,
    wilson,
)


def tally(arm: Arm, succeeded: int, failed: int, fraction: float = 0.5, missing: int = 0) -> ArmTally:
    return ArmTally(arm, fraction, succeeded + failed + missing, succeeded, failed)


def compared(shown: tuple[int, int], held: tuple[int, int], fraction: float = 0.5) -> LessonEvidence:
    return evidence_of([tally(Arm.SHOWN, *shown, fraction), tally(Arm.HELD_BACK, *held, fraction)])


def test_the_numbers() -> None:
    assert (rules.FEWEST_OUTCOMES, rules.INERT_LIFT, rules._ALPHA) == (30, 0.1, 0.05)


@pytest.mark.parametrize(
    ("shown", "held", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10.
        ((56, 14), (48, 32), 0.0524, 0.3339),
        ((9, 1), (3, 7), 0.1705, 0.8090),
        ((6, 1), (2, 5), 0.0582, 0.8062),
        ((5, 51), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 0), (0, 20), 0.6791, 1.0000),
        ((10, 0), (0, 10), 0.6075, 1.0000),
    ],
)
def test_the_interval_is_newcombes(shown: tuple[int, int], held: tuple[int, int], low: float, high: float) -> None:
    found = compared(shown, held).interval
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_at_any_look_is_robbins_mixture() -> None:
    """The reach x is where the mixture's likelihood ratio of the lift against none is 1 / 0.05."""
    found = compared((60, 40), (50, 50))
    assert found.at_any_look is not None
    assert found.lift is not None
    lift = 61 / 102 - 51 / 102
    reach = found.at_any_look.high - lift
    variance = (61 / 102) * (41 / 102) / 102 + 0.25 / 102
    expected = 0.15**2
    ratio = math.sqrt(variance / (variance + expected)) * math.exp(
        reach**2 * expected / (2 * variance * (variance + expected))
    )
    assert ratio == pytest.approx(20)
    assert lift - found.at_any_look.low == pytest.approx(reach)


def test_fractions_are_compared_among_themselves() -> None:
    """Of hard tasks many are held back, of easy ones few: together they look as if the lesson helped."""
    easy = [tally(Arm.SHOWN, 720, 80, 0.2), tally(Arm.HELD_BACK, 180, 20, 0.2)]
    hard = [tally(Arm.SHOWN, 20, 180, 0.8), tally(Arm.HELD_BACK, 80, 720, 0.8)]
    found = evidence_of([*easy, *hard])
    assert found.lift == pytest.approx(0.0)
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high
    assert found.verdict is LessonVerdict.INERT
    assert 740 / 1000 - 260 / 1000 > 0.4, "what both together would say"
    each = [evidence_of(part) for part in (easy, hard)]
    widths = [one.interval.high - one.interval.low for one in (*each, found) if one.interval]
    assert widths[2] < min(widths[:2]), "more outcomes say more"
    alone = evidence_of([*easy, tally(Arm.SHOWN, 5, 1, 0.9)])
    assert (alone.lift, alone.interval) == (each[0].lift, each[0].interval), "one arm is no comparison"


@pytest.mark.parametrize(
    ("shown", "held", "verdict"),
    [
        ((29, 0), (0, 100), LessonVerdict.NOT_ENOUGH_DATA),
        ((30, 0), (0, 30), LessonVerdict.HELPS),
        ((0, 30), (30, 0), LessonVerdict.HARMS),
        ((60, 40), (50, 50), LessonVerdict.NOT_ENOUGH_DATA),
        ((600, 400), (500, 500), LessonVerdict.HELPS),
        ((400, 600), (500, 500), LessonVerdict.HARMS),
        ((100, 100), (100, 100), LessonVerdict.NOT_ENOUGH_DATA),
        ((600, 600), (600, 600), LessonVerdict.INERT),
        ((0, 0), (0, 0), LessonVerdict.NOT_ENOUGH_DATA),
        ((100, 0), (0, 0), LessonVerdict.NOT_ENOUGH_DATA),
    ],
)
def test_verdicts(shown: tuple[int, int], held: tuple[int, int], verdict: LessonVerdict) -> None:
    assert compared(shown, held).verdict is verdict
    opposite = {LessonVerdict.HELPS: LessonVerdict.HARMS, LessonVerdict.HARMS: LessonVerdict.HELPS}
    assert compared(held, shown).verdict is opposite.get(verdict, verdict)


def test_what_is_counted() -> None:
    tallies = [
        ArmTally(Arm.SHOWN, 0.5, 10, 4, 3, 2, 1),
        ArmTally(Arm.SHOWN, 0.25, 10, 1, 1, 0, 1),
        ArmTally(Arm.HELD_BACK, 0.5, 8, 1, 2),
        ArmTally(Arm.SHOWN, 0.0, 5, 2, 3),
    ]
    found = evidence_of(tallies)
    assert (found.shown.assigned, found.shown.succeeded, found.shown.failed, found.shown.missing) == (20, 5, 4, 11)
    assert (found.shown.returned, found.shown.stayed_away) == (2, 2)
    assert (found.held_back.assigned, found.held_back.missing) == (8, 5)
    assert (found.outside.assigned, found.outside.reported) == (5, 5)
    assert found.lift == pytest.approx(4 / 7 - 1 / 3)
    assert evidence_of([tallies[-1]]).lift is None
    assert evidence_of([]) == LessonEvidence()


def test_what_is_said_for_people() -> None:
    assert explained(LessonEvidence()) == "no task was compared: a comparison needs a holdout_fraction"
    assert explained(compared((10, 2), (3, 1))) == "12 outcomes with it and 4 without it: a verdict needs 30 of each"
    said = {
        verdict: explained(compared(*counts))
        for verdict, counts in {
            LessonVerdict.HELPS: ((600, 400), (500, 500)),
            LessonVerdict.HARMS: ((400, 600), (500, 500)),
            LessonVerdict.INERT: ((600, 600), (600, 600)),
            LessonVerdict.NOT_ENOUGH_DATA: ((60, 40), (50, 50)),
        }.items()
    }
    assert said[LessonVerdict.HARMS].startswith(
        "tasks succeed less often with it: -10.0 points, at any look -17.0 to -3.0"
    )
    assert said[LessonVerdict.HELPS].startswith(
        "tasks succeed more often with it: +10.0 points, at any look +3.0 to +17.0"
    )
    assert said[LessonVerdict.INERT].startswith("it makes a difference of less than 10 points: +0.0 points")
    assert said[LessonVerdict.NOT_ENOUGH_DATA].endswith("(100 outcomes with it, 100 without it)")
    uneven = evidence_of([tally(Arm.SHOWN, 60, 40, missing=50), tally(Arm.HELD_BACK, 50, 50, missing=10)])
    assert "outcomes are missing unevenly (33 % with it, 9 % without it)" in explained(uneven)
    even = evidence_of([tally(Arm.SHOWN, 60, 40, missing=10), tally(Arm.HELD_BACK, 50, 50, missing=10)])
    assert "missing" not in explained(even)


def test_draws() -> None:
    """For so many receipts, each lesson by itself, the same again, and the more with a larger fraction."""
    receipts = [f"receipt-{number}" for number in range(20_000)]
    held = {name: [is_held_back(one, name, 0.3) for one in receipts] for name in ("a", "b")}
    for found in held.values():
        assert sum(found) / len(found) == pytest.approx(0.3, abs=0.015)
    both = sum(a and b for a, b in zip(held["a"], held["b"], strict=True)) / len(receipts)
    assert both == pytest.approx(0.09, abs=0.01)
    assert [is_held_back(one, "a", 0.3) for one in receipts] == held["a"]
    assert not any(is_held_back(one, "a", 0.0) for one in receipts)
    for lower, more in pairwise((0.1, 0.3, 0.9)):
        assert all(is_held_back(one, "a", more) for one in receipts[:2_000] if is_held_back(one, "a", lower))
    assert is_held_back("r", "a", 1.0)


def test_intervals_stay_in_range_and_hold_the_lift() -> None:
    rng = random.Random(4)
    for _ in range(500):
        tallies = [
            tally(arm, rng.randint(0, 9), rng.randint(0, 9), fraction)
            for fraction in rng.sample([0.1, 0.25, 0.5], rng.randint(1, 3))
            for arm in Arm
        ]
        found = evidence_of(tallies)
        if found.lift is None:
            continue
        for interval in (found.interval, found.at_any_look):
            assert interval is not None
            assert -1 - 1e-12 <= interval.low <= found.lift <= interval.high <= 1 + 1e-12
        mirrored = evidence_of(
            [msgspec.structs.replace(one, succeeded=one.failed, failed=one.succeeded) for one in tallies]
        )
        assert mirrored.lift == pytest.approx(-found.lift)
        assert mirrored.interval is not None
        assert found.interval is not None
        assert mirrored.interval.low == pytest.approx(-found.interval.high)


@pytest.mark.parametrize(
    ("succeeded", "trials", "low", "high"),
    [(10, 20, 0.299, 0.701), (5, 5, 0.566, 1.0), (0, 20, 0.0, 0.161), (81, 263, 0.255, 0.366)],
)
def test_wilsons_interval(succeeded: int, trials: int, low: float, high: float) -> None:
    """The last is an example of Newcombe (1998), Statistics in Medicine 17, 857-872, table I, method 3."""
    interval = wilson(succeeded, trials)
    assert (round(interval.low, 3), round(interval.high, 3)) == (low, high)


def test_what_counts_no_more_is_the_rest() -> None:
    every = [tally(Arm.SHOWN, 10, 3, missing=2), tally(Arm.HELD_BACK, 4, 4), tally(Arm.SHOWN, 5, 1, 0.0)]
    later = [tally(Arm.SHOWN, 2, 1), tally(Arm.SHOWN, 5, 1, 0.0)]
    rest = less(evidence_of(every), evidence_of(later))
    assert (rest.shown.assigned, rest.shown.succeeded, rest.shown.failed) == (12, 8, 2)
    assert (rest.held_back.assigned, rest.held_back.succeeded) == (8, 4)
    assert rest.outside.assigned == 0
    assert rest.lift is None


def test_what_shadow_mode_kept_is_not_compared() -> None:
    """Nor counted as held back by a draw. Seen to fail with "5 without it", of which 3 were kept."""
    found = evidence_of(
        [
            ArmTally(Arm.SHOWN, 0.1, 4, 4),
            ArmTally(Arm.HELD_BACK, 0.1, 2, 2),
            ArmTally(Arm.HELD_BACK, 1.0, 3, 1, 2),
        ]
    )
    assert (found.held_back.reported, found.kept.reported) == (2, 3)
    assert explained(found) == "4 outcomes with it and 2 without it: a verdict needs 30 of each"
