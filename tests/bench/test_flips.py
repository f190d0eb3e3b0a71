"""The simulated critics of `bench.flips`, over a part of its seeds."""

import statistics

from bench.flips import CRITICS, runs

SEEDS, TASKS = 60, 1_000
FOUND = {critic.name: runs(critic, SEEDS, TASKS) for critic in CRITICS}


def test_who_harms_is_stopped() -> None:
    """Seen to fail where 99 of 100 flips, and more than 300, have to go wrong."""
    for name, within in (("harms much", 100), ("harms", 300)):
        stopped = [one for one in FOUND[name] if one is not None]
        assert len(stopped) >= 0.98 * SEEDS
        assert statistics.median(stopped) <= within


def test_others_hardly_ever_are() -> None:
    """Seen to fail where one flip more that went wrong is enough."""
    for name in ("does nothing (no flips)", "does nothing (flips even)", "helps a little", "helps"):
        assert sum(one is not None for one in FOUND[name]) <= 0.05 * SEEDS + 2
