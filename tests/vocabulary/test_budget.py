import pytest

from sidemirror_server.vocabulary.budget import (
    BudgetLeft,
    Claim,
    Spent,
    TurnBudget,
    budget_left,
    claim,
    model_timeout_s,
)
from sidemirror_server.vocabulary.status import ResultStatus


def test_four_reflections_and_no_other_cap_by_default() -> None:
    assert budget_left(TurnBudget(), Spent(), 1e9) == BudgetLeft(reflections=4, time_s=None, tokens=None, usd=None)


def test_what_is_left_is_never_below_zero() -> None:
    budget = TurnBudget(max_reflections=2, time_limit_s=10.0, max_tokens=100, max_usd=0.5)
    assert budget_left(budget, Spent(reflections=1, tokens=40, usd=0.125), 4.0) == BudgetLeft(1, 6.0, 60, 0.375)
    assert budget_left(budget, Spent(reflections=5, tokens=400, usd=2.0), 11.0) == BudgetLeft(0, 0.0, 0, 0.0)


def test_slots_are_given_until_the_cap() -> None:
    answers = [claim(TurnBudget(), Spent(reflections=used), 0.0).status for used in range(6)]
    assert answers == [ResultStatus.OK] * 4 + [ResultStatus.SKIPPED_BUDGET] * 2


@pytest.mark.parametrize(
    ("budget", "spent", "elapsed_s", "answer"),
    [
        (TurnBudget(), Spent(), 0.0, Claim(ResultStatus.OK, "")),
        (
            TurnBudget(),
            Spent(reflections=4),
            0.0,
            Claim(ResultStatus.SKIPPED_BUDGET, "max_reflections: 4 of 4 reflections of this turn are used"),
        ),
        (
            TurnBudget(max_reflections=0),
            Spent(),
            0.0,
            Claim(ResultStatus.SKIPPED_BUDGET, "max_reflections: 0 of 0 reflections of this turn are used"),
        ),
        (
            TurnBudget(max_tokens=1000),
            Spent(tokens=1200),
            0.0,
            Claim(ResultStatus.SKIPPED_BUDGET, "max_tokens: 1200 of 1000 tokens of this turn are used"),
        ),
        (
            TurnBudget(max_usd=0.05),
            Spent(usd=0.05),
            0.0,
            Claim(ResultStatus.SKIPPED_BUDGET, "max_usd: 0.0500 of 0.0500 USD of this turn are used"),
        ),
        (TurnBudget(time_limit_s=2.5), Spent(), 2.4, Claim(ResultStatus.OK, "")),
        (
            TurnBudget(time_limit_s=2.5),
            Spent(),
            2.5,
            Claim(ResultStatus.SKIPPED_DEADLINE, "time_limit: the turn's 2.5 s are over"),
        ),
    ],
)
def test_a_refused_claim_names_its_cap(budget: TurnBudget, spent: Spent, elapsed_s: float, answer: Claim) -> None:
    assert claim(budget, spent, elapsed_s) == answer


def test_an_expired_deadline_is_looked_at_before_the_slots() -> None:
    status = claim(TurnBudget(time_limit_s=1.0), Spent(reflections=4), 1.0).status
    assert status is ResultStatus.SKIPPED_DEADLINE


@pytest.mark.parametrize(
    ("remaining_s", "rpc_remaining_s", "timeout_s"),
    [
        (None, None, 30.0),
        (100.0, None, 30.0),
        (30.0, None, 30.0),
        (12.9, None, 12.0),
        (5.5, None, 5.0),
        (3.2, None, 3.2),  # seed reflection-engine's floor of 5 s, capped by the deadline
        (0.0, None, 0.0),
        (-1.0, None, 0.0),
        (None, 2.5, 2.5),
        (12.9, 2.5, 2.5),
        (12.9, 60.0, 12.0),
        (None, -1.0, 0.0),
    ],
)
def test_a_model_call_ends_before_every_deadline(
    remaining_s: float | None, rpc_remaining_s: float | None, timeout_s: float
) -> None:
    assert model_timeout_s(remaining_s, rpc_remaining_s) == timeout_s
