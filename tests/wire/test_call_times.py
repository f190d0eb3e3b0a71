"""How long a call may wait for something, so that its answer still comes before its deadline."""

import pytest

from sidemirror_server.rpc.boundary.call import Call
from tests.faults.clocks import SetClock
from tests.turns.house import SCOPE


def call_with(left_s: float | None) -> Call:
    clock = SetClock()
    return Call(SCOPE, "method", "", clock, None if left_s is None else clock.monotonic_s() + left_s)


@pytest.mark.parametrize(("left_s", "model_s"), [(None, 30.0), (60.0, 30.0), (10.0, 9.8), (0.1, 0.0), (-1.0, 0.0)])
def test_a_model_has_what_the_deadline_leaves_and_30_seconds_at_most(left_s: float | None, model_s: float) -> None:
    assert call_with(left_s).model_time_s() == pytest.approx(model_s)


@pytest.mark.parametrize(("left_s", "waits_s"), [(None, 5.0), (60.0, 5.0), (2.0, 1.5), (0.2, 0.0)])
def test_a_wait_leaves_time_for_the_answer(left_s: float | None, waits_s: float) -> None:
    assert call_with(left_s).time_for(5.0, 0.5) == pytest.approx(waits_s)
