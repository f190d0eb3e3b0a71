"""When a project dreams, and for how long it is left alone: the figures of decision 034, as literals."""

import pytest

from sidemirror_server.memory.dreams.dreaming import MOST_ASKED, MOST_READ, MOST_RECENT
from sidemirror_server.memory.dreams.dreams import Dream, DreamHistory, DreamtLesson, Waiting, is_due, rest_until
from sidemirror_server.memory.dreams.groups import MOST_IN_ONE
from sidemirror_server.vocabulary.scope import Scope

HOUR_US = 3_600_000_000
T0 = 1_700_000_000_000_000


def waiting(first_h: float, last_h: float, **standing: int) -> Waiting:
    """Unread memories were made between these hours."""
    first_us, last_us = (T0 + int(hours * HOUR_US) for hours in (first_h, last_h))
    return Waiting(Scope("acme", "shop"), DreamHistory(**standing), first_us, last_us)


@pytest.mark.parametrize(
    ("project", "active_h", "due_h"),
    [
        # 2 hours after the last memory, or after the last that was heard of the project.
        (waiting(0, 1), 0, 3),
        (waiting(0, 1), 2.5, 4.5),
        # While it is at work: 24 hours after the last pass, or after what waits longest.
        (waiting(0, 1), 23.5, 24),
        (waiting(0, 1, dreams=1, ended_us=T0 + 3 * HOUR_US), 26.5, 27),
        # Left alone after passes that changed nothing.
        (waiting(0, 1, dreams=2, idle_dreams=2, rest_until_us=T0 + 30 * HOUR_US), 0, 30),
    ],
)
def test_when_a_project_is_due(project: Waiting, active_h: float, due_h: float) -> None:
    active_us, due_us = (T0 + int(hours * HOUR_US) for hours in (active_h, due_h))
    assert is_due(project, active_us, due_us)
    assert not is_due(project, active_us, due_us - 1)


@pytest.mark.parametrize(
    ("idle", "rest_h"), [(0, 6), (1, 12), (2, 24), (3, 48), (4, 96), (5, 168), (6, 168), (60, 168)]
)
def test_a_pass_that_changes_nothing_is_followed_by_a_rest(idle: int, rest_h: int) -> None:
    nothing = Dream(dream_id="d", number=7, started_us=T0 - 5, ended_us=T0, read=3)
    assert rest_until(DreamHistory(6, idle), nothing) == T0 + rest_h * HOUR_US
    made = DreamtLesson("r", "", ("a", "b"), 2, is_new=True)
    something = Dream(dream_id="d", number=7, started_us=T0 - 5, ended_us=T0, lessons=(made,))
    assert rest_until(DreamHistory(6, idle), something) == T0


def test_what_a_pass_may_take() -> None:
    assert (MOST_READ, MOST_RECENT, MOST_ASKED, MOST_IN_ONE) == (500, 1_000, 20, 12)
