"""A reflection's importance, by the table of seed goal-reflection, "Importance Scoring" (decision 026)."""

from sidemirror_server.goals.record import GoalState

FAILED = 0.8
COMPLETED = 0.5
ERROR_BONUS = 0.2


def importance(state: GoalState, *, task_error: bool) -> float:
    """The importance, 0 to 1. `task_error`: any task has its `error` set; a text about an error does not count."""
    base = FAILED if state is GoalState.FAILED else COMPLETED
    return min(1.0, round(base + (ERROR_BONUS if task_error else 0.0), 2))
