"""What a row says, and how a run is sized."""

import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Figure(NamedTuple):
    """One measured figure against its goal. `at_most`: the goal is a ceiling, else a floor.

    A `value` that is no number: it could not be measured here, and `detail` says why."""

    what: str
    value: float
    goal: float
    at_most: bool
    unit: str
    detail: str

    @property
    def is_measured(self) -> bool:
        return not math.isnan(self.value)

    @property
    def met(self) -> bool:
        return self.value <= self.goal if self.at_most else self.value >= self.goal


class Scale(NamedTuple):
    """How much is measured: `rounds` of `calls` each, streams for `stream_s`, `watches` idle streams,
    `searches` among `memories`, and among `peer_memories` where others search as well. `kept`: where filled stores
    stay for later runs."""

    rounds: int
    calls: int
    stream_s: float
    writes: int
    starts: int
    watches: int
    memories: int
    searches: int
    peer_memories: int
    kept: Path | None = None


FULL = Scale(rounds=12, calls=2000, stream_s=2.0, writes=100, starts=9, watches=5000, memories=100_000, searches=500,
             peer_memories=10_000)  # fmt: skip
# A smoke run: every row once, figures that mean little.
QUICK = Scale(
    rounds=2, calls=200, stream_s=0.4, writes=20, starts=2, watches=500, memories=3_000, searches=60, peer_memories=500
)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def share(values: Sequence[float], part: float) -> float:
    """The value that `part` of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


now = time.perf_counter
