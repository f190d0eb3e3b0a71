"""What `sidemirror doctor` says of this machine's clock."""

from collections.abc import Callable

import pytest

from sidemirror_server.operations import clock_check
from sidemirror_server.operations.clock_check import check_clock
from tests.operations.test_doctor import NOW_US


@pytest.mark.parametrize(
    ("state", "held_against", "said", "is_known"),
    [
        (0, "", ", which something keeps in step (NTP)", True),
        (5, "", ": nothing keeps it in step (NTP), and no other clock was asked", False),
        (-1, "", ", and no other clock was asked", True),
        (0, "the database's", ", and by the database's to 5 s", True),
        (5, "the database's", ", and by the database's to 5 s; nothing keeps it in step (NTP)", True),
    ],
    ids=["kept", "not", "unknown", "held against another", "and not kept"],
)
def test_it_says_what_the_clock_says(
    state: int, held_against: str, said: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is 40 s off looks as well as one that is right: it says to the second what it has, and what it
    cannot know. Seen to fail when it is called ok, and "Nothing to change." follows."""

    class Libc:
        adjtimex: Callable[[object], int] = staticmethod(lambda _: state)

    monkeypatch.setattr(clock_check, "CDLL", lambda _: Libc)
    finding = check_clock(0, NOW_US, held_against)
    assert finding.found == f"it is 2027-01-15 08:00:00 UTC by this machine's clock{said}"
    assert finding.ok
    assert finding.not_asked == ("" if is_known else "whether this machine's clock is right")
    assert finding.advice == ("" if is_known else "hold it against `date --utc` of a machine that is right")


def test_where_the_system_does_not_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_check, "CDLL", lambda _: object())
    assert clock_check.is_in_step() is None
