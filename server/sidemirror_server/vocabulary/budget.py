"""The budget of one turn for reflections, and the rule for a claim. Pure: the log contains the claims.

The claims of a turn are made one after the other, so that concurrent callers never get more slots than the cap
(decision 015).
"""

import msgspec

from sidemirror_server.vocabulary.status import ResultStatus

# Seed reflection-engine, "LLM Call": timeout_s = min(30, max(5, int(budget.remaining_s()))).
LONGEST_MODEL_CALL_S = 30.0
SHORTEST_MODEL_CALL_S = 5.0
# The part of a call's time that its model does not get; it is for the answer. Chosen here: several times the gateway's
# grace period and a write to the store.
ANSWER_S = 0.2


class TurnBudget(msgspec.Struct, frozen=True):
    """The caps of one turn; None means no cap."""

    # Seed reflection-engine, "Budget Gate": "e.g. 4 reflections".
    max_reflections: int = 4
    time_limit_s: float | None = None
    max_tokens: int | None = None
    max_usd: float | None = None


class Spent(msgspec.Struct, frozen=True):
    """The used budget of a turn: claimed slots (answered or not), input and output tokens, and their cost."""

    reflections: int = 0
    tokens: int = 0
    usd: float = 0.0


class BudgetLeft(msgspec.Struct, frozen=True):
    """The remaining budget of a turn; never below zero, None where there is no cap."""

    reflections: int
    time_s: float | None
    tokens: int | None
    usd: float | None


class Claim(msgspec.Struct, frozen=True):
    """The answer to one claim: OK, SKIPPED_DEADLINE or SKIPPED_BUDGET. Only OK takes a slot."""

    status: ResultStatus
    # For people: the cap and its value; empty when the status is OK.
    detail: str = ""


_GRANTED = Claim(ResultStatus.OK)


def budget_left(budget: TurnBudget, spent: Spent, elapsed_s: float) -> BudgetLeft:
    """The rest of `budget` when the turn has run for `elapsed_s` seconds."""
    return BudgetLeft(
        reflections=max(0, budget.max_reflections - spent.reflections),
        time_s=None if budget.time_limit_s is None else max(0.0, budget.time_limit_s - elapsed_s),
        tokens=None if budget.max_tokens is None else max(0, budget.max_tokens - spent.tokens),
        usd=None if budget.max_usd is None else max(0.0, budget.max_usd - spent.usd),
    )


def claim(budget: TurnBudget, spent: Spent, elapsed_s: float) -> Claim:
    """Whether one more reflection may start now. The deadline is checked first, so that a turn past its deadline takes
    no slot (decision 015; seed reflection-engine claims first)."""
    left = budget_left(budget, spent, elapsed_s)
    if left.time_s is not None and left.time_s <= 0:
        return Claim(ResultStatus.SKIPPED_DEADLINE, f"time_limit: the turn's {budget.time_limit_s:g} s are over")
    if left.reflections <= 0:
        return Claim(
            ResultStatus.SKIPPED_BUDGET,
            f"max_reflections: {spent.reflections} of {budget.max_reflections} reflections of this turn are used",
        )
    if left.tokens is not None and left.tokens <= 0:
        return Claim(
            ResultStatus.SKIPPED_BUDGET,
            f"max_tokens: {spent.tokens} of {budget.max_tokens} tokens of this turn are used",
        )
    if left.usd is not None and left.usd <= 0:
        return Claim(
            ResultStatus.SKIPPED_BUDGET, f"max_usd: {spent.usd:.4f} of {budget.max_usd:.4f} USD of this turn are used"
        )
    return _GRANTED


def model_timeout_s(remaining_s: float | None, rpc_remaining_s: float | None = None) -> float:
    """Seconds that a model call may take: seed reflection-engine's min(30, max(5, int(remaining))), or 30 without a
    deadline, and never more than the turn and the RPC have left (decision 015). Never negative; 0.0 means that there is
    no time for a call."""
    wanted_s = LONGEST_MODEL_CALL_S
    if remaining_s is not None:
        wanted_s = min(LONGEST_MODEL_CALL_S, max(SHORTEST_MODEL_CALL_S, float(int(remaining_s))), remaining_s)
    if rpc_remaining_s is not None:
        wanted_s = min(wanted_s, rpc_remaining_s)
    return max(0.0, wanted_s)
