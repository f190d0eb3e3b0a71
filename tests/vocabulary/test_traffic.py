"""Who sends most: counted in bounded memory, and told in the log when others suffer."""

import logging
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.traffic import Busiest, Sender, Traffic
from tests.faults.clocks import SetClock

LOUD = Sender("agent-d", Scope("acme", "shop"))
QUIET = Sender("agent-a", Scope("acme", "shop"))


class Loop:
    """A traffic account whose loop has computed as much as the test says."""

    def __init__(self) -> None:
        self.clock = SetClock()
        self.cpu_s, self.cpu_wait_s = 0.0, 0.0
        self.traffic = Traffic(self.clock, lambda: (self.cpu_s, self.cpu_wait_s))

    def run(
        self, seconds: int, *, busy: float = 0.0, cpu_wait: float = 0.0, call_s: float = 0.0, loud: Sender = LOUD
    ) -> None:
        """Of ten messages a second nine are loud."""
        for _ in range(seconds):
            for number in range(10):
                self.traffic.message(QUIET if number == 0 else loud)
                self.traffic.took(call_s)
            self.clock.advance(1.0)
            self.cpu_s += busy
            self.cpu_wait_s += cpu_wait


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO):
        yield


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(line) for line in caplog.records]


def test_the_last_minute_or_two_are_told_the_loudest_first() -> None:
    """Seen to fail when the present period alone is told: nobody, at the beginning of each."""
    loop = Loop()
    loop.run(50)
    account = loop.traffic.told()
    assert (account.period_s, account.messages) == (50.0, 500)
    assert account.callers == ((LOUD, 450), (QUIET, 50))
    loop.run(20)
    assert loop.traffic.told().messages == 700
    loop.run(60)
    account = loop.traffic.told()
    assert account.period_s < 120
    assert account.messages == 10 * account.period_s
    loop.clock.advance(600.0)
    assert loop.traffic.told().callers == ()


def test_a_loud_one_is_found_among_any_number_in_little_memory() -> None:
    """Seen to fail when whoever comes too late for a place is not counted."""
    sent = 0
    chance, account = random.Random(5), Busiest()
    for number in range(20_000):
        is_loud = number > 1_000 and chance.random() < 0.1
        sent += is_loud
        account.add(LOUD if is_loud else Sender("", Scope("acme", f"p{number}")), 1)
        assert len(account.counts) <= 512
    assert max(account.counts, key=account.counts.__getitem__) == LOUD
    assert sent - 10 <= account.counts[LOUD] <= sent


def test_who_is_refused_is_told_the_most_frequent_first() -> None:
    loop = Loop()
    for token in ("some", "loud", "loud"):
        loop.traffic.refused(token)
    assert loop.traffic.told().refused == (("loud", 2), ("some", 1))
    loop.clock.advance(600.0)
    assert loop.traffic.told().refused == ()


def test_who_waits_for_its_share_is_told_the_longest_first() -> None:
    """Seen to fail when the present period alone is told."""
    loop = Loop()
    loop.traffic.waited("loud", 2.0)
    loop.run(70)
    loop.traffic.waited("some", 3.0)
    loop.traffic.waited("loud", 1.5)
    assert loop.traffic.told().held_back == (("loud", 3.5), ("some", 3.0))
    loop.run(130)
    assert loop.traffic.told().held_back == ()


def test_how_busy_the_loop_is() -> None:
    """Nothing is known of a time in which nobody sends. Seen to fail when the last look counts for ever."""
    loop = Loop()
    assert loop.traffic.busy_ratio() == 0
    loop.run(25, busy=0.3, cpu_wait=0.1)
    assert loop.traffic.busy_ratio() == pytest.approx(0.4)
    loop.run(25, busy=0.3, cpu_wait=0.75)
    assert loop.traffic.busy_ratio() == 1
    loop.clock.advance(60.0)
    assert loop.traffic.busy_ratio() == 0


@pytest.mark.parametrize(
    ("busy", "call_s", "reason"),
    [(0.9, 0.0, None), (0.1, 0.4, "its calls wait, and not for the loop: see whether the store is slow")],
)
def test_while_others_suffer_the_log_names_who_sends_most(
    busy: float, call_s: float, reason: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """One line, and one when it is over. Seen to fail when each look is a line, and when nothing says of a slow store
    that those whom the line names are not the cause."""
    loop = Loop()
    loop.traffic.events(Sender("", LOUD.scope, "s-7"), 12)
    loop.run(45, busy=busy, call_s=call_s)
    (line,) = told(caplog)
    assert (line["message"], line["levelname"]) == ("sidecar_busy", "WARNING")
    assert line.get("reason") == reason
    assert (line["busy"], line["mean_call_s"]) == (pytest.approx(busy, abs=0.01), call_s)
    assert line["callers"][0] == {"token": "agent-d", "tenant_id": "acme", "project_id": "shop", "count": 90}
    assert line["sessions"] == [{"tenant_id": "acme", "project_id": "shop", "session_id": "s-7", "count": 12}]
    loop.run(45)
    assert [line["message"] for line in told(caplog)] == ["sidecar_busy", "sidecar_not_busy"]


@pytest.mark.parametrize("before_s", [20, 200])
def test_who_gets_loud_while_it_is_busy_is_named(before_s: int, caplog: pytest.LogCaptureFixture) -> None:
    """The line of the beginning names those who sent then. Seen to fail when it is the only one, and when who gets loud
    within a minute of it is forgotten."""
    loop = Loop()
    for number in range(before_s):
        loop.run(1, busy=0.9, loud=Sender(f"agent-{number % 3}", LOUD.scope))
    assert len(told(caplog)) == 1, "of many that send alike none is news"
    loop.run(300, busy=0.9, loud=Sender("agent-40", LOUD.scope))
    first, second = told(caplog)
    assert first["callers"][0]["token"] != "agent-40"
    assert second["callers"][0]["token"] == "agent-40"
    assert second["seconds"] < 121
    loop.run(45)
    assert told(caplog)[-1]["message"] == "sidecar_not_busy"


def test_a_loop_without_a_cpu_is_busy(caplog: pytest.LogCaptureFixture) -> None:
    """As on a full node. Seen to fail when its computing alone counts, of which there is little then."""
    loop = Loop()
    loop.run(45, busy=0.3, cpu_wait=0.6)
    (line,) = told(caplog)
    assert (line["message"], line["busy"], line["cpu_wait"]) == ("sidecar_busy", pytest.approx(0.9, abs=0.01), 0.6)
    assert line["reason"] == "it waits for a CPU: see what else this machine runs"


def test_a_thread_that_waits_for_its_cpu_knows_it() -> None:
    """Four threads of processes on one CPU. Seen to fail with the computing alone."""
    if not Path("/proc/thread-self/schedstat").exists():
        pytest.skip("this system does not tell how long a thread waits for a CPU")
    one = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    spin = "import time; until = time.monotonic() + 2\nwhile time.monotonic() < until: pass"
    use = f"from sidemirror_server.vocabulary.clock import thread_use_s\n{spin}\nprint(*thread_use_s())"
    others = [subprocess.Popen([sys.executable, "-c", f"{one}\n{spin}"]) for _ in range(3)]
    asked = subprocess.run([sys.executable, "-c", f"{one}\n{use}"], capture_output=True, check=True, text=True)
    for other in others:
        other.wait()
    computed_s, waited_s = map(float, asked.stdout.split())
    assert waited_s > 0.5
    assert computed_s + waited_s == pytest.approx(2, abs=1.5)


def test_while_nobody_suffers_there_is_no_line(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    loop.run(60, busy=0.5, call_s=0.1)
    loop.clock.advance(3_600.0)
    loop.cpu_s += 3_600.0  # learning, or an erasure, with nobody waiting
    loop.run(5)
    assert told(caplog) == []
