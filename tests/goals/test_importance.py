"""How much a reflection matters. Seed goal-reflection, "Importance Scoring"."""

import pytest

from sidemirror_server.goals.importance import importance
from sidemirror_server.goals.record import GoalState
from sidemirror_server.goals.report import MAX_ATTEMPTS, GoalReport, GoalTask, report_body, report_in
from sidemirror_server.goals.store import KEPT_FOR_US, MOST_PER_GOAL, MOST_RECENT_GOALS
from sidemirror_server.vocabulary.origin import Origin


@pytest.mark.parametrize(
    ("state", "task_error", "wanted"),
    [
        (GoalState.FAILED, False, 0.8),
        (GoalState.COMPLETED, False, 0.5),
        (GoalState.FAILED, True, 1.0),
        (GoalState.COMPLETED, True, 0.7),
    ],
)
def test_the_seeds_table(state: GoalState, task_error: bool, wanted: float) -> None:
    assert importance(state, task_error=task_error) == wanted


def test_an_error_is_a_field_of_a_task() -> None:
    assert not GoalReport(
        "g", "o", GoalState.FAILED, (GoalTask("a", "error: 404"),), "the goal's own error"
    ).has_task_error
    assert GoalReport("g", "o", GoalState.COMPLETED, (GoalTask("a"), GoalTask("b", error="404"))).has_task_error


def test_origin_is_that_of_the_least_trusted_part() -> None:
    assert GoalReport("g", "o", GoalState.COMPLETED, (GoalTask("a", "found it"),)).origin is Origin.AGENT
    assert GoalReport("g", "o", GoalState.COMPLETED, (GoalTask("a", error="x"),)).origin is Origin.TOOL
    assert GoalReport("g", "o", GoalState.FAILED, (), "x").origin is Origin.TOOL


def test_a_report_as_it_is_kept() -> None:
    report = GoalReport("g", "ש \U0001f642", GoalState.FAILED, (GoalTask("a", "b", "c"), GoalTask()), "why")
    assert report_in(report_body(report)) == report
    # No time in it, and always the same: a request that comes again makes the same job.
    assert report_body(report) == report_body(report_in(report_body(report)))
    assert len(GoalReport("g", "x" * 5_000, GoalState.FAILED).short_objective) == 1_000


def test_the_seeds_limits() -> None:
    """Seed goal-reflection, "Limits"; the number of those injected is in test_context.py."""
    assert MOST_PER_GOAL == 3
    assert MOST_RECENT_GOALS == 10
    assert KEPT_FOR_US == 604_800_000_000
    assert MAX_ATTEMPTS == 20
