"""The clock of a shared store: it goes by the database's time, and says when that cannot be right."""

import logging

import pytest

from sidemirror_server.vocabulary.store_clock import StoreClock

SECOND, DAY = 1_000_000, 86_400 * 1_000_000
T0 = 1_800_000_000 * SECOND


class Machine:
    """A machine's clocks, set by hand."""

    def __init__(self, wall_us: int = T0) -> None:
        self.wall_us, self.passed_s = wall_us, 100.0

    def now_us(self) -> int:
        return self.wall_us

    def monotonic_s(self) -> float:
        return self.passed_s

    def passes(self, seconds: float) -> None:
        self.passed_s += seconds
        self.wall_us += round(seconds * SECOND)


def measure(clock: StoreClock, machine: Machine, theirs_us: int, took_s: float = 0.0) -> None:
    asked_s = machine.monotonic_s()
    machine.passes(took_s)
    clock.measured(theirs_us, asked_s)


def test_without_a_database_it_is_the_machines() -> None:
    machine = Machine()
    clock = StoreClock(machine)
    assert (clock.now_us(), clock.is_due, clock.ahead_us, clock.doubt) == (T0, True, 0, "")


@pytest.mark.parametrize("wrong_us", [-100 * DAY, -3 * SECOND, 0, 3 * SECOND, 100 * DAY])
def test_the_machines_own_clock_decides_nothing(wrong_us: int) -> None:
    machine = Machine(T0 + wrong_us)
    clock = StoreClock(machine)
    measure(clock, machine, T0)
    machine.passes(10.5)
    machine.wall_us += 7 * DAY  # set by hand meanwhile
    assert clock.now_us() == T0 + 10_500_000
    assert not clock.is_due
    assert clock.ahead_us == wrong_us
    machine.passes(49.5)
    assert clock.is_due


def test_the_answer_was_made_half_way() -> None:
    machine = Machine()
    clock = StoreClock(machine)
    measure(clock, machine, T0, took_s=0.25)
    assert clock.now_us() == T0 + 125_000
    assert clock.ahead_us == 125_000


def test_a_slow_answer_is_not_taken_in_place_of_a_good_one() -> None:
    machine = Machine()
    clock = StoreClock(machine)
    measure(clock, machine, T0, took_s=4.0)
    assert clock.now_us() == T0 + 2 * SECOND
    measure(clock, machine, T0 + 10 * SECOND, took_s=0.75)
    assert clock.now_us() == T0 + 2_750_000


def test_it_follows_what_is_set_by_less_than_a_day() -> None:
    machine = Machine()
    clock = StoreClock(machine)
    measure(clock, machine, T0)
    machine.passes(60)
    measure(clock, machine, T0 + 60 * SECOND + DAY - 1)
    assert clock.now_us() == T0 + 60 * SECOND + DAY - 1
    assert clock.doubt == ""


@pytest.mark.parametrize("leap_us", [-100 * DAY, -DAY, DAY, 100 * DAY])
def test_a_leap_is_not_followed_and_stays_in_doubt(leap_us: int, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    clock = StoreClock(machine)
    measure(clock, machine, T0)
    machine.passes(60)
    measure(clock, machine, T0 + 60 * SECOND + leap_us)
    machine.passes(1)
    assert clock.now_us() == T0 + 61 * SECOND
    assert "has moved" in clock.doubt
    machine.passes(60)
    measure(clock, machine, T0 + 121 * SECOND)  # it is right again
    assert clock.now_us() == T0 + 121 * SECOND
    assert "has moved" in clock.doubt
    assert [record.levelno for record in caplog.records if record.message == "database_clock_leapt"] == [logging.ERROR]


def test_a_leap_is_not_followed_later_either() -> None:
    """Neither when it was measured before, nor when this machine's clock was as wrong all the time."""
    machine = Machine(T0 + 100 * DAY)
    clock = StoreClock(machine)
    measure(clock, machine, T0)
    for passed_s in (60, 120, 180):
        machine.passes(60)
        measure(clock, machine, T0 + passed_s * SECOND + 100 * DAY)
        assert clock.now_us() == T0 + passed_s * SECOND


def test_leaps_by_half_a_day_add_up() -> None:
    machine = Machine()
    clock = StoreClock(machine)
    for number in range(3):
        measure(clock, machine, T0 + number * (DAY // 2 + 60 * SECOND))
        machine.passes(60)
    assert "has moved" in clock.doubt


def test_a_machine_that_was_suspended_goes_on_in_doubt() -> None:
    """The monotonic clock stood still, and both others went on."""
    machine = Machine()
    clock = StoreClock(machine)
    measure(clock, machine, T0)
    machine.wall_us += 3 * DAY
    measure(clock, machine, T0 + 3 * DAY)
    assert clock.now_us() == T0 + 3 * DAY
    assert "has moved" in clock.doubt


@pytest.mark.parametrize(("wrong_us", "in_doubt"), [(DAY - 1, False), (DAY, True), (-DAY, True), (1 - DAY, False)])
def test_two_clocks_that_are_a_day_apart_are_in_doubt(wrong_us: int, in_doubt: bool) -> None:
    machine = Machine(T0 + wrong_us)
    clock = StoreClock(machine)
    measure(clock, machine, T0)
    assert bool(clock.doubt) == in_doubt
    machine.wall_us = T0 + 60 * SECOND
    machine.passed_s += 60
    measure(clock, machine, T0 + 60 * SECOND)  # somebody has set it
    assert clock.doubt == ""


def test_a_difference_is_told_when_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    """And when it is over, by a line that the search for the ends of outages finds. Seen to fail without `lasted_s`."""
    caplog.set_level(logging.INFO)
    machine = Machine()
    clock = StoreClock(machine)
    for ahead_us in (0, SECOND - 1, 5 * SECOND, 5 * SECOND + 1, 4 * SECOND + 2, -SECOND, 0):
        machine.passes(60)
        measure(clock, machine, machine.wall_us - ahead_us)
    told = [
        (record.levelname, record.message, record.__dict__["ahead_s"], record.__dict__.get("lasted_s"))
        for record in caplog.records
    ]
    assert told == [
        ("WARNING", "clock_differs_from_database", 5.0, None),
        ("WARNING", "clock_differs_from_database", -1.0, None),
        ("INFO", "clock_agrees_with_database", 0.0, 240.0),
    ]
