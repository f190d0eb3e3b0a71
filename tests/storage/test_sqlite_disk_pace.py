"""A slow disk is one line in the log, and one when it is over."""

import logging
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.storage.sqlite import disk_pace
from sidemirror_server.storage.sqlite.disk_pace import DiskPace
from tests.faults.clocks import SetClock
from tests.storage.small_store import insert, small_store


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(line.message, line.levelname) for line in caplog.records]


def commits(pace: DiskPace, clock: SetClock, seconds: int, took_s: float, each_s: float = 0.5) -> None:
    for _ in range(int(seconds / each_s)):
        clock.advance(each_s)
        pace.took(took_s)


@pytest.mark.parametrize("took_s", [0.1, 0.4])
def test_a_slow_disk_is_told_once(took_s: float, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when each look is a line."""
    caplog.set_level(logging.INFO)
    clock = SetClock()
    pace = DiskPace(clock)
    commits(pace, clock, 60, took_s)
    assert told(caplog) == [("disk_slow", "WARNING")]
    line: dict[str, Any] = vars(caplog.records[0])
    assert (line["mean_s"], line["longest_s"], line["commits"]) == (took_s, took_s, 20)
    commits(pace, clock, 60, 0.005)
    assert told(caplog) == [("disk_slow", "WARNING"), ("disk_not_slow", "INFO")]


def test_a_stall_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """All agents wait meanwhile, though the mean is small. Seen to fail when the mean alone counts."""
    clock = SetClock()
    pace = DiskPace(clock)
    commits(pace, clock, 20, 0.002, each_s=0.05)
    pace.took(1.0)
    commits(pace, clock, 10, 0.002, each_s=0.05)
    assert told(caplog) == [("disk_slow", "WARNING")]
    assert vars(caplog.records[0])["longest_s"] == 1.0


def test_a_few_slow_commits_are_no_slow_disk(caplog: pytest.LogCaptureFixture) -> None:
    """Of a sidecar that is hardly used, or after a silence. Seen to fail when two have a mean."""
    clock = SetClock()
    pace = DiskPace(clock)
    commits(pace, clock, 60, 0.09, each_s=0.5)
    commits(pace, clock, 60, 0.9, each_s=4.0)
    assert told(caplog) == []


def test_the_slowest_commit_is_known_while_the_disk_is_slow() -> None:
    """For a minute after it, and at once for a stall. Seen to fail when a stall waits for its ten seconds."""
    clock = SetClock()
    pace = DiskPace(clock)
    commits(pace, clock, 20, 0.002)
    assert pace.slowest_s() == 0.0
    commits(pace, clock, 1, 0.002)
    pace.took(2.5)
    assert pace.slowest_s() == 2.5
    commits(pace, clock, 50, 0.002)
    assert pace.slowest_s() == 2.5
    commits(pace, clock, 30, 0.002)
    assert pace.slowest_s() == 0.0
    commits(pace, clock, 20, 0.3)
    assert pace.slowest_s() == 0.3


async def test_the_writer_counts_its_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail when it counts none."""
    monkeypatch.setattr(disk_pace, "_LOOK_S", 0.0)
    monkeypatch.setattr(disk_pace, "_STALL_S", 0.0)
    async with small_store(tmp_path) as database:
        await database.write(insert(1))
        assert database.slowest_commit_s() > 0.0
    assert ("disk_slow", "WARNING") in told(caplog)
