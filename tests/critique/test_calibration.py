"""A confidence from the project's own outcomes."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from sidemirror_server.critique.calibration import calibration_of
from sidemirror_server.critique.flips import Reported
from sidemirror_server.critique.keeping import record_of
from sidemirror_server.critique.record import Critique, Verdict
from sidemirror_server.vocabulary.status import ResultStatus, Usage

Draw = tuple[float | None, bool, bool]


def outcomes(draws: Sequence[Draw]) -> list[Reported]:
    """Verdicts as the store counts them: stated confidence, whether a revision is called for, whether it was right."""
    counted = Counter(draws)
    return [
        Reported(None if stated is None else round(stated * 1e6), revise, right, None, count)
        for (stated, revise, right), count in counted.items()
    ]


def test_from_fifty_outcomes_on() -> None:
    draws: list[Draw] = [*[(None, False, True)] * 30, *[(None, True, False)] * 19]
    assert calibration_of(outcomes(draws)) is None
    # What has no outcome of the judged response is none.
    assert calibration_of([*outcomes(draws), Reported(None, True, None, True, 9)]) is None
    assert calibration_of(outcomes([*draws, (None, True, False)])) is not None


def test_without_a_stated_confidence_it_is_the_share_of_successes() -> None:
    draws: list[Draw] = [*[(None, False, True)] * 80, *[(None, False, False)] * 20]
    draws += [(None, True, True)] * 30 + [(None, True, False)] * 70
    found = calibration_of(outcomes(draws))
    assert found is not None
    assert found.confidence(None, revise=False) == pytest.approx(0.8, abs=0.01)
    assert found.confidence(None, revise=True) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_a_boastful_model_is_corrected(seed: int) -> None:
    """Such a model says .99 where .8 would be right. On new verdicts the calibrated confidence errs less."""
    chance = random.Random(seed)

    def drawn(count: int) -> list[Draw]:
        made: list[Draw] = []
        for _ in range(count):
            truth = chance.uniform(0.2, 0.8)
            stated = round(min(0.99, truth + 0.3), 2)
            made.append((stated, False, chance.random() < truth))
        return made

    found = calibration_of(outcomes(drawn(200)))
    assert found is not None
    new = drawn(2_000)
    own = sum((stated - right) ** 2 for stated, _, right in new if stated is not None)
    calibrated = sum((found.confidence(stated, revise=revise) - right) ** 2 for stated, revise, right in new)
    assert calibrated < own


@pytest.mark.parametrize("seed", range(20))
def test_a_contradiction_always_lowers_it_and_a_higher_statement_never_does(seed: int) -> None:
    """Also where the outcomes say the opposite, and where they are all alike."""
    chance = random.Random(seed)
    right = chance.choice([0.0, 0.1, 0.5, 1.0])
    draws: list[Draw] = []
    for _ in range(120):
        stated = chance.choice([None, 0.0, 0.3, 0.9, 1.0])
        revise = chance.random() < 0.4
        odds = right if stated is None else right * (1.2 - stated)
        draws.append((stated, revise, revise or chance.random() < odds))
    found = calibration_of(outcomes(draws))
    assert found is not None
    for stated in (None, 0.0, 0.4, 1.0):
        assert 0 < found.confidence(stated, revise=True) < found.confidence(stated, revise=False) < 1
    said = [found.confidence(stated, revise=False) for stated in (0.0, 0.2, 0.5, 0.9, 1.0)]
    assert said == sorted(said)


def test_features_that_separate_the_outcomes_leave_it_between_0_and_1() -> None:
    draws: list[Draw] = [*[(0.95, False, True)] * 40, *[(0.2, True, False)] * 40]
    found = calibration_of(outcomes(draws))
    assert found is not None
    assert 0.01 < found.confidence(0.2, revise=True) < 0.1 < 0.9 < found.confidence(0.95, revise=False) < 0.99


def test_what_the_model_stated_is_what_the_next_calibration_reads() -> None:
    told = Verdict(ResultStatus.OK, confidence=0.4, stated=0.9, calibrated=True, withheld=True, usage=Usage("p", "m"))
    record = record_of(Critique("c", 1, told))
    assert (record.confidence_ppm, record.stated_ppm, record.revise, record.model) == (400_000, 900_000, True, "m")
    own = record_of(Critique("c", 1, Verdict(ResultStatus.OK, confidence=0.9, usage=Usage("p", "m"))))
    assert (own.confidence_ppm, own.stated_ppm) == (900_000, 900_000)
