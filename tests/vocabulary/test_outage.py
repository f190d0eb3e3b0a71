"""One line when something begins to fail, one when it works again, and at most one a minute when it does both by
turns."""

import logging

import pytest

from sidemirror_server.vocabulary.outage import Outage
from tests.faults.clocks import SetClock

_log = logging.getLogger("outage")


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def outage(clock: SetClock, caplog: pytest.LogCaptureFixture) -> Outage:
    caplog.set_level(logging.INFO)
    return Outage(_log, "fails", "works", clock)


def test_an_outage_is_two_lines(outage: Outage, clock: SetClock, caplog: pytest.LogCaptureFixture) -> None:
    outage.worked()
    for _ in range(500):
        outage.failed({"reason": "away"})
        clock.advance(1)
    outage.worked()
    outage.worked()
    began, over = caplog.records
    assert (began.levelname, began.message, vars(began)["reason"]) == ("WARNING", "fails", "away")
    assert (over.levelname, over.message) == ("INFO", "works")
    assert (vars(over)["failures"], vars(over)["lasted_s"]) == (500, 500.0)


def test_what_fails_by_turns_is_told_once_a_minute(
    outage: Outage, clock: SetClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail when a success forgets when the last line was written."""
    for _ in range(121):
        outage.failed({})
        clock.advance(0.5)
        outage.worked()
        clock.advance(0.5)
    failures = [record for record in caplog.records if record.message == "fails"]
    assert [vars(record).get("untold") for record in failures] == [None, 59, 59]


def test_what_is_new_is_told_while_it_lasts(outage: Outage, clock: SetClock, caplog: pytest.LogCaptureFixture) -> None:
    """Once a minute at most, and it is one outage. Seen to fail when the second line begins another."""
    outage.failed({"who": "a"})
    clock.advance(30)
    outage.failed({"who": "b"}, is_news=True)
    clock.advance(40)
    outage.failed({"who": "b"}, is_news=True)
    clock.advance(10)
    outage.worked()
    first, second, over = map(vars, caplog.records)
    assert (first["who"], second["who"], second["untold"]) == ("a", "b", 1)
    assert (over["failures"], over["lasted_s"]) == (3, 80.0)
