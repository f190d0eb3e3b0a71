"""A clock that leaps is told once, and once more when it is right again."""

import logging
from pathlib import Path

import pytest

from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.leaps import Leaps
from tests.faults.sidecars import running
from tests.faults.waiting import until
from tests.vocabulary.test_store_clock import DAY, SECOND, Machine

HOUR = 3600 * SECOND


def told_of(caplog: pytest.LogCaptureFixture, *steps_us: int) -> list[tuple[object, ...]]:
    """The lines while the clock moves by this much more than the time that passes, a minute after the other."""
    caplog.set_level(logging.INFO)
    machine = Machine()
    leaps = Leaps(machine)
    for step_us in steps_us:
        machine.passes(60)
        machine.wall_us += step_us
        leaps.look()
    names = ("leapt_s", "ahead_s", "expected", "lasted_s")
    return [
        (one.levelname, one.message, *(one.__dict__[name] for name in names if name in one.__dict__))
        for one in caplog.records
    ]


def test_a_clock_that_goes_back_is_told_until_it_is_right_again(caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail without `look`."""
    assert told_of(caplog, 0, -2 * HOUR, 0, SECOND, 2 * HOUR, 0) == [
        ("WARNING", "own_clock_leapt", -7200.0, -7200.0, "2027-01-15T08:02:00Z"),
        ("INFO", "own_clock_well_again", 180.0),
    ]


def test_a_clock_that_goes_far_ahead_is_told(caplog: pytest.LogCaptureFixture) -> None:
    told = told_of(caplog, 3 * DAY, 0, -3 * DAY - SECOND)
    assert [one[:3] for one in told] == [
        ("WARNING", "own_clock_leapt", 3 * 86_400.0),
        ("INFO", "own_clock_well_again", 120.0),
    ]


def test_a_second_leap_is_told_beside_the_first(caplog: pytest.LogCaptureFixture) -> None:
    told = told_of(caplog, -HOUR, -HOUR, 2 * HOUR)
    assert [one[1:4] for one in told[:2]] == [
        ("own_clock_leapt", -3600.0, -3600.0),
        ("own_clock_leapt", -3600.0, -7200.0),
    ]
    assert told[2][1] == "own_clock_well_again"
    # What time it would be is known at the first one alone.
    assert [len(one) for one in told[:2]] == [5, 4]


@pytest.mark.parametrize("before_us", [2 * DAY, 10 * HOUR], ids=["slept for days", "set ahead"])
def test_after_a_step_nobody_knows_what_time_it_would_be(before_us: int, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail: `expected` was ahead by the sleep, or 10 h behind when the clock was put right."""
    last = told_of(caplog, before_us, 0, -10 * HOUR)[-1]
    assert last[1:3] == ("own_clock_leapt", -36_000.0)
    assert len(last) == 4


def test_a_clock_that_is_led_back_slowly_is_well_again(caplog: pytest.LogCaptureFixture) -> None:
    """Also where the machine sleeps meanwhile. Seen to fail: small steps did not count."""
    told = told_of(caplog, -10 * SECOND, 8 * HOUR, *[SECOND] * 6)
    assert [one[1] for one in told] == ["own_clock_leapt", "own_clock_well_again"]


@pytest.mark.parametrize(
    "steps_us",
    [
        # A laptop that sleeps each night: its monotonic clock stands still.
        [8 * HOUR] * 20,
        [DAY - SECOND],
        # A clock that is kept in step.
        [-SECOND, SECOND, -4 * SECOND, 100],
    ],
)
def test_what_is_no_leap(steps_us: list[int], caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when what small steps add up to counts."""
    assert told_of(caplog, *steps_us) == []


def test_a_process_that_stood_still_between_both_clocks_saw_no_leap(caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when the monotonic clock is read once."""
    machine = Machine()
    leaps = Leaps(machine)
    read = machine.now_us

    def slowly() -> int:
        found = read()
        machine.passes(30)
        return found

    machine.now_us = slowly  # type: ignore[method-assign]  # one reading
    leaps.look()
    machine.now_us = read  # type: ignore[method-assign]  # and those after it
    leaps.look()
    assert caplog.records == []


class Set(SystemClock):
    """A machine's clock that somebody sets."""

    by_us = 0

    def now_us(self) -> int:
        return super().now_us() + self.by_us


async def test_a_sidecar_with_an_embedded_store_tells_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when nobody looks."""
    caplog.set_level(logging.INFO)
    clock = Set()

    async def told(event: str) -> logging.LogRecord:
        await until(lambda: any(one.message == event for one in caplog.records))
        return next(one for one in caplog.records if one.message == event)

    async with running(tmp_path, clock=clock):
        clock.by_us = -HOUR
        leapt = await told("own_clock_leapt")
        assert leapt.__dict__["leapt_s"] == pytest.approx(-3600, abs=5)
        clock.by_us = 0
        await told("own_clock_well_again")
