"""Calls whose result is never reported, and failures that only a text reports: what a turn's state makes of them."""

from typing import Any

import pytest

from sidemirror_server.thinking.turn import apply
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import Event, ToolCalled, ToolFailed, ToolReturned
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.origin import Origin


def folded(*whats: Any) -> TurnState:
    state = TurnState()
    for place, what in enumerate(whats, start=1):
        apply(state, place, 0, Event(EventId(f"e{place}"), 0, what, Origin.TOOL))
    return state


def failing(number: int) -> tuple[ToolCalled, ToolFailed]:
    return ToolCalled(f"b{number}", "b", "{}"), ToolFailed(f"b{number}", "no such table: q")


@pytest.mark.parametrize(("failures", "is_decided"), [(1, False), (2, False), (3, True)])
def test_a_call_whose_result_never_comes_delays_two_failures(failures: int, is_decided: bool) -> None:
    calls = [event for number in range(failures) for event in failing(number)]
    assert folded(ToolCalled("a", "a", "{}"), *calls).at_decision is is_decided


def test_calls_side_by_side_are_waited_for() -> None:
    begun = [ToolCalled(f"c{number}", "b", "{}") for number in range(9)]
    ended = [ToolFailed(f"c{number}", "no such table: q") for number in range(9)]
    assert not folded(*begun, *ended[:-1]).at_decision
    assert folded(*begun, *ended).at_decision


@pytest.mark.parametrize(
    ("ended", "failed", "marked"),
    [
        (ToolReturned("b", "no such column: x"), 1, 0),
        (ToolReturned("b", "no such column: x", is_error=True), 1, 1),
        (ToolReturned("b", "no such column: x", has_worked=True), 0, 0),
        (ToolReturned("b", "65"), 0, 0),
        (ToolFailed("b", "no such column: x"), 1, 1),
    ],
)
def test_a_failure_that_only_its_text_reports_is_counted(ended: Any, failed: int, marked: int) -> None:
    """As `turns show` has it; a reflection and a lesson take the agent's word."""
    state = folded(ToolCalled("b", "b", "{}"), ended)
    assert (state.tool_error_count, state.marked_error_count) == (failed, marked)
    assert len(state.tool_errors) == marked
