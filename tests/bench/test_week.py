"""The compressed week, in 30 seconds: all kinds of work, nothing unexpected, and what it takes levels off."""

import asyncio
from pathlib import Path

import pytest

from bench.week import BOUNDS, Sample, growth, measure, table

pytestmark = pytest.mark.slow("a quarter of a minute of mixed load")


def test_a_quarter_of_a_minute_of_it(tmp_path: Path) -> None:
    """Seen to fail when `Conductor._finish_later` waits for tasks that are all gone: turns did not end."""
    week, samples = asyncio.run(measure(0.25, tmp_path))

    assert week.unexpected == []
    assert min(week.turns, week.events, week.watches, week.cancelled, week.critiques) > 0
    # The store and memory still fill in so short a time: that they level off is the long run's to show.
    found = growth(samples)
    for name in ("files", "tasks"):
        _, now, most = found[name]
        assert now <= most, table(week, samples)


def test_what_grows_is_seen() -> None:
    flat = [Sample(60.0, 30.0, 20.0, 10.0, 30.0)] * 60
    leaking = [Sample(60.0 + n, 30.0, 20.0 + n, 10.0, float(n)) for n in range(60)]
    assert all(now <= most for _, now, most in growth(flat).values())
    assert [name for name, (_, now, most) in growth(leaking).items() if now > most] == ["resident_mb", "tasks"]
    assert set(BOUNDS) == set(Sample._fields)
